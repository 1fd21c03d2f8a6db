"""Workbooks: several sheets and names."""

import pytest

from cellmill import SheetError, Workbook, trace, users


def two_sheets():
    """Return a workbook in which the sheet Bill looks at the sheet Data."""
    book = Workbook()
    data, bill = book.add("Data"), book.add("Bill")
    data["A1"], data["A2"] = "2", "3"
    bill["A1"], bill["A2"] = "=Data!A1 * 10", "=SUM(data!A1:A2)"
    return book


def test_other_sheet():
    """A formula can look at another sheet, whose name may be written in any case."""
    assert two_sheets()["Bill"].values("A1:A2") == [[20], [5]]


def test_change_on_another_sheet():
    """A change is passed on to other sheets."""
    book = two_sheets()
    book["Data"]["A1"] = "7"
    assert book["Bill"].values("A1:A2") == [[70], [10]]


def test_same_address_on_two_sheets():
    """Cells of equal address on different sheets are not mixed up."""
    book = two_sheets()
    book["Bill"]["A1"] = "=Data!A1"
    assert book["Bill"].value("A1") == 2


def test_circle_over_two_sheets():
    """A circle may go through several sheets."""
    book = two_sheets()
    book["Data"]["A1"] = "=Bill!A1"
    assert (book["Data"].shown("A1"), book["Data"].shown("A2")) == ("#CYCLE!", "3")


def test_names_of_sheets():
    """Sheets come in the order in which they were added and are found in any case."""
    book = two_sheets()
    assert ([sheet.name for sheet in book], book["bILL"].name) == (["Data", "Bill"], "Bill")


def test_sheet_with_a_space():
    """A sheet whose name has a space is named in single quotes."""
    book = two_sheets()
    book.add("My list")["A1"] = "4"
    book["Bill"]["B1"] = "='My list'!A1 + 1"
    assert book["Bill"].value("B1") == 5


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a/b", "a:b", "[x]", "what?", "x*", "'a", "a'", "x" * 32]
)
def test_forbidden_names_of_sheets(name):
    """Names with characters that formulas need are refused."""
    with pytest.raises(SheetError):
        Workbook().add(name)


def test_name_is_taken():
    """Two sheets cannot have the same name, whatever the case."""
    with pytest.raises(SheetError, match="'Data' already"):
        two_sheets().add("DATA")


def test_no_such_sheet():
    """A sheet that does not exist is refused by its name."""
    with pytest.raises(SheetError, match="no sheet 'Nope'"):
        two_sheets()["Nope"]


def test_sheet_is_added_later():
    """A formula that looks at a missing sheet is computed once the sheet is there."""
    book = two_sheets()
    book["Bill"]["B1"] = "=Later!A1 + 1"
    before = book["Bill"].shown("B1")
    book.add("Later")["A1"] = "1"
    assert (before, book["Bill"].value("B1")) == ("#REF!", 2)


def test_rename():
    """Formulas follow a sheet that is given another name."""
    book = two_sheets()
    book.rename("Data", "New data")
    book["New data"]["A1"] = "5"
    assert (book["Bill"]["A1"], book["Bill"].value("A1")) == ("='New data'!A1 * 10", 50)


def test_rename_changes_case_only():
    """A name may be changed in its capitals only."""
    book = two_sheets()
    book.rename("Data", "DATA")
    assert ([sheet.name for sheet in book], book["Bill"].value("A1")) == (["DATA", "Bill"], 20)


def test_rename_to_a_taken_name():
    """A sheet cannot be given the name of another one."""
    with pytest.raises(SheetError, match="already"):
        two_sheets().rename("Data", "bill")


def test_remove():
    """Formulas that look at a removed sheet give an error."""
    book = two_sheets()
    book.remove("Data")
    assert (book["Bill"].shown("A1"), len(list(book))) == ("#REF!", 1)


def test_removed_sheet_is_dead():
    """A removed sheet cannot be typed into."""
    book = two_sheets()
    data = book["Data"]
    book.remove("Data")
    with pytest.raises(SheetError, match="taken out"):
        data["A1"] = "1"


def test_rows_on_another_sheet():
    """Formulas on other sheets follow rows that are put in, their own cells stay."""
    book = two_sheets()
    book["Data"].insert_rows(1)
    assert (book["Bill"]["A1"], book["Bill"]["A2"]) == ("=Data!A2 * 10", "=SUM(data!A2:A3)")


