"""A single lift and the choice between several."""

import pytest
from liftsim import Ride
from liftsim.dispatch import choose_lift, cost
from liftsim.lift import DOWN, IDLE, UP, Lift


def ride(origin, target, name="x"):
    """A ride at time 0."""
    return Ride(name, 0, origin, target)


def test_stops_are_sorted():
    """The stops of a lift are the targets of its riders and the floors of its callers, sorted."""
    lift = Lift(0, 4, riders=[ride(0, 6), ride(0, 2)], assigned=[ride(4, 1)])
    assert lift.stops() == [2, 4, 6]


def test_full_lift_does_not_stop_for_callers():
    """A full lift has no stops for people who wait."""
    lift = Lift(0, 1, riders=[ride(0, 6)], assigned=[ride(4, 1)])
    assert lift.stops() == [6]


def test_full():
    """A lift is full when it carries as many people as its capacity."""
    assert (Lift(0, 1, riders=[ride(0, 1)]).full, Lift(0, 2, riders=[ride(0, 1)]).full) == (
        True,
        False,
    )


def test_no_stop_no_direction():
    """A lift without stops elsewhere stays idle."""
    assert Lift(0, 4, floor=3, direction=UP).choose_direction() == IDLE


@pytest.mark.parametrize(("target", "direction"), [(5, UP), (1, DOWN)])
def test_only_stop_decides(target, direction):
    """A lift goes to its only stop even against its former direction."""
    lift = Lift(0, 4, floor=3, direction=-direction, riders=[ride(3, target)])
    assert lift.choose_direction() == direction


@pytest.mark.parametrize("direction", [UP, DOWN])
def test_direction_is_kept(direction):
    """A lift with stops on both sides keeps its direction."""
    lift = Lift(0, 4, floor=3, direction=direction, riders=[ride(3, 4), ride(3, 2)])
    assert lift.choose_direction() == direction


@pytest.mark.parametrize(("targets", "direction"), [((9, 4), DOWN), ((6, 0), UP), ((7, 3), UP)])
def test_idle_lift_goes_to_the_nearest_stop(targets, direction):
    """An idle lift goes to the nearest stop, upwards if two are equally near."""
    lift = Lift(0, 4, floor=5, assigned=[ride(floor, 8) for floor in targets])
    assert lift.choose_direction() == direction


def test_leaving():
    """Those whose target is the present floor get out, the others stay."""
    lift = Lift(0, 4, floor=2, riders=[ride(0, 2, "a"), ride(0, 3, "b")])
    assert [r.name for r in lift.leaving()] == ["a"]
    assert [r.name for r in lift.riders] == ["b"]


def test_boarding_as_far_as_there_is_room():
    """People board in the order of their calls until the lift is full, the others go on waiting."""
    callers = [ride(2, 5, name) for name in "abc"]
    lift = Lift(0, 3, floor=2, riders=[ride(0, 4, "z")], assigned=callers)
    assert [r.name for r in lift.boarding()] == ["a", "b"]
    assert [r.name for r in lift.assigned] == ["c"]


def test_boarding_leaves_other_floors_alone():
    """Nobody boards who waits on another floor."""
    assert Lift(0, 3, floor=2, assigned=[ride(1, 5)]).boarding() == []


def test_cost_is_the_distance():
    """The cost of an idle lift is the distance to the caller."""
    assert cost(Lift(0, 4, floor=2), ride(7, 0), floors=10) == 5


def test_cost_moving_towards():
    """The cost of a lift that moves towards the caller is the distance."""
    assert cost(Lift(0, 4, floor=2, direction=UP, riders=[ride(0, 9)]), ride(7, 0), 10) == 5


def test_cost_moving_up_and_away():
    """A lift that moves up and away goes to its highest stop first and then back."""
    assert cost(Lift(0, 4, floor=5, direction=UP, riders=[ride(0, 8)]), ride(2, 0), 10) == 9


def test_cost_moving_down_and_away():
    """A lift that moves down and away goes to its lowest stop first and then back."""
    assert cost(Lift(0, 4, floor=5, direction=DOWN, riders=[ride(9, 1)]), ride(7, 0), 10) == 10


def test_cost_without_room():
    """A lift without room counts as a whole house further away."""
    lift = Lift(0, 2, floor=2, riders=[ride(0, 2)], assigned=[ride(1, 2)])
    assert cost(lift, ride(3, 0), floors=10) == 11


def test_nearest_lift_is_chosen():
    """The nearest lift answers a call."""
    lifts = [Lift(0, 4, floor=0), Lift(1, 4, floor=6)]
    assert choose_lift(lifts, ride(5, 0), 10).number == 1


def test_idle_lift_among_equals():
    """Of two lifts equally near the idle one answers."""
    lifts = [Lift(0, 4, floor=3, direction=UP), Lift(1, 4, floor=7)]
    assert choose_lift(lifts, ride(5, 0), 10).number == 1


def test_lower_number_among_equals():
    """Of two idle lifts equally near the one of the lower number answers."""
    lifts = [Lift(1, 4, floor=3), Lift(0, 4, floor=7)]
    assert choose_lift(lifts, ride(5, 0), 10).number == 0
