"""Whole runs."""

import pytest
from liftsim import Building, Report, Ride, simulate

HOUSE = Building(floors=10, ticks_per_floor=2, door_ticks=3)


def test_boarding_on_the_spot():
    """Someone who calls where the lift stands boards at once."""
    assert simulate(HOUSE, [Ride("ann", 4, 0, 3)]).waiting("ann") == 0


def test_riding_takes_doors_and_floors():
    """A ride takes the time of the doors and that of the floors."""
    assert simulate(HOUSE, [Ride("ann", 0, 0, 3)]).riding("ann") == 9


def test_waiting_for_the_lift():
    """Someone on another floor waits as long as the lift takes to come."""
    assert simulate(HOUSE, [Ride("bob", 0, 5, 2)]).waiting("bob") == 10


def test_travelled():
    """The floors that a lift passes to fetch and to carry are counted."""
    assert simulate(HOUSE, [Ride("bob", 0, 5, 2)]).travelled == {0: 8}


def test_pick_up_on_the_way():
    """A lift stops for someone who waits on its way."""
    report = simulate(HOUSE, [Ride("ann", 0, 0, 6), Ride("bob", 1, 3, 5)])
    assert [entry.name for entry in report.log if entry.what == "leave"] == ["bob", "ann"]


def test_out_before_in():
    """At a stop people get out before others get in."""
    small = Building(floors=10, capacity=1)
    report = simulate(small, [Ride("ann", 0, 0, 4), Ride("bob", 1, 4, 8)])
    assert report.time_of("bob", "board") == report.time_of("ann", "leave")


def test_second_trip_of_a_full_lift():
    """Someone who does not fit in is fetched after the lift has become empty."""
    small = Building(floors=5, capacity=1, door_ticks=1)
    report = simulate(small, [Ride("ann", 0, 0, 4), Ride("bob", 0, 0, 2)])
    assert report.time_of("bob", "board") == 10


def test_two_lifts_share_the_work():
    """The second lift answers while the first is on its way."""
    house = Building(floors=10, lifts=2, capacity=1)
    report = simulate(house, [Ride("ann", 0, 0, 9), Ride("bob", 1, 0, 3)])
    assert [entry.lift for entry in report.log if entry.what == "board"] == [0, 1]


def test_order_of_rides_does_not_matter():
    """Rides may be given in any order, the earliest call comes first in the log."""
    report = simulate(HOUSE, [Ride("late", 9, 1, 2), Ride("early", 3, 2, 1)])
    assert [entry.name for entry in report.log if entry.what == "call"] == ["early", "late"]


def test_call_is_logged_on_the_floor_of_the_caller():
    """The log shows a call on the floor of the caller and not of the lift."""
    assert simulate(HOUSE, [Ride("bob", 0, 5, 2)]).log[0].floor == 5


def test_cut_off():
    """A simulation that is cut off reports only what happened until then."""
    report = simulate(HOUSE, [Ride("ann", 0, 0, 3)], until=8)
    assert [entry.what for entry in report.log] == ["call", "board"]


def test_names_are_unique():
    """Two rides of the same name are refused."""
    with pytest.raises(ValueError, match=r"two rides named ann"):
        simulate(HOUSE, [Ride("ann", 0, 0, 3), Ride("ann", 5, 3, 0)])


@pytest.mark.parametrize(("origin", "target"), [(10, 0), (0, 10)])
def test_unknown_floors(origin, target):
    """A ride from or to a floor that does not exist is refused."""
    with pytest.raises(ValueError, match=r"there is no floor 10"):
        simulate(HOUSE, [Ride("ann", 0, origin, target)])


def test_nobody_rides():
    """Without rides the average waiting is zero and nobody waited longest."""
    report = Report([])
    assert (report.average_waiting(), report.longest_waiting()) == (0.0, None)


def test_average_waiting():
    """The average waiting is taken over all rides."""
    report = simulate(HOUSE, [Ride("ann", 0, 0, 3), Ride("bob", 100, 8, 3)])
    assert report.average_waiting() == 5.0


def test_longest_waiting():
    """The one who waited longest is named."""
    report = simulate(HOUSE, [Ride("ann", 0, 0, 3), Ride("bob", 100, 8, 3)])
    assert report.longest_waiting() == "bob"


def test_never_happened():
    """Asking when something happened that did not is a KeyError."""
    with pytest.raises(KeyError, match=r"ann did not board"):
        simulate(HOUSE, [Ride("ann", 0, 5, 3)], until=3).time_of("ann", "board")


def test_lines():
    """The log can be written with one line for each entry."""
    report = simulate(HOUSE, [Ride("ann", 0, 0, 3)])
    assert report.lines()[-1] == "   9  lift 0  floor  3  ann leaves"