def test_rows_on_the_own_sheet():
    """Rows put into a sheet do not change formulas that look elsewhere."""
    book = two_sheets()
    book["Bill"].insert_rows(1)
    assert (book["Bill"]["A2"], book["Bill"].value("A2")) == ("=Data!A1 * 10", 20)


def test_defined_name():
    """A name stands for an area on any sheet, and is found in any case."""
    book = two_sheets()
    book.define("prices", "Data!A1:A2")
    book["Bill"]["B1"] = "=SUM(Prices) * 2"
    assert book["Bill"].value("B1") == 10


def test_name_is_defined_later():
    """A formula with an unknown name is computed once the name is defined."""
    book = two_sheets()
    book["Bill"]["B1"] = "=rate * 2"
    before = book["Bill"].shown("B1")
    book.define("rate", "Data!A2")
    assert (before, book["Bill"].value("B1")) == ("#NAME?", 6)


def test_name_follows_its_cells():
    """The area of a name is changed by rows that are put in or taken out."""
    book = two_sheets()
    book.define("prices", "Data!A1:A2")
    book["Data"].insert_rows(2)
    grown = book.names()
    book["Data"].delete_rows(1, 3)
    assert (grown, book.names()) == ({"prices": "Data!A1:A3"}, {})


def test_name_follows_its_sheet():
    """The area of a name follows a sheet that is renamed."""
    book = two_sheets()
    book.define("prices", "Data!A1:A2")
    book.rename("Data", "Costs")
    assert (book.names(), book.evaluate("=SUM(prices)", "Bill")) == ({"prices": "Costs!A1:A2"}, 5)


def test_name_goes_with_its_sheet():
    """A name is gone when its sheet is removed."""
    book = two_sheets()
    book.define("prices", "Data!A1")
    book.remove("Data")
    assert (book.names(), str(book.evaluate("=prices", "Bill"))) == ({}, "#NAME?")


@pytest.mark.parametrize("name", ["", "1st", "a b", "A1", "true", "x-y"])
def test_forbidden_names(name):
    """A name must not look like a cell, a truth value or something else in a formula."""
    with pytest.raises(SheetError, match="cannot be a name"):
        two_sheets().define(name, "Data!A1")


@pytest.mark.parametrize("reference", ["A1", "=Data!A1 + 1", "5"])
def test_name_for_something_else(reference):
    """A name can stand for an area with its sheet only."""
    with pytest.raises(SheetError, match="area with its sheet"):
        two_sheets().define("x", reference)


def test_evaluate_leaves_no_trace():
    """A formula can be computed without a cell."""
    book = two_sheets()
    assert (book.evaluate("=A1 + A2", "Data"), len(book["Data"].cells())) == (5, 2)


def test_trace():
    """A trace shows a cell, and indented what it is computed from."""
    book = two_sheets()
    bill = book["Bill"]
    bill["B1"] = "=A1 + A2"
    assert trace(book, "Bill", "B1") == (
        "B1: 25  =A1 + A2\n"
        "  A1: 20  =Data!A1 * 10\n"
        "    Data!A1: 2\n"
        "  A2: 5  =SUM(data!A1:A2)\n"
        "    Data!A1: 2 (above)\n"
        "    Data!A2: 3\n"
    )


@pytest.mark.parametrize(("depth", "lines"), [(0, 1), (1, 3), (2, 6)])
def test_depth_of_a_trace(depth, lines):
    """A trace goes down as far as is asked for."""
    book = two_sheets()
    book["Bill"]["B1"] = "=A1 + A2"
    assert len(trace(book, "Bill", "B1", depth).splitlines()) == lines


def test_trace_of_a_circle():
    """The trace of a circle ends where it began."""
    book = Workbook()
    sheet = book.add("S")
    sheet["A1"], sheet["A2"] = "=A2", "=A1"
    assert trace(book, "S", "A1", 9).splitlines()[-1] == "    A1: #CYCLE!  =A2 (above)"


def test_users():
    """One can ask which formulas look at a cell."""
    book = two_sheets()
    book["Data"]["B1"] = "=A1"
    assert users(book, "Data", "A1") == ["Bill!A1", "Bill!A2", "B1"]
