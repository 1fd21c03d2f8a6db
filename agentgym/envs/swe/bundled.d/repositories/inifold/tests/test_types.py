"""Typed values."""

import pytest
from inifold import Config, MissingKey, ValueFormatError


def section(value):
    """Return a section that says x."""
    return Config.from_text(f"[a]\nx = {value}")["a"]


@pytest.mark.parametrize(
    ("text", "number"), [("42", 42), ("-7", -7), ("010", 10), ("0x1F", 31), ("-0b101", -5)]
)
def test_int(text, number):
    """Whole numbers may be decimal, hexadecimal or binary, and have a sign."""
    assert section(text).get_int("x") == number


def test_bad_int():
    """A value that is no whole number raises ValueFormatError, which names section and key."""
    with pytest.raises(ValueFormatError, match=r"\[a\] x = '4.5'"):
        section("4.5").get_int("x")


def test_int_default():
    """A default of 0 is used for a missing number."""
    assert section("1").get_int("y", 0) == 0


def test_int_default_is_not_used():
    """A number that is there wins over the default."""
    assert section("1").get_int("x", 5) == 1


def test_missing_int():
    """A missing number without default raises MissingKey."""
    with pytest.raises(MissingKey):
        section("1").get_int("y")


def test_float():
    """Numbers with a fraction are read by get_float."""
    assert section("2.5").get_float("x") == 2.5


@pytest.mark.parametrize("word", ["true", "Yes", "ON", "1"])
def test_true(word):
    """The words true, yes, on and 1 are true in any case."""
    assert section(word).get_bool("x") is True


@pytest.mark.parametrize("word", ["false", "No", "OFF", "0"])
def test_false(word):
    """The words false, no, off and 0 are false in any case."""
    assert section(word).get_bool("x") is False


def test_bad_bool():
    """Another word is no truth value, and the error lists those that are."""
    with pytest.raises(ValueFormatError, match="true, yes, on, 1, false"):
        section("maybe").get_bool("x")


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("2k", 2048), ("1.5M", 1572864), ("1 GB", 1073741824), ("0", 0), ("7b", 7)],
)
def test_size(text, size):
    """Sizes may have the units k, M and G, which are powers of 1024."""
    assert section(text).get_size("x") == size


@pytest.mark.parametrize("text", ["5t", "-1", "k", ""])
def test_bad_size(text):
    """An unknown unit, a negative number or no number at all is no size."""
    with pytest.raises(ValueFormatError):
        section(text).get_size("x")


def test_list():
    """Items are separated by commas, and empty ones are left out."""
    assert section("a, b ,,c,").get_list("x") == ["a", "b", "c"]


def test_list_over_lines():
    """Items may also be separated by lines."""
    assert section("a, b\n  c").get_list("x") == ["a", "b", "c"]


def test_empty_list():
    """An empty value is a list without items."""
    assert section("").get_list("x") == []


def test_list_default():
    """An empty list may be the default."""
    assert section("1").get_list("y", []) == []
