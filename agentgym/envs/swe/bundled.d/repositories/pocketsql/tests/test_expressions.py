"""Values, operators and functions."""

import pytest

from pocketsql import Database, DataError, ParseError, SchemaError


def value(expression, *parameters):
    """Return the value of an expression."""
    return Database().execute(f"SELECT {expression}", parameters).value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7.0 / 2", 3.5),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("7.5 % 2", 1.5),
        ("2 - 3 - 4", -5),
        ("- -3", 3),
        ("1 + 0.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1 + NULL", None),
        ("-NULL", None),
    ],
)
def test_arithmetic(expression, result):
    """Whole numbers stay whole and are divided towards zero; NULL makes everything NULL."""
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / 0", "division by zero"),
        ("1.5 % 0", "division by zero"),
        ("9223372036854775807 + 1", "integer out of range"),
        ("1e308 * 10", "number out of range"),
        ("'a' + 1", "needs numbers, got TEXT"),
        ("-TRUE", "needs numbers, got BOOLEAN"),
        ("1 AND TRUE", "AND has to be BOOLEAN, got INTEGER"),
        ("NOT 'x'", "NOT has to be BOOLEAN, got TEXT"),
        ("1 = 'a'", "cannot compare INTEGER with TEXT"),
        ("TRUE > 1", "cannot compare BOOLEAN with INTEGER"),
        ("1 LIKE 'a'", "LIKE needs texts"),
        ("'a' LIKE 'a' ESCAPE 'xx'", "ESCAPE needs one character"),
        ("'a' LIKE 'a!' ESCAPE '!'", "ends with its escape"),
    ],
)
def test_wrong_values(expression, message):
    """Values of the wrong type or out of range are refused, and the message says why."""
    with pytest.raises(DataError, match=message):
        value(expression)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 < 2", True),
        ("1 = 1.0", True),
        ("'a' < 'b'", True),
        ("'B' < 'a'", True),
        ("2 <> 2", False),
        ("2 != 3", True),
        ("NULL = NULL", None),
        ("1 < NULL", None),
        ("FALSE < TRUE", True),
        ("NULL IS NULL", True),
        ("1 IS NOT NULL", True),
        ("2 BETWEEN 1 AND 2", True),
        ("2 NOT BETWEEN 1 AND 2", False),
        ("2 BETWEEN 3 AND 1", False),
        ("2 BETWEEN NULL AND 1", False),
        ("2 BETWEEN NULL AND 3", None),
    ],
)
def test_comparison(expression, result):
    """Values of one kind can be compared; a comparison with NULL is NULL."""
    assert value(expression) is result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("TRUE AND NULL", None),
        ("NULL AND FALSE", False),
        ("TRUE OR NULL", True),
        ("NULL OR FALSE", None),
        ("NOT NULL", None),
        ("NOT FALSE", True),
        ("FALSE AND 1 / 0 = 1", False),
        ("TRUE OR 1 / 0 = 1", True),
        ("FALSE OR TRUE AND FALSE", False),
        ("NOT TRUE OR TRUE", True),
        ("NOT 1 = 2", True),
    ],
)
def test_three_valued_logic(expression, result):
    """NULL means unknown in AND, OR and NOT; what decides nothing is not computed."""
    assert value(expression) is result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 IN (1, 2)", True),
        ("3 IN (1, 2)", False),
        ("3 IN (1, NULL)", None),
        ("1 IN (1, NULL)", True),
        ("NULL IN (1)", None),
        ("3 NOT IN (1, 2)", True),
        ("3 NOT IN (1, NULL)", None),
    ],
)
def test_membership(expression, result):
    """IN is unknown if the value is not found but NULL is in the list."""
    assert value(expression) is result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'bread' LIKE 'b%'", True),
        ("'bread' LIKE 'B%'", False),
        ("'bread' LIKE '_read'", True),
        ("'bread' LIKE 'read'", False),
        ("'bread' NOT LIKE '%x%'", True),
        ("'a.c' LIKE 'a.c'", True),
        ("'abc' LIKE 'a.c'", False),
        ("'10%' LIKE '10!%' ESCAPE '!'", True),
        ("'100' LIKE '10!%' ESCAPE '!'", False),
        ("NULL LIKE 'a'", None),
        ("'two\nlines' LIKE 'two%lines'", True),
    ],
)
def test_patterns(expression, result):
    """A percent sign stands for anything, an underscore for one character."""
    assert value(expression) is result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("'a' || 'b'", "ab"),
        ("'n' || 1 + 2", "n3"),
        ("'a' || NULL", None),
        ("TRUE || ''", "true"),
        ("'it''s'", "it's"),
        ("''", ""),
    ],
)
def test_texts(expression, result):
    """Texts are joined by two bars; a doubled quote stands for one."""
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' ELSE 'c' END", "b"),
        ("CASE WHEN NULL THEN 'a' ELSE 'c' END", "c"),
        ("CASE WHEN FALSE THEN 'a' END", None),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"),
        ("CASE NULL WHEN NULL THEN 'a' ELSE 'b' END", "b"),
        ("CASE WHEN TRUE THEN 1 ELSE 1 / 0 END", 1),
    ],
)
def test_case(expression, result):
    """CASE gives what follows the first condition that is true."""
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("CAST('12' AS INTEGER)", 12),
        ("CAST(' -3.9 ' AS INT)", -3),
        ("CAST(3.9 AS INTEGER)", 3),
        ("CAST('1e2' AS REAL)", 100.0),
        ("CAST(3 AS TEXT)", "3"),
        ("CAST(0 AS BOOLEAN)", False),
        ("CAST('Yes' AS BOOL)", True),
        ("CAST(TRUE AS INTEGER)", 1),
        ("CAST(NULL AS INTEGER)", None),
    ],
)
def test_cast(expression, result):
    """CAST converts between types; numbers are cut towards zero."""
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("CAST('x' AS INTEGER)", "'x' is no number"),
        ("CAST('1_0' AS REAL)", "'1_0' is no number"),
        ("CAST('maybe' AS BOOLEAN)", "no truth value"),
        ("CAST(1e300 AS INTEGER)", "integer out of range"),
    ],
)
def test_impossible_cast(expression, message):
    """What cannot be converted is refused."""
    with pytest.raises(DataError, match=message):
        value(expression)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("ABS(-3)", 3),
        ("ROUND(2.5)", 3.0),
        ("ROUND(-2.5)", -3.0),
        ("ROUND(1.005, 2)", 1.01),
        ("ROUND(1250, -2)", 1300),
        ("FLOOR(-1.5)", -2),
        ("CEIL(1.2)", 2),
        ("SIGN(-0.5)", -1),
        ("POWER(2, 3)", 8.0),
        ("LENGTH('tea')", 3),
        ("UPPER('a') || LOWER('B')", "Ab"),
        ("TRIM('  a ')", "a"),
        ("SUBSTR('bread', 2, 3)", "rea"),
        ("SUBSTR('bread', 3)", "ead"),
        ("SUBSTR('bread', 0, 2)", "b"),
        ("SUBSTR('bread', -5, 2)", ""),
        ("REPLACE('a-b', '-', '+')", "a+b"),
        ("REPLACE('ab', '', '+')", "ab"),
        ("INSTR('bread', 'ea')", 3),
        ("INSTR('bread', 'x')", 0),
        ("COALESCE(NULL, 2, 1 / 1)", 2),
        ("NULLIF(1, 1)", None),
        ("NULLIF(1, 2)", 1),
        ("GREATEST(1, NULL, 3)", 3),
        ("LEAST('b', 'a')", "a"),
        ("CONCAT('a', NULL, 1)", "a1"),
        ("LENGTH(NULL)", None),
    ],
)
def test_functions(expression, result):
    """Functions of values give NULL for NULL, except those that are made for it."""
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("NOPE(1)", "no function NOPE"),
        ("ABS(1, 2)", "ABS does not take 2 arguments"),
        ("ABS(*)", "ABS is no function of groups"),
        ("ABS(DISTINCT 1)", "ABS is no function of groups"),
        ("x + 1", "no column x"),
        ("t.x", "no column t.x"),
    ],
)
def test_unknown_names(expression, message):
    """Functions and columns that are not there are named in the error."""
    with pytest.raises(SchemaError, match=message):
        value(expression)


