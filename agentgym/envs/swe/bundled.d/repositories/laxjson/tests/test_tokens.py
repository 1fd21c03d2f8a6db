"""Comments, tokens and the places of errors."""

import pytest
from laxjson import LaxJSONError, loads, tokenize


@pytest.mark.parametrize("text", ["// one\n1", "# one\n1", "/* one */ 1", "1 // end", "1 # end"])
def test_comments(text):
    """Comments of all kinds may stand before and after a value."""
    assert loads(text) == 1


def test_comment_between_items():
    """Comments may stand between the items of an array."""
    assert loads("[1, // one\n /* two */ 2 # three\n]") == [1, 2]


def test_line_directly_after_a_comment():
    """The first character of the line after a comment is read."""
    assert loads("[//\n1]") == [1]


def test_slashes_within_a_string():
    """Within a string slashes and number signs begin no comment."""
    assert loads("'http://x#y'") == "http://x#y"


def test_shortest_comment():
    """A comment of only its opening and closing signs is passed over."""
    assert loads("/**/7") == 7


@pytest.mark.parametrize("text", ["/* 1", "/*/ 1"])
def test_comment_without_end(text):
    """A comment that does not end is refused where it begins."""
    with pytest.raises(LaxJSONError, match=r"a comment does not end \(line 1, column 1\)"):
        loads(text)


def test_byte_order_mark():
    """A byte order mark at the beginning is passed over."""
    assert loads("\ufeff[1]") == [1]


def test_kinds_of_tokens():
    """A text is split into punctuation, words, numbers and strings with an end token last."""
    assert [token.kind for token in tokenize("{a: [1, 'x']}")] == [
        "{", "word", ":", "[", "number", ",", "string", "]", "}", "end",
    ]  # fmt: skip


def test_offsets_of_tokens():
    """Every token knows where it begins, the end token the length of the text."""
    assert [token.offset for token in tokenize("[ 10 , 'x' ]")] == [0, 2, 5, 7, 11, 12]


def test_unexpected_character():
    """A character that begins no token is refused."""
    with pytest.raises(LaxJSONError, match=r"unexpected character '@'"):
        loads("[@]")


def test_line_and_column():
    """An error knows its line and column, both counted from one."""
    with pytest.raises(LaxJSONError) as info:
        loads("{\n  a: 1,\n  b: @\n}")
    assert (info.value.line, info.value.column) == (3, 6)


def test_column_on_the_first_line():
    """The first character of a text is line 1, column 1."""
    with pytest.raises(LaxJSONError) as info:
        loads("@")
    assert (info.value.line, info.value.column) == (1, 1)


@pytest.mark.parametrize("text", ["", "  // nothing"])
def test_no_value(text):
    """A text without a value is refused."""
    with pytest.raises(LaxJSONError, match=r"expected a value, found the end"):
        loads(text)


def test_second_value():
    """A text with something behind its value is refused."""
    with pytest.raises(LaxJSONError, match=r"expected the end of the text, found 2"):
        loads("1 2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1 2]", "expected ',' or '\\]', found 2"),
        ("{a: 1 b: 2}", "expected ',' or '}', found 'b'"),
        ("{a 1}", "expected ':' after a key, found 1"),
        ("{[]: 1}", "expected a key, found '\\['"),
        ("[1", "expected ',' or '\\]', found the end"),
        ("[maybe]", "expected a value, found 'maybe'"),
    ],
)
def test_what_was_expected(text, message):
    """The message of an error says what was expected and what was found."""
    with pytest.raises(LaxJSONError, match=message):
        loads(text)
