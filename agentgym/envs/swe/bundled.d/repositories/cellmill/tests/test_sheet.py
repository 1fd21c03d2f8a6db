"""Sheets: computing again, copying, sorting, rows and columns."""

import pytest

from cellmill import AddressError, FormulaError, SheetError, Workbook


def sheet_of(*lines):
    """Return a sheet with texts that are separated by spaces, the first in A1."""
    sheet = Workbook().add("S")
    for row, line in enumerate(lines, 1):
        for letter, text in zip("ABCDE", line.split(), strict=False):
            sheet[f"{letter}{row}"] = "" if text == "_" else text
    return sheet


def test_formula_is_computed():
    """A formula is computed from the cells that it names."""
    assert sheet_of("2 3 =A1*B1").value("C1") == 6


def test_computed_again():
    """A change is passed on along a chain of formulas."""
    sheet = sheet_of("1 =A1+1 =B1+1 =C1+1")
    sheet["A1"] = "10"
    assert sheet.values("A1:D1") == [[10, 11, 12, 13]]


def test_formula_before_its_cells():
    """A formula may be entered before what it looks at."""
    sheet = sheet_of("=B1+C1")
    sheet["B1"] = 1
    sheet["C1"] = "=B1*5"
    assert sheet.value("A1") == 6


def test_cleared_cell():
    """A cleared cell counts as empty in the formulas that look at it."""
    sheet = sheet_of("5 =A1+1")
    sheet["A1"] = ""
    assert (sheet.value("A1"), sheet.value("B1"), sheet["A1"]) == (None, 1, "")


def test_replaced_formula():
    """A cell whose formula is replaced no longer depends on what it looked at."""
    sheet = sheet_of("1 2 =A1")
    sheet["C1"] = "=B1"
    sheet["A1"] = "9"
    assert sheet.value("C1") == 2


def test_area_notices_new_cells():
    """A formula over an area is computed again when an empty cell of it is filled."""
    sheet = sheet_of("=SUM(A2:A9)")
    sheet["A5"] = 4
    assert sheet.value("A1") == 4


def test_source_of_a_cell():
    """A cell gives back what was typed; formulas are written evenly."""
    sheet = sheet_of("1,000 =a1+1 tea")
    assert (sheet["A1"], sheet["B1"], sheet["C1"], sheet["D1"]) == ("1,000", "=A1 + 1", "tea", "")


def test_python_values():
    """Numbers, truth values and None can be given as they are."""
    sheet = sheet_of()
    sheet["A1"], sheet["A2"], sheet["A3"] = 1.5, True, None
    assert sheet.values("A1:A3") == [[1.5], [True], [None]]


def test_dollar_signs_do_not_matter_for_setting():
    """A cell can be named with dollar signs."""
    sheet = sheet_of()
    sheet["$A$1"] = "3"
    assert sheet.value("A1") == 3


def test_refused_formula_changes_nothing():
    """A cell keeps its content if a new formula is refused."""
    sheet = sheet_of("7")
    with pytest.raises(FormulaError):
        sheet["A1"] = "=1+"
    assert sheet.value("A1") == 7


@pytest.mark.parametrize("address", ["", "A0", "hello", "A1:B2"])
def test_no_such_cell(address):
    """A cell that does not exist is refused."""
    with pytest.raises(AddressError):
        sheet_of().value(address)


def test_circle():
    """Cells that need each other give an error, and so does what depends on them."""
    sheet = sheet_of("=B1 =A1 =A1+1 5")
    assert [str(value) for value in sheet.values("A1:D1")[0]] == [
        "#CYCLE!",
        "#CYCLE!",
        "#CYCLE!",
        "5",
    ]


def test_cell_that_needs_itself():
    """A cell whose formula looks at itself is a circle too."""
    assert sheet_of("=A1+1").shown("A1") == "#CYCLE!"


def test_cell_inside_its_own_area():
    """A sum over an area that holds the sum is a circle."""
    assert sheet_of("1 2 =SUM(A1:C1)").shown("C1") == "#CYCLE!"


