"""Bloom filters."""

import math

import pytest
from packedbits import BloomFilter, CorruptData, fnv1a


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"", 0xCBF29CE484222325), (b"a", 0xAF63DC4C8601EC8C), (b"foobar", 0x85944171F73967E8)],
)
def test_fnv1a(data, value):
    """The hash of bytes is that of the published examples of FNV-1a."""
    assert fnv1a(data) == value


def test_contains_what_was_added():
    """A filter contains everything that was added."""
    seen = BloomFilter.for_items(50)
    for number in range(50):
        seen.add(f"item {number}")
    assert all(f"item {number}" in seen for number in range(50))


def test_does_not_contain_much_else():
    """A filter takes few other texts for contained."""
    seen = BloomFilter.for_items(50, error=0.01)
    for number in range(50):
        seen.add(f"item {number}")
    assert sum(f"other {number}" in seen for number in range(200)) < 10


def test_empty_filter():
    """An empty filter contains nothing."""
    assert "a" not in BloomFilter(10, 2)


def test_add_tells_if_new():
    """Adding a text returns whether it was surely not there."""
    seen = BloomFilter(100, 3)
    assert (seen.add("a"), seen.add("a")) == (True, False)


def test_number_of_bits():
    """A text sets as many bits as there are hashes."""
    seen = BloomFilter(10007, 5)
    seen.add("a")
    assert len(seen.bits) == 5


@pytest.mark.parametrize(
    ("count", "error", "shape"), [(1000, 0.01, (9586, 7)), (100, 0.5, (145, 1)), (1, 0.9, (1, 1))]
)
def test_shape_for_items(count, error, shape):
    """Size and number of hashes follow from the number of texts and the error."""
    seen = BloomFilter.for_items(count, error)
    assert (seen.size, seen.hashes) == shape


@pytest.mark.parametrize(("count", "error"), [(0, 0.1), (5, 0), (5, 1)])
def test_impossible_shape(count, error):
    """No texts, or an error that is not between 0 and 1, are refused."""
    with pytest.raises(ValueError, match=r"count is at least 1 and error between 0 and 1"):
        BloomFilter.for_items(count, error)


@pytest.mark.parametrize(("size", "hashes"), [(0, 1), (1, 0)])
def test_empty_shape(size, hashes):
    """A filter without bits or hashes is refused."""
    with pytest.raises(ValueError, match=r"size and hashes are at least 1"):
        BloomFilter(size, hashes)


def test_fill_and_error():
    """The error is the share of bits that are set to the power of the number of hashes."""
    seen = BloomFilter(10, 2)
    for place in range(5):
        seen.bits.add(place)
    assert (seen.fill, seen.error()) == (0.5, 0.25)


def test_estimate():
    """The number of texts can be estimated from the bits."""
    seen = BloomFilter(1000, 4)
    for number in range(40):
        seen.add(str(number))
    assert 36 < seen.estimate() < 44


def test_estimate_of_a_full_filter():
    """The estimate is infinite if every bit is set."""
    seen = BloomFilter(1, 1)
    seen.add("a")
    assert seen.estimate() == math.inf


def test_union():
    """The union of two filters contains what either contains."""
    a, b = BloomFilter(500, 3), BloomFilter(500, 3)
    a.add("x")
    b.add("y")
    assert "x" in (a | b) and "y" in (a | b)
    assert "y" not in a


@pytest.mark.parametrize("other", [BloomFilter(500, 4), BloomFilter(501, 3)])
def test_union_of_different_shapes(other):
    """Filters of different shapes cannot be united."""
    with pytest.raises(ValueError, match=r"different shapes"):
        BloomFilter(500, 3) | other


def test_bytes():
    """A filter that was encoded and decoded has its shape and its bits."""
    seen = BloomFilter(500, 3)
    seen.add("x")
    copy = BloomFilter.from_bytes(seen.to_bytes())
    assert (copy.size, copy.hashes, copy.bits) == (500, 3, seen.bits)


@pytest.mark.parametrize("data", [b"\x05\x01\x01\x05\x01", b"\x05\x00\x00", b"\x00\x01\x00"])
def test_corrupt_bytes(data):
    """Bytes of a filter with bits beyond its size, or without hashes, are refused."""
    with pytest.raises(CorruptData, match=r"bits beyond its size"):
        BloomFilter.from_bytes(data)


def test_last_bit():
    """The last bit of a filter may be set in its bytes."""
    assert list(BloomFilter.from_bytes(b"\x05\x01\x01\x04\x01").bits) == [4]
