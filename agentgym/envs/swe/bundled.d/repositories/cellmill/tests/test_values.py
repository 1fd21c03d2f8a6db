"""What is typed, how numbers are shown, how values compare."""

import pytest

from cellmill import SpreadsheetError, Workbook, format_number


def typed(text):
    """Return the value of a cell into which a text is typed."""
    sheet = Workbook().add("S")
    sheet["A1"] = text
    return sheet.value("A1")


def shown(formula):
    """Return how the result of a formula is shown."""
    sheet = Workbook().add("S")
    sheet["A1"] = formula
    return sheet.shown("A1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1.50", -1.5),
        ("+3", 3),
        (".5", 0.5),
        ("1,234.5", 1234.5),
        ("1,234,567", 1234567),
        ("12%", 0.12),
        ("1e3", 1000),
        (" 7 ", 7),
        ("1,23", "1,23"),
        ("12 tea", "12 tea"),
        ("-", "-"),
        (".", "."),
        ("e5", "e5"),
        ("1e999", "1e999"),
        ("nan", "nan"),
        ("true", True),
        ("FALSE", False),
        ("'12", "12"),
        ("'=A1", "=A1"),
        (" tea ", " tea "),
        ("   ", None),
        ("", None),
    ],
)
def test_typed(text, value):
    """A typed text becomes a number or a truth value where it reads as one, else a text."""
    assert typed(text) == value


def test_typed_error():
    """The name of an error is that error."""
    assert str(typed("#n/a")) == "#N/A"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("=1/3", "0.3333333333"),
        ("=0.1 + 0.2", "0.3"),
        ("=1/4", "0.25"),
        ("=10^15", "1E+15"),
        ("=123456789012", "123456789012"),
        ("=1/10^7", "1E-7"),
        ("=-2/3*10^-9", "-6.666666667E-10"),
        ("=1=1", "TRUE"),
        ("=1/0", "#DIV/0!"),
        ('=""', ""),
    ],
)
def test_shown_without_format(formula, text):
    """Without a format, numbers have at most ten digits and very large or small ones a power."""
    assert shown(formula) == text


@pytest.mark.parametrize(
    ("number", "pattern", "text"),
    [
        (1234.5, "0.00", "1234.50"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234567, "#,##0", "1,234,567"),
        (999, "#,##0", "999"),
        (0.5, "#.##", ".5"),
        (0, "#", ""),
        (0.5, "0.0#", "0.5"),
        (0.125, "0.0#", "0.13"),
        (2.5, "0", "3"),
        (-2.5, "0", "-3"),
        (1.005, "0.00", "1.01"),
        (7, "000", "007"),
        (0.125, "0%", "13%"),
        (0.125, "0.0%", "12.5%"),
        (5, "0 €", "5 €"),
        (5, '"no. "0', "no. 5"),
        (5, '0" 0"', "5 0"),
        (-5, "0.0", "-5.0"),
        (-0.001, "0.00", "0.00"),
        (-5, "0;(0)", "(5)"),
        (5, "0;(0)", "5"),
        (0, '0;(0);"none"', "none"),
        (-5, '0;(0);"none"', "(5)"),
        (0, "0;(0)", "0"),
        (3, '"yes"', "yes"),
        (1, '0";"', "1;"),
        (1e22, "0", "10000000000000000000000"),
    ],
)
def test_number_format(number, pattern, text):
    """A format says how many digits there are, and what stands around them."""
    assert format_number(number, pattern) == text


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("0;0;0;0", "at most three sections"),
        ('"a', "quotes"),
        ("0 x 0", "one place only"),
        ("0#", "outside of 0"),
        ("0.#0", "outside of 0"),
    ],
)
def test_malformed_format(pattern, message):
    """A malformed format is refused."""
    with pytest.raises(SpreadsheetError, match=message):
        format_number(1, pattern)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1 < 2", True),
        ("=2 <= 2", True),
        ("=2 <> 2", False),
        ("=3 >= 4", False),
        ('="a" = "A"', True),
        ('="a" < "B"', True),
        ('=9 < "1"', True),
        ('="z" < FALSE', True),
        ("=A1 = 0", True),
        ('=A1 = ""', True),
        ("=A1 = FALSE", True),
        ("=A1 < 1", True),
        ("=1 = TRUE", False),
        ("=0.1 + 0.2 > 0.3", True),
    ],
)
def test_comparison(formula, value):
    """Numbers come before texts, texts before truth values; capitals do not matter."""
    book = Workbook()
    book.add("S")
    assert book.evaluate(formula, "S") == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('="3" + 1', 4),
        ('="50%" * 2', 1),
        ("=TRUE + 1", 2),
        ("=A1 + 1", 1),
        ('="x" + 1', "#VALUE!"),
        ("=A1 & 1", "1"),
        ("=TRUE & 1.5", "TRUE1.5"),
        ("=A1", 0),
        ('=-"2"', -2),
    ],
)
def test_conversion(formula, value):
    """Texts that read as numbers count as numbers, truth values as 1 and 0, empty cells as 0."""
    book = Workbook()
    book.add("S")
    found = book.evaluate(formula, "S")
    assert (str(found) if value == "#VALUE!" else found) == value


@pytest.mark.parametrize(
    ("formula", "error"),
    [
        ("=1/0", "#DIV/0!"),
        ("=0^0", "#NUM!"),
        ("=0^-1", "#DIV/0!"),
        ("=(-8)^0.5", "#NUM!"),
        ("=10^400", "#NUM!"),
        ("=1e308*10", "#NUM!"),
        ("=nothing", "#NAME?"),
        ("=NOSUCH(1)", "#NAME?"),
        ("=Other!A1", "#REF!"),
        ("=B1:B2 + 1", "#VALUE!"),
        ("=B1:B2", "#VALUE!"),
        ("=1 + #N/A", "#N/A"),
        ("=#REF! & 1/0", "#REF!"),
    ],
)
def test_error_values(formula, error):
    """What cannot be computed gives an error value; the first one spreads."""
    assert shown(formula) == error
