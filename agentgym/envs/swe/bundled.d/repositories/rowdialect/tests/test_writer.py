"""Writing rows."""

import pytest
from rowdialect import PIPES, TSV, Dialect, DialectError, format_row, format_rows, parse_row

ESCAPES = Dialect(escape="\\", double_quote=False)


def test_plain_values():
    """Values without special characters are written without quotes."""
    assert format_row(["a", 1, 2.5]) == "a,1,2.5"


def test_none_and_truth():
    """None becomes an empty field, truth values become true and false."""
    assert format_row([None, True, False]) == ",true,false"


def test_empty_row():
    """A row without values is an empty line."""
    assert format_row([]) == ""


@pytest.mark.parametrize(
    ("value", "written"),
    [("b,c", '"b,c"'), ('b"c', '"b""c"'), ("b\nc", '"b\nc"'), ("b\rc", '"b\rc"')],
)
def test_quotes_where_needed(value, written):
    """A value with a comma, a quote or a line end is quoted, its quotes doubled."""
    assert format_row(["a", value]) == "a," + written


def test_single_empty_field():
    """A row of one empty field is a pair of quotes, since an empty line has no fields."""
    assert format_row([""]) == '""'


def test_single_empty_field_without_quotes():
    """A row of one empty field cannot be written in a dialect without quotes."""
    with pytest.raises(DialectError, match="one empty field"):
        format_row([None], TSV)


def test_quote_all():
    """With quoting="all" every value is quoted."""
    assert format_row(["a", 1, None], Dialect(quoting="all")) == '"a","1",""'


def test_quote_strings():
    """With quoting="strings" numbers and None stand without quotes."""
    assert format_row(["a", 1, 2.5, None], Dialect(quoting="strings")) == '"a",1,2.5,'


def test_leading_space_under_skip_space():
    """A value with a leading space is quoted where readers would drop the space."""
    assert format_row(["a", " b"], PIPES) == 'a|" b"'


def test_leading_space():
    """A value with a leading space needs no quotes where spaces are kept."""
    assert format_row(["a", " b"]) == "a, b"


def test_escaped_quote():
    """Where quotes are not doubled they are escaped, and so is the escape."""
    assert format_row(['a"\\'], ESCAPES) == '"a\\"\\\\"'


def test_tabs_are_escaped():
    """The TSV dialect escapes tabs and backslashes."""
    assert format_row(["a\tb", "c\\d"], TSV) == "a\\\tb\tc\\\\d"


def test_quote_that_cannot_be_written():
    """A quote cannot be written where quotes are neither doubled nor escaped."""
    with pytest.raises(DialectError, match="holds a quote"):
        format_row(['a"b'], Dialect(double_quote=False))


def test_delimiter_that_cannot_be_written():
    """A comma cannot be written without quoting and escape."""
    with pytest.raises(DialectError, match="cannot write it"):
        format_row(["a,b"], Dialect(quoting="none"))


def test_first_field_like_a_comment():
    """A first field that looks like a comment is quoted."""
    remarks = Dialect(comment="#")
    assert format_row(["#a", "#b"], remarks) == '"#a",#b'


def test_comment_like_field_without_quotes():
    """A first field that looks like a comment cannot be written without quotes."""
    with pytest.raises(DialectError, match="needs quotes"):
        format_row(["#a", "b"], Dialect(comment="#", quote=""))


def test_rows_have_line_ends():
    """Every written row ends its line."""
    assert format_rows([["a", "b"], ["c"]]) == "a,b\nc\n"


@pytest.mark.parametrize("dialect", [Dialect(), ESCAPES, PIPES])
def test_read_back(dialect):
    """What format_row wrote, parse_row reads back."""
    values = ["a", "", " b", 'c"d', "e,f|g", "h\\i"]
    assert parse_row(format_row(values, dialect), dialect) == values
