"""Titles, excerpts and unique names."""

import pytest
from slugcase import headline, shorten, unique_name


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("the art of war", "The Art of War"),
        ("what is it for", "What Is It For"),
        ("war: the end", "War: The End"),
        ("my iPhone and NASA", "My iPhone and NASA"),
        ("a well-known 'quote' Of it", "A Well-Known 'Quote' of It"),
        ("", ""),
        ("- b", "- B"),
    ],
)
def test_headline(text, title):
    """Words of a title are capitalised, except small ones that stand in the middle."""
    assert headline(text) == title


def test_shorten_nothing():
    """A text that fits is not shortened, even if it fits exactly."""
    assert shorten("one  two", 7) == "one two"


def test_shorten_at_a_word():
    """A text that is too long ends with a whole word and three points."""
    assert shorten("one two three", 11) == "one two..."


def test_shorten_exactly_at_a_word():
    """A word that ends exactly where the room ends is kept."""
    assert shorten("one two three", 10) == "one two..."


def test_shorten_drops_punctuation():
    """Punctuation before the ending is dropped."""
    assert shorten("one, two three", 9) == "one..."


def test_shorten_a_long_word():
    """A first word that is longer than the width is cut."""
    assert shorten("incredible", 8) == "incre..."


def test_shorten_with_another_ending():
    """Another ending may be chosen, and it counts for the width."""
    assert shorten("one two three", 8, ending="+") == "one two+"


def test_shorten_without_room():
    """A width that has no room for the ending is refused."""
    with pytest.raises(ValueError, match=r"width is at least 3, got 2"):
        shorten("one", 2)


def test_shorten_to_the_ending():
    """A width of just the ending gives the ending."""
    assert shorten("one two", 3) == "..."


@pytest.mark.parametrize(
    ("name", "taken", "result"),
    [
        ("a", [], "a"),
        ("a", ["a"], "a-2"),
        ("a", ["a", "a-2", "a-3"], "a-4"),
        ("a-7", ["a-7"], "a-8"),
        ("-5", ["-5"], "-5-2"),
    ],
)
def test_unique_name(name, taken, result):
    """A name that is taken gets the next free number."""
    assert unique_name(name, taken) == result


def test_unique_name_separator():
    """Another separator may stand before the number."""
    assert unique_name("a_2", {"a_2"}, separator="_") == "a_3"
