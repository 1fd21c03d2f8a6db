"""Rings."""

import pytest
from rollwindow import Overflow, Ring


def test_keeps_the_newest_values():
    """A full ring forgets its oldest values."""
    assert list(Ring(3, "abcde")) == ["c", "d", "e"]


def test_not_yet_full():
    """A ring that is not full has the values that were pushed."""
    assert list(Ring(3, "ab")) == ["a", "b"]


@pytest.mark.parametrize("capacity", [0, -1])
def test_capacity(capacity):
    """A ring without places is refused."""
    with pytest.raises(ValueError, match=r"capacity is at least 1"):
        Ring(capacity)


def test_push_returns_what_is_forgotten():
    """Pushing returns the value that is forgotten, or None."""
    ring = Ring(2)
    assert [ring.push(value) for value in "abc"] == [None, None, "a"]


def test_full():
    """A ring is full when all places are taken."""
    assert (Ring(2, "a").full, Ring(2, "ab").full) == (False, True)


def test_strict():
    """A strict ring refuses a value when it is full."""
    ring = Ring(2, "ab", strict=True)
    with pytest.raises(Overflow, match=r"all 2 places are taken"):
        ring.push("c")


def test_strict_after_pop():
    """A strict ring accepts a value when one was taken out."""
    ring = Ring(2, "ab", strict=True)
    ring.popleft()
    ring.push("c")
    assert list(ring) == ["b", "c"]


def test_pop():
    """Pop takes the newest value out."""
    ring = Ring(3, "abcd")
    assert (ring.pop(), list(ring)) == ("d", ["b", "c"])


def test_popleft():
    """Popleft takes the oldest value out."""
    ring = Ring(3, "abcd")
    assert (ring.popleft(), list(ring)) == ("b", ["c", "d"])


@pytest.mark.parametrize("name", ["pop", "popleft"])
def test_pop_from_nothing(name):
    """Taking a value out of an empty ring is an IndexError."""
    with pytest.raises(IndexError, match=r"among 0 values"):
        getattr(Ring(2), name)()


def test_push_after_popleft():
    """After taking out the oldest value there is room for one more."""
    ring = Ring(3, "abcd")
    ring.popleft()
    assert (ring.push("e"), list(ring)) == (None, ["c", "d", "e"])


@pytest.mark.parametrize(("place", "value"), [(0, "b"), (2, "d"), (-1, "d"), (-3, "b")])
def test_places(place, value):
    """Place 0 is the oldest value and place -1 the newest."""
    assert Ring(3, "abcd")[place] == value


@pytest.mark.parametrize("place", [3, -4])
def test_place_beyond(place):
    """A place beyond the values is an IndexError."""
    with pytest.raises(IndexError, match=f"there is no place {place} among 3 values"):
        Ring(3, "abcd")[place]


def test_clear():
    """A ring that was cleared is empty and works as before."""
    ring = Ring(2, "abc")
    ring.clear()
    ring.push("x")
    assert (len(ring), ring[0]) == (1, "x")


def test_resize_smaller():
    """A smaller capacity keeps the newest values."""
    ring = Ring(3, "abcd")
    ring.resize(2)
    assert (list(ring), ring.push("e")) == (["c", "d"], "c")


def test_resize_larger():
    """A larger capacity keeps all values and has room for more."""
    ring = Ring(2, "abc")
    ring.resize(3)
    assert (list(ring), ring.push("d")) == (["b", "c"], None)


def test_resize_to_nothing():
    """A capacity of zero is refused when resizing."""
    with pytest.raises(ValueError, match=r"capacity is at least 1, got 0"):
        Ring(2).resize(0)


@pytest.mark.parametrize(("count", "values"), [(2, ["c", "d"]), (9, ["b", "c", "d"]), (0, [])])
def test_latest(count, values):
    """The latest values come oldest first, all of them if there are fewer."""
    assert Ring(3, "abcd").latest(count) == values


def test_latest_negative():
    """A negative number of latest values is refused."""
    with pytest.raises(ValueError, match=r"count cannot be negative"):
        Ring(3).latest(-1)


def test_repr():
    """A ring shows its capacity and its values."""
    assert repr(Ring(3, [1, 2])) == "Ring(3, [1, 2])"


def test_extend():
    """Several values are pushed at once, and those that are forgotten come back."""
    ring = Ring(2, "a")
    assert (ring.extend("bcd"), list(ring)) == (["a", "b"], ["c", "d"])


def test_extend_forgets_none():
    """A forgotten None comes back as well."""
    assert Ring(1, [None]).extend([1, 2]) == [None, 1]


def test_strict_extend_keeps_what_fits():
    """A strict ring takes in what fits before it refuses a value."""
    ring = Ring(2, strict=True)
    with pytest.raises(Overflow):
        ring.extend("abc")
    assert list(ring) == ["a", "b"]


def test_none_is_a_value():
    """None can be pushed like any other value."""
    ring = Ring(3, ["a", None, "b"])
    assert (list(ring), ring.latest(2)) == (["a", None, "b"], [None, "b"])
