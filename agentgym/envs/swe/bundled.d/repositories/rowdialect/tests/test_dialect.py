"""What a dialect accepts."""

import pytest
from rowdialect import CSV, Dialect, DialectError, format_rows


@pytest.mark.parametrize("delimiter", ["", ",,"])
def test_delimiter_is_one_character(delimiter):
    """A dialect whose delimiter is not exactly one character is refused."""
    with pytest.raises(DialectError, match="one character"):
        Dialect(delimiter=delimiter)


@pytest.mark.parametrize("name", ["quote", "escape"])
def test_quote_and_escape_are_short(name):
    """A quote or an escape of two characters is refused."""
    with pytest.raises(DialectError, match=name):
        Dialect(**{name: "##"})


def test_special_characters_differ():
    """A dialect that uses one character both as delimiter and as quote is refused."""
    with pytest.raises(DialectError, match="differ"):
        Dialect(delimiter="'", quote="'")


def test_line_end_is_no_delimiter():
    """A line feed cannot be the delimiter."""
    with pytest.raises(DialectError, match="end of a line"):
        Dialect(delimiter="\n")


def test_space_delimiter_with_skip_space():
    """A space as delimiter together with skip_space is refused."""
    with pytest.raises(DialectError, match="skip_space"):
        Dialect(delimiter=" ", skip_space=True)


def test_space_delimiter():
    """A space may be the delimiter."""
    assert Dialect(delimiter=" ").delimiter == " "


def test_unknown_line_end():
    """A line end other than LF, CRLF and CR is refused."""
    with pytest.raises(DialectError, match="line_end"):
        Dialect(line_end=";")


def test_unknown_quoting():
    """An unknown rule of quoting is refused."""
    with pytest.raises(DialectError, match="quoting"):
        Dialect(quoting="sometimes")


@pytest.mark.parametrize("quoting", ["all", "strings"])
def test_quoting_needs_a_quote(quoting):
    """A dialect that must quote but has no quote character is refused."""
    with pytest.raises(DialectError, match="needs a quote"):
        Dialect(quote="", quoting=quoting)


def test_minimal_quoting_without_a_quote():
    """A dialect without a quote character is fine as long as it need not quote."""
    assert Dialect(quote="").quoting == "minimal"


def test_with_changes_one_attribute():
    """Dialect.with_ keeps the attributes that it does not change."""
    assert CSV.with_(delimiter=";") == Dialect(delimiter=";", line_end="\r\n")


def test_csv_ends_lines_with_crlf():
    """The CSV dialect ends written lines with CRLF."""
    assert format_rows([["a", "b"], ["c", "d"]], CSV) == "a,b\r\nc,d\r\n"
