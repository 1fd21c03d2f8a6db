"""The simulation itself: calls, movements and stops as events."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from liftsim.building import Building, Ride
from liftsim.dispatch import choose_lift
from liftsim.lift import IDLE, Lift
from liftsim.report import Entry, Report
from liftsim.scheduler import Scheduler


def simulate(building: Building, rides: Iterable[Ride], until: int | None = None) -> Report:
    """Let the lifts of a house carry people.

    Args:
        building: The house.
        rides: Who wants to go where; names are unique.
        until: The tick after which the simulation is cut off; by default everyone arrives.

    Returns:
        What happened.
    """
    wishes = sorted(rides, key=lambda ride: ride.time)
    names = [ride.name for ride in wishes]
    for ride in wishes:
        building.check(ride.origin)
        building.check(ride.target)
        if names.count(ride.name) > 1:
            raise ValueError(f"there are two rides named {ride.name}")
    return _Simulation(building, wishes).run(until)


class _Simulation:
    """A run in progress."""

    def __init__(self, building: Building, rides: list[Ride]) -> None:
        self.building = building
        self.scheduler = Scheduler()
        self.lifts = [Lift(number, building.capacity) for number in range(building.lifts)]
        self.report = Report(rides, travelled={lift.number: 0 for lift in self.lifts})

    def run(self, until: int | None) -> Report:
        for ride in self.report.rides:
            self.scheduler.at(ride.time, partial(self.call, ride))
        self.scheduler.run(until)
        return self.report

    def call(self, ride: Ride) -> None:
        """Someone calls: a lift is chosen, and set in motion if it stands still."""
        lift = choose_lift(self.lifts, ride, self.building.floors)
        lift.assigned.append(ride)
        self.note(lift, "call", ride)
        if not lift.busy:
            self.decide(lift)

    def decide(self, lift: Lift) -> None:
        """A lift that is free opens its doors, moves on, or rests."""
        lift.busy = True
        if lift.stops_here():
            self.stop(lift)
            return
        lift.direction = lift.choose_direction()
        if lift.direction == IDLE:
            lift.busy = False
        else:
            self.scheduler.after(self.building.ticks_per_floor, partial(self.arrive, lift))

    def arrive(self, lift: Lift) -> None:
        """A lift comes to the next floor."""
        lift.floor += lift.direction
        self.report.travelled[lift.number] += 1
        self.decide(lift)

    def stop(self, lift: Lift) -> None:
        """The doors open: people get out first, then in."""
        for ride in lift.leaving():
            self.note(lift, "leave", ride)
        for ride in lift.boarding():
            self.note(lift, "board", ride)
        self.scheduler.after(self.building.door_ticks, partial(self.decide, lift))

    def note(self, lift: Lift, what: str, ride: Ride) -> None:
        floor = ride.origin if what == "call" else lift.floor
        entry = Entry(self.scheduler.now, lift.number, floor, what, ride.name)
        self.report.log.append(entry)
