"""Cells and areas."""

import pytest

from cellmill import AddressError, Area, CellAddress, column_letters, column_number

COLUMNS = [("A", 1), ("Z", 26), ("AA", 27), ("AZ", 52), ("BA", 53), ("ZZ", 702)]


@pytest.mark.parametrize(("letters", "number"), COLUMNS)
def test_number_of_a_column(letters, number):
    """Columns are counted from A to Z and on from AA to ZZ."""
    assert column_number(letters) == number


@pytest.mark.parametrize(("letters", "number"), COLUMNS)
def test_letters_of_a_column(letters, number):
    """The number of a column can be turned back into its letters."""
    assert column_letters(number) == letters


def test_small_letters():
    """The letters of a column may be small."""
    assert column_number("ab") == 28


@pytest.mark.parametrize("letters", ["", "A1", "AAA", "ä", "ABCD"])
def test_no_column(letters):
    """What is no column of a sheet is refused."""
    with pytest.raises(AddressError):
        column_number(letters)


@pytest.mark.parametrize("number", [0, -1, 703])
def test_no_number_of_a_column(number):
    """There are no columns before the first and behind the last one."""
    with pytest.raises(AddressError, match="from 1 to 702"):
        column_letters(number)


@pytest.mark.parametrize("text", ["A1", "$B$2", "C$3", "$D4", "ZZ9999"])
def test_cell_is_written_as_it_was_read(text):
    """A cell is written with the dollar signs with which it was read."""
    assert str(CellAddress.read(text)) == text


def test_cell_by_row_and_column():
    """A cell knows its row and its column."""
    cell = CellAddress.read(" c12 ")
    assert (cell.row, cell.column) == (12, 3)


@pytest.mark.parametrize("text", ["", "A", "1", "A0", "1A", "A-1", "A10000", "AAA1", "A1:B2", "A$"])
def test_no_cell(text):
    """What is no cell of a sheet is refused."""
    with pytest.raises(AddressError):
        CellAddress.read(text)


@pytest.mark.parametrize(
    ("text", "moved"), [("B2", "D3"), ("$B2", "$B3"), ("B$2", "D$2"), ("$B$2", "$B$2")]
)
def test_cell_moves(text, moved):
    """A cell moves down and to the right, but not where it has a dollar sign."""
    assert str(CellAddress.read(text).moved(1, 2)) == moved


@pytest.mark.parametrize(("rows", "columns"), [(-1, 0), (0, -1), (9999, 0), (0, 702)])
def test_cell_moves_off_the_sheet(rows, columns):
    """A cell that would leave the sheet has no new place."""
    assert CellAddress(1, 1).moved(rows, columns) is None


def test_fixed_cell_does_not_leave_the_sheet():
    """A fixed cell stays even if it is moved far."""
    assert CellAddress(1, 1, True, True).moved(-5, -5) == CellAddress(1, 1, True, True)


@pytest.mark.parametrize("text", ["A1:C3", "C3:A1", "C1:A3", "A3:C1", " A1 : C3 "])
def test_area_by_any_corners(text):
    """An area may be given by any two opposite corners."""
    assert str(Area.read(text)) == "A1:C3"


def test_area_of_one_cell():
    """An area of one cell is written without a colon."""
    assert str(Area.read("B2:B2")) == "B2"


def test_size_of_an_area():
    """Height and width of an area include both corners."""
    area = Area.read("B2:D3")
    assert (area.height, area.width, area.size) == (2, 3, 6)


def test_cells_of_an_area():
    """The cells of an area come row by row."""
    assert [str(cell) for cell in Area.read("A1:B2")] == ["A1", "B1", "A2", "B2"]


@pytest.mark.parametrize(
    ("text", "inside"), [("B2", True), ("D4", True), ("A2", False), ("B5", False)]
)
def test_cell_in_area(text, inside):
    """The corners of an area belong to it."""
    assert (CellAddress.read(text) in Area.read("B2:D4")) is inside


@pytest.mark.parametrize(
    ("other", "shared"),
    [("A1:B2", "B2"), ("C3:Z9", "C3:D4"), ("A1:Z9", "B2:D4"), ("E1:E9", "None"), ("A5:Z5", "None")],
)
def test_overlap(other, shared):
    """Two areas share the rectangle in which they overlap."""
    assert str(Area.read("B2:D4").overlap(Area.read(other))) == shared


@pytest.mark.parametrize("text", ["A1:B2:C3", "A1:", ":A1", "A:B"])
def test_no_area(text):
    """What is no area is refused."""
    with pytest.raises(AddressError):
        Area.read(text)


def test_corners_in_the_wrong_order():
    """An area that is made of numbers needs its first row before its last one."""
    with pytest.raises(AddressError):
        Area(3, 1, 2, 1)
