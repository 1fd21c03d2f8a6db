"""Numbers of variable length."""

import pytest
from packedbits import CorruptData, read_varint, unzigzag, write_varint, zigzag

PAIRS = [(0, b"\x00"), (1, b"\x01"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")]


@pytest.mark.parametrize(("number", "data"), PAIRS)
def test_write(number, data):
    """Numbers up to 127 need one byte, greater ones more."""
    assert write_varint(number) == data


@pytest.mark.parametrize(("number", "data"), PAIRS)
def test_read(number, data):
    """Reading a number gives it with the offset behind it."""
    assert read_varint(data) == (number, len(data))


def test_read_from_an_offset():
    """A number may be read in the middle of the data."""
    assert read_varint(b"\x05\xac\x02\x07", 1) == (300, 3)


def test_write_negative():
    """A negative number cannot be written."""
    with pytest.raises(ValueError, match=r"cannot be negative, got -1"):
        write_varint(-1)


@pytest.mark.parametrize("data", [b"", b"\x80"])
def test_read_truncated(data):
    """Data that end within a number are refused."""
    with pytest.raises(CorruptData, match=r"end within a number"):
        read_varint(data)


def test_longest_number():
    """A number may have ten bytes and no more."""
    assert read_varint(b"\x80" * 9 + b"\x01") == (1 << 63, 10)
    with pytest.raises(CorruptData, match=r"more than 10 bytes"):
        read_varint(b"\x80" * 10 + b"\x01")


def test_zigzag():
    """Negative and positive numbers alternate in zigzag order."""
    assert [zigzag(number) for number in (0, -1, 1, -2, 2)] == [0, 1, 2, 3, 4]


def test_unzigzag():
    """The zigzag order can be taken back."""
    assert [unzigzag(number) for number in range(5)] == [0, -1, 1, -2, 2]