def test_circle_is_opened():
    """When a circle is broken up, its cells are computed again."""
    sheet = sheet_of("=B1+1 =C1+1 =A1+1 =C1")
    sheet["B1"] = "10"
    assert sheet.values("A1:D1") == [[11, 10, 12, 12]]


def test_circle_can_be_caught():
    """IFERROR stops the error of a circle."""
    assert sheet_of("=B1 =A1 =IFERROR(A1,0)").value("C1") == 0


def test_long_chain():
    """A chain of very many formulas is computed without trouble."""
    sheet = sheet_of("1", "=A1+1")
    sheet.fill("A2", "A3:A800")
    assert sheet.value("A800") == 800


def test_copy():
    """A copied formula looks at cells at the same distance."""
    sheet = sheet_of("1 =A1*2", "5")
    sheet.copy("B1", "B2")
    assert (sheet["B2"], sheet.value("B2")) == ("=A2 * 2", 10)


def test_copy_area():
    """An area is copied with its values and its empty cells."""
    sheet = sheet_of("1 _", "_ =A1", "9 9", "9 9")
    sheet.copy("A1:B2", "A3")
    assert sheet.values("A3:B4") == [[1, None], [None, 1]]


def test_copy_onto_itself():
    """An area may be copied to where it overlaps itself."""
    sheet = sheet_of("1 2 3 _")
    sheet.copy("A1:C1", "B1")
    assert sheet.values("A1:D1") == [[1, 1, 2, 3]]


def test_copy_beyond_the_edge():
    """What does not fit on the sheet cannot be copied there."""
    with pytest.raises(SheetError, match="does not fit"):
        sheet_of("1", "2").copy("A1:A2", "A9999")


def test_fixed_references_stay():
    """A dollar sign keeps a row or a column when a formula is filled in."""
    sheet = sheet_of("_ 2 3", "10 =$A2*B$1", "20")
    sheet.fill("B2", "B2:C3")
    assert sheet.values("B2:C3") == [[20, 30], [40, 60]]


def test_sort():
    """Rows are sorted by a column; all of an area goes along."""
    sheet = sheet_of("3 c", "1 a", "2 b")
    sheet.sort("A1:B3", "A")
    assert sheet.values("A1:B3") == [[1, "a"], [2, "b"], [3, "c"]]


def test_sort_descending_keeps_equal_rows():
    """Equal rows keep their order in both directions."""
    sheet = sheet_of("1 a", "2 b", "1 c", "2 d")
    sheet.sort("A1:B4", "A", descending=True)
    assert [row[1] for row in sheet.values("A1:B4")] == ["b", "d", "a", "c"]


@pytest.mark.parametrize(
    ("descending", "order"),
    [(False, [2, 10, "Apple", "pear", True, None]), (True, [True, "pear", "Apple", 10, 2, None])],
)
def test_sort_kinds(descending, order):
    """Numbers come before texts, texts before truth values; empty cells are always last."""
    sheet = sheet_of("pear", "_", "10", "TRUE", "2", "Apple")
    sheet.sort("A1:A6", "A", descending)
    assert [row[0] for row in sheet.values("A1:A6")] == order


def test_sort_takes_formulas_along():
    """A formula in a sorted row looks at the cells of its new row."""
    sheet = sheet_of("2 =A1*10", "1 =A2*10")
    sheet.sort("A1:B2", "A")
    assert (sheet["B1"], sheet.values("A1:B2")) == ("=A1 * 10", [[1, 10], [2, 20]])


def test_sort_by_a_column_outside():
    """The column by which an area is sorted has to cross it."""
    with pytest.raises(SheetError, match="does not cross"):
        sheet_of("1 2").sort("A1:B1", "C")


def test_insert_rows():
    """Formulas go on to look at the cells that moved down."""
    sheet = sheet_of("1", "2", "=A2+A1")
    sheet.insert_rows(2, 2)
    assert (sheet["A5"], sheet.value("A5"), sheet.value("A2")) == ("=A4 + A1", 3, None)


