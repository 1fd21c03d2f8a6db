"""CSV, tables and the command."""

import pytest

from cellmill import SheetError, Workbook, draw, dump_csv, load_csv
from cellmill.cli import run

BILL = "item,price,count,total\ntea,2.5,4,=B2*C2\nsalt,1,3,=B3*C3\n,,,=SUM(D2:D3)\n"


def loaded(text, **options):
    """Return a sheet with comma-separated values in it."""
    sheet = Workbook().add("S")
    load_csv(sheet, text, **options)
    return sheet


def test_load():
    """Fields become cells, formulas are computed."""
    assert loaded(BILL).values("A2:D2") == [["tea", 2.5, 4, 10]]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ["a", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        ('"say ""hi""",x', ['say "hi"', "x"]),
        ('"two\nlines",x', ["two\nlines", "x"]),
        (",x", [None, "x"]),
        ("x,", ["x", None]),
        ("x,\r\ny", ["x", None]),
        ('"",x', [None, "x"]),
    ],
)
def test_fields(text, values):
    """Fields in quotes may hold separators, line ends and doubled quotes."""
    assert loaded(text).values("A1:B1") == [values]


def test_line_ends():
    """All line ends are understood, and an empty line is an empty row."""
    assert loaded("1\r\n2\r\r3\n").values("A1:A4") == [[1], [2], [None], [3]]


@pytest.mark.parametrize(("separator", "text"), [(";", "1,5;2"), ("\t", "1,5\t2")])
def test_separators(separator, text):
    """Semicolons and tabs can separate fields."""
    assert loaded(text, separator=separator).values("A1:B1") == [["1,5", 2]]