@pytest.mark.parametrize(
    "expression", ["LENGTH(1)", "ROUND(1, 'a')", "SUBSTR('a', 1, -1)", "POWER(-8, 0.5)"]
)
def test_wrong_arguments(expression):
    """Functions refuse arguments that they cannot use."""
    with pytest.raises(DataError):
        value(expression)


def test_parameters():
    """Question marks are replaced by values from left to right."""
    assert value("? || '-' || ?", "a'b", 2) == "a'b-2"


def test_missing_parameter():
    """A question mark without a value is refused."""
    with pytest.raises(DataError, match="parameter 2 is not given"):
        value("? + ?", 1)


@pytest.mark.parametrize("parameter", [[1], 2**63, float("inf"), float("nan")])
def test_bad_parameter(parameter):
    """Values that no column can hold are no parameters."""
    with pytest.raises(DataError):
        value("?", parameter)


@pytest.mark.parametrize(
    ("sql", "line", "column", "message"),
    [
        ("SELECT 1 +", 1, 11, "expected a value, got the end"),
        ("SELECT\n  1 1", 2, 5, "unexpected '1'"),
        ("SELECT 'a", 1, 8, "the text is not closed"),
        ('SELECT "a', 1, 8, "the name in quotes"),
        ("SELECT 1 /* x", 1, 10, "comment is not closed"),
        ("SELECT 1 # 2", 1, 10, "unexpected '#'"),
        ("SELECT 1 NOT 2", 1, 14, "expected BETWEEN, LIKE or IN, got '2'"),
        ("SELECT CASE END", 1, 13, "expected a value, got 'end'"),
        ("SELECT CASE 1 END", 1, 15, "expected WHEN, got 'end'"),
        ("SELECT CAST(1 AS thing)", 1, 18, "unknown type 'thing'"),
        ("SELECT 9223372036854775808", 1, 8, "too large"),
        ("SELECT 1e999", 1, 8, "too large"),
        ("SELECT * FROM", 1, 14, "expected a table, got the end"),
        ("SELECT 1 WHERE", 1, 15, "expected a value"),
        ("SELECT 1 IN ()", 1, 14, "expected a value, got '\\)'"),
        ("FETCH x", 1, 1, "expected a statement, got 'fetch'"),
        ("", 1, 1, "expected a statement, got the end"),
        ("SELECT 1 ORDER 2", 1, 16, "expected BY, got '2'"),
        ("SELECT 1 ORDER BY 1 NULLS 2", 1, 27, "expected FIRST or LAST, got '2'"),
        ("SELECT a FROM t JOIN u", 1, 23, "expected ON, got the end"),
        ("SELECT a FROM (SELECT 1)", 1, 25, "expected a name for the subquery"),
        ("SELECT 1; SELECT 2", 1, 11, "unexpected 'select'"),
    ],
)
def test_what_is_no_sql(sql, line, column, message):
    """What cannot be read is refused, with line and column."""
    with pytest.raises(ParseError, match=message) as caught:
        Database().execute(sql)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 300 + "1" + ")" * 300,
        "SELECT " + "- " * 300 + "1",
        "SELECT " + "NOT " * 300 + "TRUE",
        "SELECT 1" + " + 1" * 300,
        "SELECT " + "(SELECT " * 100 + "1" + ")" * 100,
        "SELECT 1" + " UNION SELECT 1" * 300,
    ],
)
def test_endless_nesting(sql):
    """What is nested without bound is refused and does not crash."""
    with pytest.raises(ParseError, match="too"):
        Database().execute(sql)


def test_comments():
    """Comments are passed over."""
    assert value("1 -- one\n + /* two\nlines */ 2") == 3
