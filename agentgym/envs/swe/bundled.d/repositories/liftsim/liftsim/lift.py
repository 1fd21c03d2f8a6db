"""The state of one lift and the rule by which it chooses where to go."""

from __future__ import annotations

from dataclasses import dataclass, field

from liftsim.building import Ride

UP, IDLE, DOWN = 1, 0, -1


@dataclass
class Lift:
    """A lift: where it is, whom it carries and whom it was told to fetch."""

    number: int
    capacity: int
    floor: int = 0
    direction: int = IDLE
    riders: list[Ride] = field(default_factory=list)
    assigned: list[Ride] = field(default_factory=list)
    busy: bool = False
    """Whether it is on its way or has its doors open."""

    @property
    def full(self) -> bool:
        """Whether nobody else fits in."""
        return len(self.riders) >= self.capacity

    def stops(self) -> list[int]:
        """List the floors where it has something to do, lowest first."""
        floors = {ride.target for ride in self.riders}
        if not self.full:
            floors |= {ride.origin for ride in self.assigned}
        return sorted(floors)

    def choose_direction(self) -> int:
        """Decide where to go next.

        A lift keeps its direction as long as there is a stop ahead, then turns round (the SCAN
        rule). An idle lift goes to the nearest stop, upwards if two are equally near.
        """
        above = [floor for floor in self.stops() if floor > self.floor]
        below = [floor for floor in self.stops() if floor < self.floor]
        if not above and not below:
            return IDLE
        if not above or not below:
            return UP if above else DOWN
        if self.direction != IDLE:
            return self.direction
        return UP if above[0] - self.floor <= self.floor - below[-1] else DOWN

    def leaving(self) -> list[Ride]:
        """Let out the riders whose target is this floor and return them."""
        out = [ride for ride in self.riders if ride.target == self.floor]
        self.riders = [ride for ride in self.riders if ride.target != self.floor]
        return out

    def boarding(self) -> list[Ride]:
        """Let in those who wait here, in the order of their calls, as far as there is room."""
        waiting = [ride for ride in self.assigned if ride.origin == self.floor]
        taken = waiting[: self.capacity - len(self.riders)]
        self.riders += taken
        self.assigned = [ride for ride in self.assigned if ride not in taken]
        return taken

    def stops_here(self) -> bool:
        """Tell whether someone gets out or can get in on this floor."""
        return self.floor in self.stops()