def test_insert_into_an_area():
    """An area grows when rows are put into it."""
    sheet = sheet_of("1", "2", "=SUM(A1:A2)")
    sheet.insert_rows(2)
    assert sheet["A4"] == "=SUM(A1:A3)"


def test_insert_at_the_first_row_of_an_area():
    """An area moves down when rows are put before its first one."""
    sheet = sheet_of("1", "2", "=SUM(A1:A2)")
    sheet.insert_rows(1)
    assert sheet["A4"] == "=SUM(A2:A3)"


def test_delete_rows():
    """A formula over an area shrinks when rows of it are deleted."""
    sheet = sheet_of("1", "2", "3", "=SUM(A1:A3)")
    sheet.delete_rows(1, 2)
    assert (sheet["A2"], sheet.value("A2")) == ("=SUM(A1:A1)", 3)


def test_delete_a_cell_that_is_needed():
    """A formula whose cell is deleted gives an error."""
    sheet = sheet_of("1", "=A1+1")
    sheet.delete_rows(1)
    assert (sheet["A1"], sheet.shown("A1")) == ("=#REF! + 1", "#REF!")


def test_delete_the_whole_area():
    """A formula whose area is deleted as a whole gives an error."""
    sheet = sheet_of("1", "2", "=SUM(A1:A2)")
    sheet.delete_rows(1, 2)
    assert sheet["A1"] == "=SUM(#REF!)"


def test_insert_and_delete_columns():
    """Columns are put in and taken out like rows."""
    sheet = sheet_of("1 2 =A1+B1")
    sheet.insert_columns("B")
    first = sheet["D1"]
    sheet.delete_columns("B")
    assert (first, sheet["C1"]) == ("=A1 + C1", "=A1 + B1")


def test_fixed_references_move_with_rows():
    """Dollar signs do not keep a reference when rows are put in, other than in copies."""
    sheet = sheet_of("1", "=$A$1")
    sheet.insert_rows(1)
    assert sheet["A3"] == "=$A$2"


def test_reversed_area_keeps_its_columns():
    """Only the lines that move are changed in an area."""
    sheet = sheet_of("=SUM(B2:C9)")
    sheet.insert_columns("C")
    assert sheet["A1"] == "=SUM(B2:D9)"


def test_formats_move():
    """The formats of cells move with them."""
    sheet = sheet_of("1", "2")
    sheet.formats["A2"] = "0.0"
    sheet.insert_rows(2)
    assert (sheet.shown("A3"), sheet.formats) == ("2.0", {"A3": "0.0"})


def test_rows_pushed_off():
    """Rows cannot be put in if filled cells would be pushed off the sheet."""
    sheet = sheet_of()
    sheet["A9999"] = "1"
    with pytest.raises(SheetError, match="pushed off"):
        sheet.insert_rows(1)
    assert sheet.value("A9999") == 1


@pytest.mark.parametrize(("first", "count"), [(0, 1), (1, 0), (1, -1), (10000, 1)])
def test_bad_lines(first, count):
    """The number of rows has to be positive, and the first one has to exist."""
    with pytest.raises(SheetError):
        sheet_of("1").insert_rows(first, count)


@pytest.mark.parametrize(
    ("pattern", "text"), [("0.00", "2.50"), ("0%", "250%"), ("#,##0.0#", "2.5")]
)
def test_shown_in_a_format(pattern, text):
    """A number is shown in the format of its cell."""
    sheet = sheet_of("2.5")
    sheet.formats["A1"] = pattern
    assert sheet.shown("A1") == text


def test_formats_leave_other_values():
    """Texts, truth values and errors are shown as they are."""
    sheet = sheet_of("tea TRUE =1/0")
    sheet.formats.update({"A1": "0.00", "B1": "0.00", "C1": "0.00", "D1": "0.00"})
    assert [sheet.shown(f"{letter}1") for letter in "ABCD"] == ["tea", "TRUE", "#DIV/0!", ""]
