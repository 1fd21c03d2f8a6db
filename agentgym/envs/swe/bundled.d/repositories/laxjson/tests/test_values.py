"""Reading values."""

import math

import pytest
from laxjson import LaxJSONError, loads


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False), ("null", None)])
def test_constants(text, value):
    """The constants true, false and null are read as True, False and None."""
    assert loads(text) is value


def test_undefined_is_none():
    """The word undefined is read as None."""
    assert loads("[undefined]") == [None]


@pytest.mark.parametrize(
    ("text", "value"),
    [("42", 42), ("-7", -7), ("+3", 3), ("1_000", 1000), ("0xff", 255), ("-0X10", -16)],
)
def test_whole_numbers(text, value):
    """Whole numbers may have a sign, underscores, or be hexadecimal."""
    assert loads(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("1.5", 1.5), (".5", 0.5), ("-2.", -2.0), ("1e3", 1000.0), ("5E-1", 0.5)]
)
def test_fractions(text, value):
    """Numbers may begin or end with the decimal point and have an exponent."""
    assert loads(text) == value


def test_whole_numbers_stay_whole():
    """A number without point and exponent is an int, with one of them it is a float."""
    assert [type(number) for number in loads("[1, 1.0, 1e0]")] == [int, float, float]


def test_infinity():
    """Infinity may be written with and without a sign."""
    assert loads("[Infinity, -Infinity, +Infinity]") == [math.inf, -math.inf, math.inf]


def test_nan():
    """The word NaN is read as not a number."""
    assert math.isnan(loads("NaN"))


def test_number_before_a_word():
    """A number directly followed by letters is refused."""
    with pytest.raises(LaxJSONError, match=r"a number runs into a word"):
        loads("12px")


def test_empty_array_and_object():
    """Empty arrays and objects are read."""
    assert loads("[{}, []]") == [{}, []]


def test_trailing_commas():
    """A comma may follow the last item of an array and the last member of an object."""
    assert loads("{a: [1, 2,],}") == {"a": [1, 2]}


@pytest.mark.parametrize("text", ["[,]", "[1,,2]", "{,}"])
def test_commas_without_value(text):
    """A comma with no value before it is refused."""
    with pytest.raises(LaxJSONError, match=r"expected a"):
        loads(text)


def test_keys_without_quotes():
    """Keys may be words with dollar signs, underscores and dashes."""
    assert loads("{$a: 1, _b: 2, max-age: 3}") == {"$a": 1, "_b": 2, "max-age": 3}


def test_constants_as_keys():
    """A word such as true or null may be a key."""
    assert loads("{true: 1, null: 2}") == {"true": 1, "null": 2}


def test_numbers_as_keys():
    """A whole number may be a key and becomes a string."""
    assert loads("{1: 'a'}") == {"1": "a"}


def test_fractions_are_no_keys():
    """A number with a decimal point is refused as a key."""
    with pytest.raises(LaxJSONError, match=r"a key is a string, a word or a whole number"):
        loads("{1.5: 2}")


def test_order_of_keys():
    """The keys of an object keep the order of the text."""
    assert list(loads("{b: 1, a: 2}")) == ["b", "a"]


def test_duplicate_key():
    """A key that stands twice is an error at its second place."""
    with pytest.raises(LaxJSONError, match=r"the key 'a' stands twice \(line 1, column 8\)"):
        loads("{a: 1, a: 2}")


@pytest.mark.parametrize(("which", "value"), [("first", 1), ("last", 2)])
def test_duplicate_key_kept(which, value):
    """On request the first or the last value of a key that stands twice is kept."""
    assert loads("{a: 1, a: 2}", duplicates=which) == {"a": value}


def test_unknown_rule_for_duplicates():
    """An unknown rule for keys that stand twice is refused."""
    with pytest.raises(ValueError, match=r"error, first or last, not 'any'"):
        loads("{}", duplicates="any")


def test_depth_within_the_limit():
    """Values may be nested as deep as the limit."""
    assert loads("[[1]]", max_depth=2) == [[1]]


def test_depth_beyond_the_limit():
    """Values nested deeper than the limit are refused."""
    with pytest.raises(LaxJSONError, match=r"nested more than 2 deep"):
        loads("[{a: []}]", max_depth=2)
