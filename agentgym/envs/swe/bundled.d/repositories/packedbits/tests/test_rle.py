"""Run-length encoding."""

import pytest
from packedbits import CorruptData, RunLengths, pack_rle, unpack_rle

PAIRS = [
    (b"", b""),
    (b"a", b"\x00a"),
    (b"aa", b"\x01aa"),
    (b"aaa", b"\x80a"),
    (b"aaaabcd", b"\x81a\x02bcd"),
    (b"abbbb", b"\x00a\x81b"),
    (b"aabbcc", b"\x05aabbcc"),
]


@pytest.mark.parametrize(("data", "packed"), PAIRS)
def test_pack(data, packed):
    """Three or more equal bytes are packed into two, others are kept with their number."""
    assert pack_rle(data) == packed


@pytest.mark.parametrize(("data", "packed"), PAIRS)
def test_unpack(data, packed):
    """Packed bytes are unpacked to what they were."""
    assert unpack_rle(packed) == data


def test_longest_run():
    """A run of 130 equal bytes is packed into two bytes."""
    assert pack_rle(b"x" * 130) == b"\xffx"


def test_run_beyond_the_longest():
    """A run of 133 equal bytes is packed in two pieces."""
    assert pack_rle(b"x" * 133) == b"\xffx\x80x"


def test_longest_literal():
    """Of more than 128 different bytes in a row 128 are kept together."""
    data = bytes(range(129))
    assert pack_rle(data) == b"\x7f" + data[:128] + b"\x00" + data[128:]


@pytest.mark.parametrize("packed", [b"\x80", b"\x01a", b"\x00a\x05"])
def test_unpack_truncated(packed):
    """Packed bytes that end within a run are refused."""
    with pytest.raises(CorruptData, match=r"end within a run"):
        unpack_rle(packed)


def test_runs():
    """Equal neighbours of a list are stored as one run."""
    assert RunLengths([7, 7, 2, 7]).runs == [(7, 2), (2, 1), (7, 1)]


def test_append_several():
    """A value can be appended several times and joins an equal one before it."""
    values = RunLengths("ab")
    values.append("b", 3)
    assert values.runs == [("a", 1), ("b", 4)]


def test_append_nothing():
    """Appending a value zero times is refused."""
    with pytest.raises(ValueError, match=r"count is at least 1, got 0"):
        RunLengths().append("a", 0)


def test_values():
    """All values come back in their order."""
    assert "".join(RunLengths("aabccc")) == "aabccc"


def test_length():
    """The length counts values and not runs."""
    assert len(RunLengths("aabccc")) == 6


@pytest.mark.parametrize(
    ("place", "value"), [(0, "a"), (1, "a"), (2, "b"), (5, "c"), (-1, "c"), (-6, "a")]
)
def test_value_at_a_place(place, value):
    """A value is found by its place, also from the end."""
    assert RunLengths("aabccc")[place] == value


@pytest.mark.parametrize("place", [6, -7])
def test_place_beyond(place):
    """A place beyond the values is an IndexError."""
    with pytest.raises(IndexError, match=f"there is no place {place} among 6 values"):
        RunLengths("aabccc")[place]


def test_longest():
    """The longest run is given, the first among equals."""
    assert RunLengths("abbcc").longest() == ("b", 2)


def test_longest_of_nothing():
    """Without values there is no longest run."""
    assert RunLengths().longest() is None


def test_text():
    """Runs are written with their value and, if it is not one, their length."""
    assert RunLengths("aaabcc").text() == "a3 b c2"
