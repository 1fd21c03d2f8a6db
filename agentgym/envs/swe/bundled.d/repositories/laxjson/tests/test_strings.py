"""Reading strings."""

import pytest
from laxjson import LaxJSONError, loads


def test_single_quotes():
    """A string in single quotes may contain double quotes."""
    assert loads("""'say "hi"'""") == 'say "hi"'


def test_double_quotes():
    """A string in double quotes may contain single quotes."""
    assert loads('''"it's"''') == "it's"


@pytest.mark.parametrize(
    ("text", "value"),
    [(r"'\n'", "\n"), (r"'\t'", "\t"), (r"'\\'", "\\"), (r"'\''", "'"), (r"'\/'", "/")],
)
def test_escapes(text, value):
    """A backslash escapes line breaks, tabs, quotes, slashes and itself."""
    assert loads(text) == value


def test_unicode_escape():
    """A character may be written as four hexadecimal digits after a backslash and u."""
    assert loads(r"'\u00e9t\u00E9'") == "été"


def test_short_hexadecimal_escape():
    """A character may be written as two hexadecimal digits after a backslash and x."""
    assert loads(r"'\x41b'") == "Ab"


def test_surrogate_pair():
    """Two escapes that form a surrogate pair are one character."""
    assert loads(r"'\ud83d\ude00!'") == "\U0001f600!"


def test_surrogate_pair_at_its_limits():
    """The first and the last surrogate pair are single characters."""
    assert loads(r"'\ud800\udc00\udbff\udfff'") == "\U00010000\U0010ffff"


def test_high_surrogate_before_another_escape():
    """A high surrogate that no low one follows stays alone."""
    assert loads(r"'\ud83d\u0041'") == "\ud83dA"


@pytest.mark.parametrize(("text", "count"), [(r"'\u12'", 4), (r"'\u12g4'", 4), (r"'\x4'", 2)])
def test_incomplete_escape(text, count):
    """An escape with too few hexadecimal digits is refused."""
    with pytest.raises(LaxJSONError, match=f"an escape needs {count} hexadecimal digits"):
        loads(text)


def test_continued_line():
    """A backslash at the end of a line continues the string on the next one."""
    assert loads("'one \\\ntwo'") == "one two"


@pytest.mark.parametrize("text", ["'abc", "'abc\n'", "'abc\\", "'"])
def test_string_without_end(text):
    """A string that does not end on its line is refused."""
    with pytest.raises(LaxJSONError, match=r"a string does not end"):
        loads(text)
