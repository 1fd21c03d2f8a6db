"""Functions of arithmetic, statistics and dates."""

import pytest

from cellmill import Workbook

COLUMN = ["3", "1", "tea", "", "2", "TRUE", "3"]


def result(formula, column=COLUMN):
    """Return the value of a formula where a column of texts was typed into A1 and below."""
    book = Workbook()
    sheet = book.add("S")
    for row, text in enumerate(column, 1):
        sheet[f"A{row}"] = text
    value = book.evaluate(formula, "S")
    return value if isinstance(value, (int, float, str)) else str(value)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=SUM(A1:A7)", 9),
        ("=SUM(A1:A7, 1, TRUE)", 11),
        ('=SUM("2", 1)', 3),
        ('=SUM("x")', "#VALUE!"),
        ("=SUM(A3)", 0),
        ("=SUM(0.1, 0.2, 0.3)", 0.6),
        ("=PRODUCT(A1:A7)", 18),
        ("=PRODUCT(A3:A4)", 0),
        ("=SUMPRODUCT(A1:A2, A1:A2)", 10),
        ("=SUMPRODUCT(A1:A3, A5:A7)", 6),
        ("=SUMPRODUCT(A1:A2, A1:A3)", "#VALUE!"),
        ('=SUMIF(A1:A7, ">1")', 8),
        ("=SUMIF(A1:A7, 3)", 6),
        ('=SUMIF(A1:A3, "tea", A5:A7)', 3),
        ('=SUMIFS(A1:A7, A1:A7, ">1", A1:A7, "<3")', 2),
        ('=SUMIFS(A1:A7, A1:A6, ">1")', "#VALUE!"),
    ],
)
def test_sums(formula, value):
    """Sums and products pass over what is no number in an area."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=ROUND(2.5)", 3),
        ("=ROUND(-2.5)", -3),
        ("=ROUND(1.005, 2)", 1.01),
        ("=ROUND(1250, -2)", 1300),
        ("=ROUND(1.25, 5)", 1.25),
        ("=ROUNDUP(1.01)", 2),
        ("=ROUNDUP(-1.01)", -2),
        ("=ROUNDDOWN(1.99, 1)", 1.9),
        ("=ROUNDDOWN(-1.99)", -1),
        ("=INT(-1.5)", -2),
        ("=CEILING(7, 5)", 10),
        ("=CEILING(-7, 5)", -5),
        ("=CEILING(0.3, 0.1)", 0.3),
        ("=FLOOR(7, 5)", 5),
        ("=FLOOR(-7, 5)", -10),
        ("=FLOOR(1, 0)", 0),
        ("=MOD(7, 3)", 1),
        ("=MOD(-7, 3)", 2),
        ("=MOD(7, -3)", -2),
        ("=MOD(1, 0)", "#DIV/0!"),
        ("=QUOTIENT(-7, 2)", -3),
        ("=QUOTIENT(7, 0)", "#DIV/0!"),
    ],
)
def test_rounding(formula, value):
    """Numbers are rounded as they are written, halves away from zero."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=ABS(-2)", 2),
        ("=SIGN(-3) + SIGN(0)", -1),
        ("=POWER(2, 10)", 1024),
        ("=SQRT(16)", 4),
        ("=SQRT(0)", 0),
        ("=SQRT(-1)", "#NUM!"),
        ("=LN(EXP(2))", 2),
        ("=LOG(1000)", 3),
        ("=LOG(8, 2)", 3),
        ("=LOG(0)", "#NUM!"),
        ("=LOG(5, 1)", "#DIV/0!"),
        ("=EXP(1000)", "#NUM!"),
        ("=GCD(12, 18)", 6),
        ("=LCM(4, 6)", 12),
        ("=GCD(-4, 2)", "#NUM!"),
        ("=ABS(A1:A2)", "#VALUE!"),
    ],
)
def test_powers_and_logarithms(formula, value):
    """Powers, roots and logarithms give an error where there is no real result."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=COUNT(A1:A7)", 4),
        ('=COUNT(A1:A7, "5", "x", 1)', 6),
        ("=COUNTA(A1:A7)", 6),
        ("=COUNTBLANK(A1:A9)", 3),
        ("=COUNTIF(A1:A7, 3)", 2),
        ('=COUNTIF(A1:A7, "3")', 2),
        ('=COUNTIF(A1:A7, "<>3")', 5),
        ('=COUNTIF(A1:A7, "T*")', 1),
        ('=COUNTIF(A1:A7, "?e?")', 1),
        ('=COUNTIF(A1:A7, "t")', 0),
        ('=COUNTIF(A1:A7, "=")', 1),
        ("=COUNTIF(A1:A7, TRUE)", 1),
        ('=COUNTIF(A1:A7, ">a")', 1),
        ('=COUNTIFS(A1:A7, ">=2", A1:A7, "<=3")', 3),
        ("=COUNTIFS(A1:A7, 1, A1:A7)", "#VALUE!"),
    ],
)
def test_counting(formula, value):
    """Counting tells numbers, texts and empty cells apart."""
    assert result(formula) == value


def test_tilde_takes_the_meaning_of_a_star():
    """A tilde before a star makes it a plain character."""
    assert result('=COUNTIF(A1:A3, "a~*")', ["a*", "ab", "a"]) == 1


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=AVERAGE(A1:A7)", 2.25),
        ("=AVERAGE(A3)", "#DIV/0!"),
        ('=AVERAGEIF(A1:A7, ">1")', 8 / 3),
        ("=MIN(A1:A7)", 1),
        ("=MAX(A1:A7, 10)", 10),
        ("=MAX(A3)", 0),
        ("=MEDIAN(A1:A7)", 2.5),
        ("=MEDIAN(5, 1, 3)", 3),
        ("=PERCENTILE(A1:A7, 0)", 1),
        ("=PERCENTILE(A1:A7, 0.25)", 1.75),
        ("=PERCENTILE(A1:A7, 1.1)", "#NUM!"),
        ("=MODE(A1:A7)", 3),
        ("=MODE(1, 2)", "#N/A"),
        ("=LARGE(A1:A7, 2)", 3),
        ("=SMALL(A1:A7, 2)", 2),
        ("=SMALL(A1:A7, 5)", "#NUM!"),
        ("=RANK(3, A1:A7)", 1),
        ("=RANK(1, A1:A7)", 4),
        ("=RANK(3, A1:A7, 1)", 3),
        ("=RANK(9, A1:A7)", "#N/A"),
        ("=VAR(1, 2, 3, 4)", 5 / 3),
        ("=STDEV(1, 3)", 2**0.5),
        ("=STDEV(1)", "#DIV/0!"),
    ],
)
def test_statistics(formula, value):
    """Means, quantiles and ranks look at the numbers of an area only."""
    assert result(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=DATE(2024, 2, 29)", 45351),
        ("=DATE(2024, 2, 30)", 45352),
        ("=DATE(2023, 14, 1)", 45323),
        ("=DATE(2024, 1, 0)", 45291),
        ("=DATE(1899, 1, 1)", "#NUM!"),
        ("=YEAR(45351)", 2024),
        ("=MONTH(45351.9)", 2),
        ("=DAY(45351)", 29),
        ("=DAY(-1)", "#NUM!"),
        ("=WEEKDAY(DATE(2024, 2, 29))", 5),
        ("=WEEKDAY(DATE(2024, 2, 29), 2)", 4),
        ("=WEEKDAY(DATE(2024, 2, 29), 3)", 3),
        ("=WEEKDAY(1, 9)", "#NUM!"),
        ("=WEEKDAY(DATE(2024, 3, 3))", 1),
        ("=DAYS(DATE(2024, 3, 1), DATE(2024, 2, 1))", 29),
        ("=EDATE(DATE(2024, 1, 31), 1) - DATE(2024, 2, 29)", 0),
        ("=EDATE(DATE(2024, 1, 31), -2) - DATE(2023, 11, 30)", 0),
        ("=EOMONTH(DATE(2023, 2, 3), 0) - DATE(2023, 2, 28)", 0),
        ("=EOMONTH(DATE(2023, 12, 3), 2) - DATE(2024, 2, 29)", 0),
        ("=EDATE(1, 999999)", "#NUM!"),
    ],
)
def test_dates(formula, value):
    """Days are numbers; months that are too short end with their last day."""
    assert result(formula) == value
