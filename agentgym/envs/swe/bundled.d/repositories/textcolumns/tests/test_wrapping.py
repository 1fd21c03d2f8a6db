"""Wrapping."""

import pytest
from textcolumns import fill, indent, shorten, wrap


def test_wrap():
    """A text is broken between words."""
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]


@pytest.mark.parametrize(("width", "lines"), [(7, ["aaa bbb"]), (6, ["aaa", "bbb"])])
def test_exact_width(width, lines):
    """A line may be exactly as wide as was asked for."""
    assert wrap("aaa bbb", width) == lines


def test_white_space():
    """Any white space separates words."""
    assert wrap("  a\tb \n c ", 10) == ["a b c"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_words(text):
    """A text without words has no lines."""
    assert wrap(text, 10) == []


def test_long_word():
    """A word that is longer than a line is broken at its end."""
    assert wrap("ab abcdefgh ij", 4) == ["ab", "abcd", "efgh", "ij"]


def test_rest_of_long_word():
    """The next word may follow the rest of a long one."""
    assert wrap("abcdef g", 4) == ["abcd", "ef g"]


def test_hyphen():
    """A word may be broken behind a hyphen between letters."""
    assert wrap("a well-known man", 7) == ["a well-", "known", "man"]


def test_hyphen_that_fits():
    """A word with a hyphen that fits into the line stays whole."""
    assert wrap("well-known man", 14) == ["well-known man"]


@pytest.mark.parametrize("word", ["-12345", "10-20x", "abcde-"])
def test_other_hyphens(word):
    """A word is not broken at a hyphen that does not stand between letters."""
    assert wrap("abc " + word, 7) == ["abc", word]


def test_prefixes():
    """The first line and the others may begin differently, and this counts for their width."""
    assert wrap("aaa bbb ccc ddd", 8, "* ", "   ") == ["* aaa", "   bbb", "   ccc", "   ddd"]


def test_prefix_of_first_line():
    """Further lines may hold more if only the first one has a prefix."""
    assert wrap("aa bb cc", 5, first="> ") == ["> aa", "bb cc"]


def test_long_word_with_prefixes():
    """Long words are broken with regard to the prefixes."""
    assert wrap("abcdefgh", 5, "- ", "    ") == [
        "- abc",
        "    d",
        "    e",
        "    f",
        "    g",
        "    h",
    ]


@pytest.mark.parametrize(("first", "rest"), [("aaa", ""), ("", "aaa")])
def test_no_room(first, rest):
    """A prefix must leave room for a character."""
    with pytest.raises(ValueError, match="no room"):
        wrap("a", 3, first, rest)


def test_fill_paragraphs():
    """Paragraphs are wrapped one by one, with a single empty line between them."""
    assert fill("\naa bb\ncc\n\n \ndd\n", 5) == "aa bb\ncc\n\ndd"


@pytest.mark.parametrize(
    ("align", "text"),
    [("left", "aa b\nccc"), ("right", "  aa b\n   ccc"), ("center", " aa b\n ccc")],
)
def test_fill_aligned(align, text):
    """The lines of a paragraph can be aligned and have no spaces at their ends."""
    assert fill("aa b ccc", 6, align) == text


def test_fill_justified():
    """All lines of a justified paragraph but the last one fill the width."""
    assert fill("aa b cccc dd e", 6, "justify") == "aa   b\ncccc\ndd e"


@pytest.mark.parametrize(
    ("width", "text"),
    [(19, "the quick brown fox"), (18, "the quick brown..."), (12, "the quick..."), (11, "the...")],
)
def test_shorten(width, text):
    """A text is cut at the end of a word."""
    assert shorten("the quick  brown fox", width) == text


def test_shorten_long_word():
    """A first word that is too long is cut in its middle."""
    assert shorten("abcdefghij", 6) == "abc..."


def test_shorten_mark():
    """Another mark can show that something is missing."""
    assert shorten("aaa bbb", 5, "*") == "aaa*"


def test_shorten_to_mark():
    """A text can be cut to the mark, but not to less."""
    assert shorten("abcdef", 3) == "..."
    with pytest.raises(ValueError, match="wider"):
        shorten("abcdef", 2)


def test_indent():
    """Lines that are not empty get the prefix."""
    assert indent("a\n\nb", "> ") == "> a\n\n> b"


def test_indent_first():
    """The first line may get another prefix."""
    assert (indent("a\nb", "  ", "- "), indent("a\nb", "  ", "")) == ("- a\n  b", "a\n  b")
