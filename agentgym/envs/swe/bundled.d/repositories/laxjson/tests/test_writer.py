"""Writing values."""

import math

import pytest
from laxjson import dumps


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (False, "false"), (3, "3"), (0.5, "0.5"), ("a", '"a"')],
)
def test_scalars(value, text):
    """Single values are written as in JSON."""
    assert dumps(value) == text


def test_not_finite():
    """Numbers that are not finite are written as Infinity, -Infinity and NaN."""
    assert dumps([math.inf, -math.inf, math.nan]) == "[Infinity, -Infinity, NaN]"


def test_one_line():
    """Without an indent everything stands on one line."""
    assert dumps({"a": [1, (2,)], "b": {}}) == '{"a": [1, [2]], "b": {}}'


def test_indent():
    """With an indent every item stands on its own line, deeper levels further right."""
    assert dumps({"a": [1, 2]}, indent=2) == '{\n  "a": [\n    1,\n    2\n  ]\n}'


def test_empty_with_indent():
    """Empty arrays and objects stay on their line."""
    assert dumps([[], {}], indent=1) == "[\n [],\n {}\n]"


def test_width_keeps_short_arrays_together():
    """An array that fits into the width stays on one line."""
    assert dumps({"a": [1, 2]}, indent=2, width=6) == '{\n  "a": [1, 2]\n}'


def test_width_breaks_long_arrays():
    """An array that is one character wider than the width is broken."""
    assert dumps([1, 2], indent=1, width=5) == "[\n 1,\n 2\n]"


def test_sort_keys():
    """Keys are sorted on request and otherwise keep their order."""
    value = {"b": 1, "a": 2}
    assert (dumps(value), dumps(value, sort_keys=True)) == ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}')


def test_bare_keys():
    """On request keys that look like names go without quotes, others keep them."""
    assert dumps({"a1": 1, "b c": 2}, bare_keys=True) == '{a1: 1, "b c": 2}'


def test_quotes_and_control_characters():
    """Quotes, backslashes and control characters in strings are escaped."""
    assert dumps('a"b\\c\n\x01\x1f\x7f') == r'"a\"b\\c\n\u0001\u001f\u007f"'


def test_other_characters_are_not_escaped():
    """Blanks, tildes and letters of other languages are written as they are."""
    assert dumps(" ~\xa0é") == '" ~\xa0é"'


def test_keys_are_strings():
    """A key that is no string cannot be written."""
    with pytest.raises(TypeError, match=r"a key is a string, not int"):
        dumps({1: 2})


def test_unknown_type():
    """A value of another type cannot be written."""
    with pytest.raises(TypeError, match=r"cannot write a value of type set"):
        dumps([set()])
