"""Bit sets."""

import pytest
from packedbits import BitSet, CorruptData


def test_order():
    """Numbers come in ascending order and each once."""
    assert list(BitSet([9, 0, 300, 9])) == [0, 9, 300]


def test_negative_numbers():
    """Negative numbers cannot be added, and none is ever contained."""
    with pytest.raises(ValueError, match=r"no negative numbers, got -1"):
        BitSet([-1])
    assert -1 not in BitSet([0, 1])


def test_contains():
    """A number is contained if it was added, its neighbours are not."""
    assert [number in BitSet([64]) for number in (63, 64, 65)] == [False, True, False]


def test_add_tells_if_new():
    """Adding a number returns whether it was not there."""
    numbers = BitSet()
    assert (numbers.add(3), numbers.add(3)) == (True, False)


def test_discard():
    """Discarding a number returns whether it was there, and takes it out."""
    numbers = BitSet([3, 4])
    assert (numbers.discard(3), numbers.discard(3), list(numbers)) == (True, False, [4])


def test_flip():
    """Flipping puts a number in or out."""
    numbers = BitSet([1])
    numbers.flip(1)
    numbers.flip(2)
    assert list(numbers) == [2]


def test_flip_negative():
    """A negative number cannot be flipped."""
    with pytest.raises(ValueError, match=r"no negative numbers"):
        BitSet().flip(-1)


def test_length():
    """The length is the number of members."""
    assert (len(BitSet()), len(BitSet([0, 5, 1000]))) == (0, 3)


def test_from_range():
    """A range includes its start and not its stop."""
    assert list(BitSet.from_range(2, 5)) == [2, 3, 4]


@pytest.mark.parametrize(("start", "stop"), [(3, 3), (4, 3), (-2, -5)])
def test_empty_range(start, stop):
    """A range whose stop is not greater than its start is empty."""
    assert len(BitSet.from_range(start, stop)) == 0


def test_negative_range():
    """A range cannot begin with a negative number."""
    with pytest.raises(ValueError, match=r"no negative numbers, got -1"):
        BitSet.from_range(-1, 3)


def test_union_and_intersection():
    """Sets can be united and intersected."""
    a, b = BitSet([1, 2]), BitSet([2, 3])
    assert (list(a | b), list(a & b)) == ([1, 2, 3], [2])


def test_differences():
    """The difference is one-sided, the symmetric difference is not."""
    a, b = BitSet([1, 2]), BitSet([2, 3])
    assert (list(a - b), list(a ^ b)) == ([1], [1, 3])


def test_operations_leave_the_sets():
    """Uniting sets does not change them."""
    a = BitSet([1])
    a | BitSet([2])
    assert list(a) == [1]


def test_equality():
    """Sets are equal if they have the same members, and are equal to nothing else."""
    assert BitSet([1, 2]) == BitSet([2, 1])
    assert BitSet([1]) != BitSet([2])
    assert BitSet([1]) != [1]


def test_subset():
    """A set is below another one if that has all its members."""
    a, b = BitSet([1, 2]), BitSet([1, 2, 3])
    assert (a <= b, b <= a, a <= a) == (True, False, True)


def test_disjoint():
    """Sets without a common member are disjoint."""
    assert BitSet([1]).isdisjoint(BitSet([2])) is True
    assert BitSet([1, 2]).isdisjoint(BitSet([2])) is False


def test_repr():
    """A set shows its members."""
    assert repr(BitSet([3, 1])) == "BitSet([1, 3])"


def test_smallest_and_largest():
    """The smallest and the largest member are given."""
    assert (BitSet([5, 0, 70]).smallest(), BitSet([5, 0, 70]).largest()) == (0, 70)


def test_smallest_and_largest_of_nothing():
    """An empty set has neither a smallest nor a largest member."""
    assert (BitSet().smallest(), BitSet().largest()) == (None, None)


@pytest.mark.parametrize(("start", "found"), [(-3, 2), (2, 2), (3, 8), (8, 8), (9, None)])
def test_next_from(start, found):
    """The first member from a number on may be this number itself."""
    assert BitSet([2, 8]).next_from(start) == found


@pytest.mark.parametrize(("numbers", "missing"), [([], 0), ([1], 0), ([0, 1, 3], 2), ([0, 1], 2)])
def test_first_missing(numbers, missing):
    """The first missing number is the smallest that is not in the set."""
    assert BitSet(numbers).first_missing() == missing


@pytest.mark.parametrize(("number", "rank"), [(-1, 0), (2, 0), (3, 1), (5, 1), (6, 2), (99, 3)])
def test_rank(number, rank):
    """The rank of a number is how many members are less than it."""
    assert BitSet([2, 5, 9]).rank(number) == rank


def test_select():
    """Members can be selected by their place, counted from zero."""
    assert [BitSet([2, 5, 9]).select(place) for place in range(3)] == [2, 5, 9]


@pytest.mark.parametrize("place", [-1, 3])
def test_select_beyond(place):
    """Selecting a place that is not there is an IndexError."""
    with pytest.raises(IndexError, match=f"there is no place {place} in a set of 3"):
        BitSet([2, 5, 9]).select(place)


def test_ranges():
    """Neighbouring members form ranges whose stop is not included."""
    assert BitSet([0, 1, 2, 5, 7, 8]).ranges() == [(0, 3), (5, 6), (7, 9)]


@pytest.mark.parametrize(("distance", "shifted"), [(2, [2, 5]), (0, [0, 3]), (-1, [2]), (-4, [])])
def test_shift(distance, shifted):
    """Shifting adds to every member and drops those that would be negative."""
    assert list(BitSet([0, 3]).shift(distance)) == shifted


def test_to_bytes():
    """A set is encoded as the number of its ranges, then gaps and lengths in turn."""
    assert BitSet([1, 2, 5]).to_bytes() == bytes([2, 1, 2, 2, 1])


def test_from_bytes():
    """A set is decoded from gaps and lengths."""
    assert list(BitSet.from_bytes(bytes([2, 1, 2, 2, 1]))) == [1, 2, 5]


def test_from_truncated_bytes():
    """Bytes that end too early are refused."""
    with pytest.raises(CorruptData, match=r"the data end within a number"):
        BitSet.from_bytes(bytes([2, 1, 2]))
