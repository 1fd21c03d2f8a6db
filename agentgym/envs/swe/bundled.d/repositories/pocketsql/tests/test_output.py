"""Results as text, and the command."""

import pytest

from pocketsql import Database, expression_text, parse_statement, to_csv, to_table
from pocketsql.cli import run


def result(sql):
    """Return the result of a query."""
    return Database().execute(sql)


def test_table():
    """A table has labels, a line, texts on the left and numbers on the right."""
    sql = "SELECT 'tea' AS name, 10 AS price UNION ALL SELECT 'x', 5"
    assert to_table(result(sql)) == ("name | price\n-----+------\ntea  |    10\nx    |     5\n")


@pytest.mark.parametrize(
    ("expression", "cell"),
    [("NULL", "-"), ("TRUE", "true"), ("1.50", "1.5"), ("'a\nb'", "a\\nb"), ("''", "")],
)
def test_table_cells(expression, cell):
    """NULL is a dash, and a cell never has more than one line."""
    assert to_table(result(f"SELECT {expression} AS a")).split("\n")[2] == cell


@pytest.mark.parametrize(("count", "text"), [(1, "1 row changed\n"), (2, "2 rows changed\n")])
def test_table_of_a_change(count, text):
    """A change says how many rows it concerned."""
    db = Database()
    db.execute("CREATE TABLE t (a INTEGER)")
    marks = ", ".join(["(1)"] * count)
    assert to_table(db.execute(f"INSERT INTO t VALUES {marks}")) == text


@pytest.mark.parametrize(
    ("items", "line"),
    [
        ("1, 'a', TRUE", "1,a,true"),
        ("NULL, ''", ',""'),
        ("'a,b', 'say \"hi\"'", '"a,b","say ""hi"""'),
        ("'a\nb' AS t", '"a\nb"'),
    ],
)
def test_csv(items, line):
    """Values with commas, quotes or line ends are put into quotes; NULL is empty."""
    assert to_csv(result(f"SELECT {items}")).split("\n", 1)[1] == line + "\n"


def test_csv_heading():
    """The first line holds the labels."""
    assert to_csv(result('SELECT 1 AS a, 2 AS "b,c"')) == 'a,"b,c"\n1,2\n'


def test_csv_of_a_change():
    """A change has no comma-separated values."""
    assert to_csv(result("CREATE TABLE t (a TEXT)")) == ""


def text_of(expression):
    """Return an expression as it is written again."""
    return expression_text(parse_statement(f"SELECT {expression}").body.items[0].expression)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("((a))+b*c", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a AND b) OR c", "a AND b OR c"),
        ("a AND (b OR c)", "a AND (b OR c)"),
        ("NOT (a AND b)", "NOT (a AND b)"),
        ("(a = b) = c", "(a = b) = c"),
        ("-(a+b)", "-(a + b)"),
        ("-(-a)", "- -a"),
        ("a not like 'x' escape '!'", "a NOT LIKE 'x' ESCAPE '!'"),
        ("a between 1 and b+1", "a BETWEEN 1 AND b + 1"),
        ("(a || b) || c", "a || b || c"),
        ("(a is null) is not null", "(a IS NULL) IS NOT NULL"),
        ("cast(a as int)", "CAST(a AS INTEGER)"),
        ("a in (select 1)", "a IN (...)"),
        ("exists (select 1)", "EXISTS (...)"),
        ("case a when 1 then null else true end", "CASE a WHEN 1 THEN NULL ELSE TRUE END"),
        ("count(distinct t.a)", "COUNT(DISTINCT t.a)"),
        ("(not a) = b", "(NOT a) = b"),
        ("1.50 + ?", "1.5 + ?"),
    ],
)
def test_expression_text(expression, text):
    """An expression is written with no brackets that it does not need."""
    assert text_of(expression) == text


def test_command(tmp_path):
    """The command prints what the queries of a script give."""
    path = tmp_path / "a.sql"
    path.write_text("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'); SELECT * FROM t;")
    assert run([str(path)]) == (0, "0 rows changed\n\n1 row changed\n\na\n-\nx\n")


def test_command_quiet_csv(tmp_path):
    """Options leave out changes and write comma-separated values."""
    path = tmp_path / "a.sql"
    path.write_text("CREATE TABLE t (a TEXT); SELECT 1 AS b; SELECT 2 AS c")
    assert run(["--quiet", "--csv", str(path)]) == (0, "b\n1\n\nc\n2\n")


def test_command_with_several_files(tmp_path):
    """Scripts run one after the other in one database."""
    first, second = tmp_path / "a.sql", tmp_path / "b.sql"
    first.write_text("CREATE TABLE t (a TEXT)")
    second.write_text("SELECT COUNT(*) AS n FROM t")
    assert run([str(first), str(second), "--quiet"]) == (0, "n\n-\n0\n")


def test_command_that_fails(tmp_path):
    """The command names the file and the place of an error."""
    path = tmp_path / "a.sql"
    path.write_text("SELECT 1;\nSELECT +")
    answer = run([str(path)])
    assert (answer.code, "a.sql: line 2, column 9: expected a value" in answer.output) == (1, True)


@pytest.mark.parametrize("arguments", [[], ["--csv"], ["--nope", "x.sql"]])
def test_usage(arguments):
    """A command without files, or with unknown options, shows how it is used."""
    assert run(arguments) == (2, "usage: pocketsql [--csv] [--quiet] FILE.sql ...\n")


def test_missing_file(tmp_path):
    """A file that is not there is named."""
    answer = run([str(tmp_path / "gone.sql")])
    assert (answer.code, "gone.sql cannot be read" in answer.output) == (2, True)
