"""Reading and writing formulas."""

import pytest

from cellmill import FormulaError, Workbook, formula_text, moved_formula, parse


def computed(formula):
    """Return the value of a formula on an empty sheet."""
    book = Workbook()
    book.add("S")
    return book.evaluate(formula, "S")


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1 + 2 * 3", 7),
        ("=(1 + 2) * 3", 9),
        ("=2 ^ 3 ^ 2", 64),
        ("=-2 ^ 2", 4),
        ("=10 - 4 - 3", 3),
        ("=16 / 4 / 2", 2),
        ("=50%", 0.5),
        ("=200% ^ 2", 4),
        ("=1 + 2 & 3", "33"),
        ('="a" & "b" = "ab"', True),
        ("=--3", 3),
        ("=+-+3", -3),
        ("=1 < 2 = TRUE", True),
    ],
)
def test_which_operator_comes_first(formula, value):
    """Operators bind as in other spreadsheets; equal ones are taken from the left."""
    assert computed(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"),
    [("=.5", 0.5), ("=1.", 1), ("=1.5e2", 150), ("=2E-1", 0.2), ("=007", 7), ("=1.0", 1)],
)
def test_numbers(formula, value):
    """Numbers may begin or end with a point and have an exponent."""
    assert computed(formula) == value


@pytest.mark.parametrize(
    ("formula", "value"), [('="a b"', "a b"), ('=""', ""), ('="say ""hi"""', 'say "hi"')]
)
def test_texts(formula, value):
    """A doubled quote in a text stands for one quote."""
    assert computed(formula) == value


def test_truth_values_in_any_case():
    """Truth values may be written in small letters."""
    assert (computed("=true"), computed("=False")) == (True, False)


def test_functions_in_any_case():
    """Functions may be written in small letters."""
    assert computed("=sum(1, 2; 3)") == 6


def test_equals_sign_may_be_missing():
    """A formula can be read without its equals sign."""
    assert parse("1 + 2") == parse("=1+2")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("=1+2*3", "=1 + 2 * 3"),
        ("=(1+2)*3", "=(1 + 2) * 3"),
        ("=1-(2-3)", "=1 - (2 - 3)"),
        ("=(1-2)-3", "=1 - 2 - 3"),
        ("=2^(3^2)", "=2^(3^2)"),
        ("=(2^3)^2", "=2^3^2"),
        ("=-(1+2)", "=-(1 + 2)"),
        ("=(-2)^2", "=-2^2"),
        ("=-(2^2)", "=-(2^2)"),
        ("=(1+2)%", "=(1 + 2)%"),
        ("=sum( a1:b2 ,3 )", "=SUM(A1:B2, 3)"),
        ("=if(a1,,2)", "=IF(A1, , 2)"),
        ('="a""b"', '="a""b"'),
        ("=$a$1:b$2", "=$A$1:B$2"),
        ("=data!a1", "=data!A1"),
        ("='My data'!a1:a2", "='My data'!A1:A2"),
        ("='it''s'!a1", "='it''s'!A1"),
        ("='plain'!a1", "=plain!A1"),
        ("=#N/A", "=#N/A"),
        ("=true", "=TRUE"),
        ("=0.1", "=0.1"),
        ("=rate*2", "=rate * 2"),
    ],
)
def test_formula_is_written_with_few_brackets(formula, text):
    """A formula is written evenly, in capitals, and without brackets that it does not need."""
    assert formula_text(parse(formula)) == text


def test_long_number_is_kept():
    """No digit of a number in a formula is lost."""
    assert formula_text(parse("=3.14159265358979")) == "=3.14159265358979"


@pytest.mark.parametrize(
    ("formula", "place"),
    [
        ("=", 1),
        ("=1 +", 4),
        ("=(1", 3),
        ("=1)", 2),
        ("=1 2", 3),
        ('="a', 1),
        ("=SUM(1", 6),
        ("=A1:", 4),
        ("=A1:B", 4),
        ("=S!", 3),
        ("=S!SUM(1)", 3),
        ("=1 ? 2", 3),
        ("=ZZZ1", 1),
        ("=A0", 1),
        ("=* 2", 1),
        ("=1,2", 2),
        ("=#n/a", 1),
    ],
)
def test_what_is_no_formula(formula, place):
    """What is no formula is refused, and the error says at which character."""
    with pytest.raises(FormulaError, match=f"at character {place}$"):
        parse(formula)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("=ABS()", "ABS takes 1 argument, got 0"),
        ("=ABS(1, 2)", "ABS takes 1 argument, got 2"),
        ("=MOD(1)", "MOD takes 2 arguments, got 1"),
        ("=IF(1)", "IF takes 2 to 3 arguments, got 1"),
        ("=LEFT()", "LEFT takes 1 to 2 arguments, got 0"),
        ("=SUM()", "SUM takes at least 1 argument, got 0"),
        ("=TEXTJOIN(1)", "TEXTJOIN takes at least 3 arguments, got 1"),
    ],
)
def test_number_of_arguments(formula, message):
    """A function with too few or too many arguments is refused when it is entered."""
    with pytest.raises(FormulaError, match=message):
        parse(formula)


def test_deep_brackets_are_refused():
    """A formula that is nested without bound is refused and does not crash."""
    with pytest.raises(FormulaError, match="nested too deeply"):
        parse("=" + "(" * 500 + "1" + ")" * 500)


@pytest.mark.parametrize("formula", ["=" + "-" * 500 + "1", "=1" + "%" * 500, "=1" + "+1" * 500])
def test_endless_operators_are_refused(formula):
    """A formula with very many operators is refused."""
    with pytest.raises(FormulaError, match="nested too deeply"):
        parse(formula)


def test_hundred_terms():
    """A sum of a hundred terms is no problem."""
    assert computed("=1" + "+1" * 99) == 100


@pytest.mark.parametrize(
    ("formula", "rows", "columns", "moved"),
    [
        ("=A1", 1, 1, "=B2"),
        ("=$A1 + A$1", 2, 3, "=$A3 + D$1"),
        ("=SUM(A1:B2)", 0, 1, "=SUM(B1:C2)"),
        ("=A1", -1, 0, "=#REF!"),
        ("=SUM(A1:B2)", 0, -1, "=SUM(#REF!)"),
        ("=-Data!B2%", 1, 0, "=-Data!B3%"),
        ("=IF(A1, , B1)", 1, 0, "=IF(A2, , B2)"),
        ('=rate & "A1"', 5, 5, '=rate & "A1"'),
    ],
)
def test_copied_formula(formula, rows, columns, moved):
    """References in a copied formula move along, unless a dollar sign keeps them."""
    assert moved_formula(formula, rows, columns) == moved
