"""Reading rows."""

import pytest
from rowdialect import PIPES, TSV, Dialect, RowError, parse_row, parse_rows

ESCAPES = Dialect(escape="\\", double_quote=False)
REMARKS = Dialect(comment="#")


def test_plain_fields():
    """A row of plain fields is split at its commas."""
    assert parse_row("a,b,c") == ["a", "b", "c"]


def test_empty_line():
    """Parsing an empty line gives an empty list of fields."""
    assert parse_row("") == []


def test_empty_fields():
    """Fields without characters are kept, also the last one."""
    assert parse_row("a,,b,") == ["a", "", "b", ""]


def test_quoted_delimiter():
    """A comma between quotes belongs to the field."""
    assert parse_row('a,"b,c",d') == ["a", "b,c", "d"]


def test_doubled_quote():
    """Two quotes in a quoted field stand for one."""
    assert parse_row('"say ""hi""",x') == ['say "hi"', "x"]


def test_empty_quoted_field():
    """A pair of quotes is one empty field."""
    assert parse_row('""') == [""]


def test_quote_inside_plain_field():
    """A quote in the middle of an unquoted field is an ordinary character."""
    assert parse_row('5" pipe,x') == ['5" pipe', "x"]


def test_spaces_are_kept():
    """Spaces around a field belong to it by default."""
    assert parse_row("a, b") == ["a", " b"]


def test_skip_space():
    """With skip_space the spaces after a delimiter are left out, later ones are kept."""
    assert parse_row("a|  b c |d", PIPES) == ["a", "b c ", "d"]


def test_skip_space_before_and_after_quotes():
    """With skip_space a quoted field may have spaces before and behind it."""
    assert parse_row('a| "b|c" |d', PIPES) == ["a", "b|c", "d"]


def test_text_after_closing_quote():
    """A letter right after a closing quote is an error."""
    with pytest.raises(RowError, match="follows a closing quote"):
        parse_row('"a"b')


def test_space_after_closing_quote():
    """Without skip_space even a space after a closing quote is an error."""
    with pytest.raises(RowError, match="closing quote"):
        parse_row('"a" ,b')


def test_unclosed_quote():
    """A quoted field that the text does not close is an error."""
    with pytest.raises(RowError, match="not closed"):
        parse_row('a,"b')


def test_escaped_delimiter():
    """An escaped delimiter belongs to the field."""
    assert parse_row("a\\,b,c", ESCAPES) == ["a,b", "c"]


def test_escaped_quote():
    """An escaped quote inside a quoted field does not close it."""
    assert parse_row('"a\\"b",c', ESCAPES) == ['a"b', "c"]


def test_escaped_first_quote():
    """A field that begins with an escaped quote is not quoted."""
    assert parse_row('\\"a"b,c', ESCAPES) == ['"a"b', "c"]


def test_no_doubling_without_double_quote():
    """Where quotes are escaped, a doubled quote is an error."""
    with pytest.raises(RowError, match="closing quote"):
        parse_row('"a""b"', ESCAPES)


def test_escape_at_the_end():
    """A row that ends with an escape character is an error."""
    with pytest.raises(RowError, match="nothing follows"):
        parse_row("a\\", ESCAPES)


def test_tabs():
    """In the TSV dialect quotes mean nothing."""
    assert parse_row('"a"\tb', TSV) == ['"a"', "b"]


def test_escaped_delimiter_first():
    """An escaped delimiter may be the first character of a field, also after a space."""
    assert parse_row("\\,a, \\,b", ESCAPES) == [",a", " ,b"]


def test_escaped_space_first():
    """An escaped space at the start of a field is kept even with skip_space, with what follows."""
    dialect = Dialect(escape="\\", skip_space=True)
    assert parse_row("a, \\  b", dialect) == ["a", "  b"]


def test_one_row_only():
    """parse_row refuses a text of two rows."""
    with pytest.raises(RowError, match="found 2"):
        parse_row("a\nb")


def test_one_row_with_line_end():
    """parse_row accepts the end of the line."""
    assert parse_row("a,b\r\n") == ["a", "b"]


def test_rows_with_all_line_ends():
    """Lines that end with LF, CRLF and CR are all read."""
    assert list(parse_rows("a\nb\r\nc\rd")) == [["a"], ["b"], ["c"], ["d"]]


def test_empty_line_between_rows():
    """An empty line between two rows gives an empty row."""
    assert list(parse_rows("a\n\nb\n")) == [["a"], [], ["b"]]


def test_field_over_two_lines():
    """A quoted field keeps the line end that it holds."""
    assert list(parse_rows('a,"b\r\nc"\nd\n')) == [["a", "b\r\nc"], ["d"]]


def test_escaped_line_end():
    """An escaped line end belongs to the field."""
    assert list(parse_rows("a\\\nb\tc\n", TSV)) == [["a\nb", "c"]]


def test_escaped_line_end_then_row():
    """After an escaped line end the next line end ends the row."""
    assert list(parse_rows("a\\\n\nb\n", TSV)) == [["a\n"], ["b"]]


def test_comment_line():
    """A line that begins with the comment sign is skipped."""
    assert list(parse_rows("# x,y\na,b\n# z", REMARKS)) == [["a", "b"]]


def test_comment_sign_inside_a_row():
    """The comment sign means nothing inside a row."""
    assert list(parse_rows("a,#b\n", REMARKS)) == [["a", "#b"]]


def test_comment_sign_inside_quotes():
    """A quoted field may have a line that begins with the comment sign."""
    assert list(parse_rows('"a\n#b",c\n', REMARKS)) == [["a\n#b", "c"]]


def test_error_names_the_line():
    """The error of a malformed row carries the number of its line."""
    with pytest.raises(RowError) as caught:
        list(parse_rows('a\nb\n"c"d\n'))
    assert caught.value.line == 3


def test_error_line_after_comment():
    """Comment lines count when an error names its line."""
    with pytest.raises(RowError) as caught:
        list(parse_rows('# x\n"c"d\n', REMARKS))
    assert caught.value.line == 2


def test_error_line_after_long_field():
    """A field over two lines counts as two lines when a later error names its line."""
    with pytest.raises(RowError) as caught:
        list(parse_rows('"a\nb"\n"c"d\n'))
    assert caught.value.line == 3
