"""Houses and rides."""

import pytest
from liftsim import Building, Ride


def test_two_floors_are_needed():
    """A building with a single floor is refused."""
    with pytest.raises(ValueError, match=r"at least two floors, got 1"):
        Building(floors=1)


def test_two_floors_are_enough():
    """A building may have just two floors."""
    assert Building(floors=2).floors == 2


@pytest.mark.parametrize("name", ["lifts", "capacity", "ticks_per_floor"])
def test_counts_are_positive(name):
    """A building without lifts, room or speed is refused."""
    with pytest.raises(ValueError, match=f"{name} is at least 1, got 0"):
        Building(**{"floors": 5, name: 0})


def test_doors_may_take_no_time():
    """Doors that open for no time at all are allowed, for negative time they are not."""
    assert Building(floors=2, door_ticks=0).door_ticks == 0
    with pytest.raises(ValueError, match=r"door_ticks cannot be negative"):
        Building(floors=2, door_ticks=-1)


@pytest.mark.parametrize("floor", [-1, 5])
def test_floors_that_do_not_exist(floor):
    """A floor below the ground or above the roof is refused."""
    with pytest.raises(ValueError, match=f"floors are 0 to 4, there is no floor {floor}"):
        Building(floors=5).check(floor)


@pytest.mark.parametrize("floor", [0, 4])
def test_lowest_and_highest_floor(floor):
    """The ground floor and the top floor exist."""
    assert Building(floors=5).check(floor) is None


def test_ride_to_the_same_floor():
    """A ride to the floor where it begins is refused."""
    with pytest.raises(ValueError, match=r"ann is already on floor 3"):
        Ride("ann", 0, 3, 3)


def test_ride_before_the_beginning():
    """A ride at a negative time is refused."""
    with pytest.raises(ValueError, match=r"time cannot be negative, got -1"):
        Ride("ann", -1, 0, 3)


def test_upward():
    """A ride to a higher floor is upward, one to a lower floor is not."""
    assert (Ride("a", 0, 1, 2).upward, Ride("b", 0, 2, 1).upward) == (True, False)