def test_formulas_as_texts():
    """Formulas can be taken as texts, for files that one does not trust."""
    assert loaded("1,=A1", formulas=False).values("A1:B1") == [[1, "=A1"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [('a\n"b', "line 2: a quoted field is not closed"), ('"a"b', "line 1: unexpected 'b'")],
)
def test_malformed_fields(text, message):
    """Malformed quotes are refused with the number of the line."""
    with pytest.raises(SheetError, match=message):
        loaded(text)


def test_unknown_separator():
    """Only commas, semicolons and tabs separate fields."""
    with pytest.raises(SheetError, match="comma, a semicolon or a tab"):
        loaded("a|b", separator="|")


def test_dump_values():
    """A sheet is written as it is shown."""
    sheet = loaded(BILL)
    sheet.formats["D4"] = "0.00"
    assert dump_csv(sheet).splitlines()[1:] == ["tea,2.5,4,10", "salt,1,3,3", ",,,13.00"]


def test_dump_formulas():
    """A sheet is written with its formulas on request."""
    assert dump_csv(loaded(BILL), formulas=True).splitlines()[3] == ",,,=SUM(D2:D3)"


def test_dump_quotes():
    """Fields are put into quotes where they need them."""
    sheet = Workbook().add("S")
    sheet["A1"], sheet["B1"], sheet["C1"] = "a,b", 'say "hi"', "two\nlines"
    assert dump_csv(sheet) == '"a,b","say ""hi""","two\nlines"\n'


def test_dump_with_semicolons():
    """What needs quotes depends on the separator."""
    sheet = Workbook().add("S")
    sheet["A1"], sheet["B1"] = "a,b", "c;d"
    assert dump_csv(sheet, ";") == 'a,b;"c;d"\n'


def test_dump_begins_in_the_first_cell():
    """Empty rows and columns before the first value are written."""
    sheet = Workbook().add("S")
    sheet["B2"] = "x"
    assert dump_csv(sheet) == ",\n,x\n"


def test_dump_of_nothing():
    """An empty sheet is an empty text."""
    assert dump_csv(Workbook().add("S")) == ""


def test_what_was_dumped_can_be_loaded():
    """Formulas survive writing and reading."""
    text = dump_csv(loaded(BILL), formulas=True)
    assert dump_csv(loaded(text)) == dump_csv(loaded(BILL))


def test_draw():
    """A table has letters above, numbers at the left and numbers on the right of their column."""
    assert draw(loaded("tea,2.5\nx,10")) == (
        "  |  A  |  B\n--+-----+----\n1 | tea | 2.5\n2 | x   |  10\n"
    )


def test_draw_an_area():
    """Only a part of a sheet can be drawn."""
    assert draw(loaded("1,2,3\n4,5,6"), "B2:C2") == "  | B | C\n--+---+--\n2 | 5 | 6\n"


@pytest.mark.parametrize(("widest", "cell"), [(5, "long…"), (9, "long text"), (24, "long text")])
def test_draw_cuts_long_texts(widest, cell):
    """What is too long for a column ends in an ellipsis."""
    assert draw(loaded("long text"), widest=widest).splitlines()[2] == f"1 | {cell}"


def test_draw_needs_room():
    """A column needs at least three characters."""
    with pytest.raises(SheetError, match="at least 3"):
        draw(loaded("1"), widest=2)


def test_draw_nothing():
    """An empty sheet is drawn as an empty text."""
    assert draw(Workbook().add("S")) == ""


def test_command_show(tmp_path):
    """The command shows a file as a table."""
    path = tmp_path / "bill.csv"
    path.write_text("1,=A1+1\n")
    answer = run(["show", str(path)])
    assert (answer.code, answer.output.splitlines()[2]) == (0, "1 | 1 | 2")


@pytest.mark.parametrize(
    ("options", "output"),
    [(["--csv"], "1,2\n"), (["--csv", "--formulas"], "1,=A1 + 1\n")],
)
def test_command_csv(tmp_path, options, output):
    """The command writes values or formulas."""
    path = tmp_path / "bill.csv"
    path.write_text("1,=A1+1\n")
    assert run(["show", str(path), *options]) == (0, output)


@pytest.mark.parametrize(
    ("formula", "answer"), [("=SUM(A1:B1)", (0, "3\n")), ("=A1/0", (1, "#DIV/0!\n"))]
)
def test_command_calc(tmp_path, formula, answer):
    """The command computes a formula; an error value gives exit code 1."""
    path = tmp_path / "bill.csv"
    path.write_text("1,2\n")
    assert run(["calc", str(path), formula]) == answer


def test_command_trace(tmp_path):
    """The command shows what a cell is computed from."""
    path = tmp_path / "bill.csv"
    path.write_text("1;=A1+1\n")
    assert run(["--separator", ";", "trace", str(path), "B1", "--depth", "1"]) == (
        0,
        "B1: 2  =A1 + 1\n  A1: 1\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calc", "FILE", "=1+"], "error: expected a value, got the end at character 3\n"),
        (["trace", "FILE", "x"], "error: expected a cell such as B7, got 'x'\n"),
        (
            ["trace", "FILE", "A1", "--depth", "x"],
            "error: expected a number for --depth, got 'x'\n",
        ),
        (["show", "FILE", "--what"], "error: unknown option --what\n"),
        (["show", "FILE", "--area"], "error: --area needs a value\n"),
    ],
)
def test_command_with_errors(tmp_path, arguments, message):
    """What is wrong with a command is said in one line."""
    path = tmp_path / "bill.csv"
    path.write_text("1,2\n")
    words = [str(path) if word == "FILE" else word for word in arguments]
    assert run(words) == (2, message)


@pytest.mark.parametrize("arguments", [[], ["show"], ["eat", "x"], ["calc", "x"]])
def test_usage(arguments):
    """An incomplete command shows how it is used."""
    answer = run(arguments)
    assert (answer.code, answer.output.startswith("usage: cellmill show FILE")) == (2, True)


def test_missing_file(tmp_path):
    """A file that is not there is named in the error."""
    answer = run(["show", str(tmp_path / "gone.csv")])
    assert (answer.code, "gone.csv cannot be read" in answer.output) == (2, True)
