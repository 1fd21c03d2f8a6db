"""Values and filters."""

import pytest
from stencilpage import RenderError, render


def test_plain_text():
    """Text without braces is rendered as it is."""
    assert render("a { b } % #\n") == "a { b } % #\n"


def test_value():
    """A name between double braces is replaced by its value."""
    assert render("<{{ x }}{{y}}>", {"x": 1, "y": "b"}) == "<1b>"


def test_none_is_empty():
    """None is written as nothing."""
    assert render("<{{ x }}>", {"x": None}) == "<>"


def test_mapping():
    """A dotted name looks into mappings."""
    assert render("{{ a.b.c }}", {"a": {"b": {"c": 5}}}) == "5"


def test_list_index():
    """A number after a dot is an index into a list."""
    assert render("{{ a.1 }}", {"a": ["x", "y"]}) == "y"


@pytest.mark.parametrize("path", ["a.2", "a.x", "b", "a.0.upper"])
def test_missing(path):
    """A name that leads nowhere raises RenderError."""
    with pytest.raises(RenderError):
        render("{{ " + path + " }}", {"a": ["x", "y"]})


def test_attributes_are_not_touched():
    """Attributes of objects cannot be reached from a template."""
    with pytest.raises(RenderError, match="leads nowhere at 'real'"):
        render("{{ x.real }}", {"x": 1})


@pytest.mark.parametrize(
    ("literal", "text"),
    [("'a b'", "a b"), ('"c"', "c"), ("12", "12"), ("-1.50", "-1.5"), ("''", "")],
)
def test_literals(literal, text):
    """Texts between quotes and numbers stand for themselves."""
    assert render("{{ " + literal + " }}") == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("upper", "THE CAT'S HAT "),
        ("lower", "the cat's hat "),
        ("title", "The Cat's Hat "),
        ("trim", "the CAT's hat"),
        ("length", "14"),
        ("first", "t"),
        ("last", " "),
    ],
)
def test_filters(call, text):
    """A filter changes the value before it is written."""
    assert render("{{ x | " + call + " }}", {"x": "the CAT's hat "}) == text


def test_filters_in_a_row():
    """Filters are applied from left to right."""
    assert render("{{ x | first | upper }}", {"x": ["ab", "cd"]}) == "AB"


def test_join():
    """Join puts commas between the items of a list."""
    assert render("{{ x | join }}", {"x": [1, 2, 3]}) == "1, 2, 3"


def test_join_with_separator():
    """Join takes the text between the items, with or without quotes."""
    assert render("{{ x | join:' - ' }} {{ x | join:+ }}", {"x": [1, 2]}) == "1 - 2 1+2"


def test_join_needs_a_list():
    """Join of something that is no list raises RenderError."""
    with pytest.raises(RenderError, match="join needs a list"):
        render("{{ x | join }}", {"x": "abc"})


def test_length_of_number():
    """Length of a number raises RenderError."""
    with pytest.raises(RenderError, match="length needs"):
        render("{{ x | length }}", {"x": 5})


def test_first_of_empty_list():
    """First and last of an empty list are empty."""
    assert render("<{{ x | first }}{{ x | last }}>", {"x": []}) == "<>"


def test_first_of_number():
    """First of a number raises RenderError."""
    with pytest.raises(RenderError, match="need a list"):
        render("{{ x | first }}", {"x": 5})


@pytest.mark.parametrize(
    ("width", "text"),
    [("11", "hello world"), ("10", "hello w..."), ("9", "hello..."), ("3", "..."), ("2", "he")],
)
def test_truncate(width, text):
    """Truncate cuts a text to so many characters and ends it with dots."""
    assert render("{{ x | truncate:" + width + " }}", {"x": "hello world"}) == text


def test_truncate_default():
    """Truncate without a number keeps 20 characters."""
    assert render("{{ x | truncate }}", {"x": "a" * 20}) == "a" * 20
    assert render("{{ x | truncate }}", {"x": "a" * 21}) == "a" * 17 + "..."


def test_default_for_missing_value():
    """Default stands for a value that is not given."""
    assert render("{{ x | default:none yet }}") == "none yet"


@pytest.mark.parametrize("value", ["", None])
def test_default_for_empty_value(value):
    """Default stands for an empty value and for None."""
    assert render("{{ x | default:'-' }}", {"x": value}) == "-"


@pytest.mark.parametrize("value", [0, False, "y"])
def test_default_is_not_used(value):
    """Default leaves a value alone that is there, even 0."""
    assert render("{{ x | default:- }}", {"x": value}) == str(value)


def test_unknown_filter():
    """A filter that does not exist raises RenderError."""
    with pytest.raises(RenderError, match="no filter 'shout'"):
        render("{{ x | shout }}", {"x": 1})


def test_argument_that_is_not_taken():
    """An argument for a filter that takes none raises RenderError."""
    with pytest.raises(RenderError, match="filter 'upper'"):
        render("{{ x | upper:2 }}", {"x": "a"})
