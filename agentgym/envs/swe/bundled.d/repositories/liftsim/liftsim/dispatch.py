"""Which lift answers a call."""

from __future__ import annotations

from collections.abc import Sequence

from liftsim.building import Ride
from liftsim.lift import DOWN, IDLE, UP, Lift


def cost(lift: Lift, ride: Ride, floors: int) -> int:
    """Estimate how many floors a lift passes before it comes to fetch someone.

    A lift that moves towards the call comes straight; one that moves away goes to its last stop
    in that direction first. A lift without room counts as a whole house further away.

    Args:
        lift: The lift.
        ride: Who calls.
        floors: Number of floors of the house.
    """
    distance = abs(lift.floor - ride.origin)
    stops = lift.stops() or [lift.floor]
    if lift.direction == UP and ride.origin < lift.floor:
        top = max(stops[-1], lift.floor)
        distance = (top - lift.floor) + (top - ride.origin)
    elif lift.direction == DOWN and ride.origin > lift.floor:
        bottom = min(stops[0], lift.floor)
        distance = (lift.floor - bottom) + (ride.origin - bottom)
    if len(lift.riders) + len(lift.assigned) >= lift.capacity:
        distance += floors
    return distance


def choose_lift(lifts: Sequence[Lift], ride: Ride, floors: int) -> Lift:
    """Choose the lift of the least cost; idle ones come first among equals, then lower numbers."""
    return min(
        lifts,
        key=lambda lift: (cost(lift, ride, floors), lift.direction != IDLE, lift.number),
    )
