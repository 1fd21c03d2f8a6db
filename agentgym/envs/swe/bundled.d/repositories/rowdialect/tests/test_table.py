"""Tables with a header."""

import pytest
from rowdialect import Dialect, RowError, Table


def test_header_and_rows():
    """The first row of a text is the header, the others are rows."""
    table = Table.from_text("x,y\n1,2\n3,4\n")
    assert (table.header, table.rows) == (["x", "y"], [["1", "2"], ["3", "4"]])


def test_empty_rows_are_skipped():
    """Empty lines of a table are skipped, also before the header."""
    assert Table.from_text("\nx\n\n1\n").rows == [["1"]]


def test_no_header():
    """A text without rows is no table."""
    with pytest.raises(RowError, match="no header"):
        Table.from_text("\n\n")


def test_names_are_unique():
    """A header that names a column twice is refused."""
    with pytest.raises(RowError, match="twice"):
        Table.from_text("x,x\n1,2\n")


def test_short_row():
    """A row with too few fields is refused, and the error names its line."""
    with pytest.raises(RowError, match="expected 2 fields, got 1") as caught:
        Table.from_text("x,y\n1,2\n3\n")
    assert caught.value.line == 3


def test_error_line_after_long_field():
    """A quoted field over two lines counts as two when the error of a short row names its line."""
    with pytest.raises(RowError) as caught:
        Table.from_text('x,y\n"1\n1",2\n3\n')
    assert caught.value.line == 4


def test_short_row_is_filled():
    """With a fill value the missing fields of a short row get it."""
    assert Table.from_text("x,y,z\n1\n", fill="-").rows == [["1", "-", "-"]]


def test_long_row():
    """A row with too many fields is refused even with a fill value."""
    with pytest.raises(RowError, match="got 3"):
        Table.from_text("x,y\n1,2,3\n", fill="-")


def test_records():
    """Records are dictionaries from column to field."""
    assert list(Table(["x", "y"], [["1", "2"]]).records()) == [{"x": "1", "y": "2"}]


def test_column():
    """A column is the list of its fields from top to bottom."""
    assert Table(["x", "y"], [["1", "2"], ["3", "4"]]).column("y") == ["2", "4"]


def test_unknown_column():
    """Asking for a column that is not there raises KeyError."""
    with pytest.raises(KeyError):
        Table(["x"]).column("y")


def test_append():
    """An appended record may name its columns in any order and leave some out."""
    table = Table(["x", "y", "z"])
    table.append({"z": 3, "x": 1})
    assert table.rows == [["1", "", "3"]]


def test_append_unknown_column():
    """A record with an unknown column is refused and changes nothing."""
    table = Table(["x"])
    with pytest.raises(KeyError):
        table.append({"x": 1, "y": 2})
    assert table.rows == []


def test_to_text():
    """A table is written with its header first."""
    table = Table(["x", "y"], [["1", "2;3"]])
    assert table.to_text(Dialect(delimiter=";")) == 'x;y\n1;"2;3"\n'
