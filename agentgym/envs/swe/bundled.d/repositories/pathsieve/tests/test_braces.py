"""Alternatives in braces."""

import pytest
from pathsieve import expand_braces


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("a{,b}", ["a", "ab"]),
        ("{a,b{1,2}}", ["a", "b1", "b2"]),
        ("plain", ["plain"]),
    ],
)
def test_alternatives(text, texts):
    """Braces with commas stand for each of the alternatives, in order."""
    assert expand_braces(text) == texts


@pytest.mark.parametrize("text", ["{a}", "{}", "{a", "a}", r"\{a,b}", r"{a\,b}"])
def test_braces_that_stand_for_themselves(text):
    """Braces without a comma, without a partner or after a backslash stand for themselves."""
    assert expand_braces(text) == [text]


def test_choice_within_plain_braces():
    """A choice within braces that are none is expanded."""
    assert expand_braces("{x{a,b}}") == ["{xa}", "{xb}"]


def test_escaped_brace_within_a_choice():
    """A brace after a backslash does not close a choice."""
    assert expand_braces(r"{a\},b}") == [r"a\}", "b"]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{0..10..5}", ["0", "5", "10"]),
        ("{9..10}", ["9", "10"]),
    ],
)
def test_ranges_of_numbers(text, texts):
    """Two numbers with two points between them count up or down, with a step if there is one."""
    assert expand_braces(text) == texts


def test_leading_zeros():
    """Leading zeros of a range are kept."""
    assert expand_braces("{08..10}") == ["08", "09", "10"]


@pytest.mark.parametrize(("text", "texts"), [("{a..c}", ["a", "b", "c"]), ("{c..b}", ["c", "b"])])
def test_ranges_of_letters(text, texts):
    """Two letters with two points between them count through the alphabet, up or down."""
    assert expand_braces(text) == texts
