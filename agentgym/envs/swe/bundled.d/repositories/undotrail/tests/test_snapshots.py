"""Snapshots."""

import pytest
from undotrail import Snapshots


def offered(snapshots, *positions):
    """Offer states after some numbers of events."""
    for position in positions:
        snapshots.offer(position, f"state {position}")
    return snapshots


def test_interval():
    """States are remembered after every so many events, the initial state is not."""
    assert offered(Snapshots(2), 0, 1, 2, 3, 4).positions == [2, 4]


def test_offer_tells():
    """Offering a state returns whether it is remembered."""
    snapshots = Snapshots(3)
    assert (snapshots.offer(2, "x"), snapshots.offer(3, "x")) == (False, True)


@pytest.mark.parametrize(("position", "found"), [(1, None), (2, 2), (3, 2), (9, 4)])
def test_nearest(position, found):
    """The nearest state is the last one that is not behind the position."""
    nearest = offered(Snapshots(2), 2, 4).nearest(position)
    assert nearest == (None if found is None else (found, f"state {found}"))


def test_states_are_copies():
    """Changing a state does not change the one that is remembered."""
    snapshots, state = Snapshots(1), [1]
    snapshots.offer(1, state)
    state.append(2)
    snapshots.nearest(1)[1].append(3)
    assert snapshots.nearest(1) == (1, [1])


def test_forget_after():
    """States behind a position are forgotten, the one at the position stays."""
    snapshots = offered(Snapshots(1), 1, 2, 3, 4)
    assert (snapshots.forget_after(2), snapshots.positions) == (2, [1, 2])


def test_limit():
    """If there are too many states, the one between the closest neighbours is dropped."""
    assert offered(Snapshots(1, limit=3), 2, 5, 6, 20).positions == [2, 6, 20]


def test_limit_among_equals():
    """Of states with neighbours equally close the earlier one is dropped."""
    assert offered(Snapshots(1, limit=3), 1, 2, 3, 4).positions == [2, 3, 4]


def test_limit_keeps_the_last():
    """The last state is kept when there are too many."""
    assert offered(Snapshots(1, limit=1), 1, 2).positions == [2]


@pytest.mark.parametrize(("interval", "limit"), [(0, 1), (1, 0)])
def test_arguments(interval, limit):
    """An interval or a limit of zero is refused."""
    with pytest.raises(ValueError, match=r"interval and limit are at least 1"):
        Snapshots(interval, limit)
