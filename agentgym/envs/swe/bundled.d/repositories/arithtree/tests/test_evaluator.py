"""Values of expressions."""

import pytest
from arithtree import EvaluationError, evaluate, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 + 2", 9),
        ("7 - 2", 5),
        ("7 * 2", 14),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("7 % 2", 1),
        ("7 ^ 2", 49),
        ("-7", -7),
    ],
)
def test_operators(text, value):
    """Each operator does what it does in school."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("<", (1, 0, 0)),
        ("<=", (1, 1, 0)),
        (">", (0, 0, 1)),
        (">=", (0, 1, 1)),
        ("==", (0, 1, 0)),
        ("!=", (1, 0, 1)),
    ],
)
def test_comparisons(operator, values):
    """A comparison is 1 if it holds and 0 if not."""
    assert tuple(evaluate(f"{n} {operator} 2") for n in (1, 2, 3)) == values


def test_variable():
    """Variables get their values from the mapping."""
    assert evaluate("x * y", {"x": 6, "y": 7}) == 42


def test_tree():
    """A tree can be evaluated several times with different values."""
    tree = parse("x + 1")
    assert [evaluate(tree, {"x": n}) for n in (1, 2)] == [2, 3]


def test_unknown_variable():
    """A variable without a value is an error that names it."""
    with pytest.raises(EvaluationError, match="'y' has no value"):
        evaluate("x + y", {"x": 1})


@pytest.mark.parametrize("text", ["1 / 0", "1 // 0", "1 % 0", "0 ^ -1"])
def test_division_by_zero(text):
    """Division by zero is an evaluation error."""
    with pytest.raises(EvaluationError, match="division by zero"):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("abs(-3)", 3), ("ceil(1.2)", 2), ("floor(-1.2)", -2), ("sqrt(16)", 4), ("sqrt(0)", 0)],
)
def test_functions_of_one_argument(text, value):
    """The functions of one argument give the usual values."""
    assert evaluate(text) == value


def test_max_and_min():
    """Max and min take any number of arguments."""
    assert (evaluate("max(2, 9, 4)"), evaluate("min(2, 9, 1)"), evaluate("max(5)")) == (9, 1, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [("round(2.5)", 3), ("round(-2.5)", -3), ("round(2.4)", 2), ("round(1.26, 1)", 1.3)],
)
def test_round(text, value):
    """Round takes halves away from zero, and takes a number of digits."""
    assert evaluate(text) == value


def test_round_gives_whole_numbers():
    """Round without digits gives a whole number."""
    assert isinstance(evaluate("round(2.5)"), int)


def test_if():
    """If gives its second argument where the condition holds, else its third."""
    assert (evaluate("if(2 > 1, 5, 6)"), evaluate("if(2 < 1, 5, 6)")) == (5, 6)


def test_if_is_lazy():
    """If does not evaluate the branch that it does not take."""
    assert evaluate("if(x == 0, 0, 1 / x)", {"x": 0}) == 0


def test_if_arguments():
    """If takes exactly three arguments."""
    with pytest.raises(EvaluationError, match="if takes 3 arguments, got 2"):
        evaluate("if(1, 2)")


def test_unknown_function():
    """A function that does not exist is an error that names it."""
    with pytest.raises(EvaluationError, match="no function 'eval'"):
        evaluate("eval(1)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abs(1, 2)", "abs takes 1 arguments, got 2"),
        ("sqrt()", "sqrt takes 1 arguments, got 0"),
        ("round(1, 2, 3)", "round takes 1 to 2 arguments, got 3"),
    ],
)
def test_number_of_arguments(text, message):
    """A wrong number of arguments is an error that says how many are taken."""
    with pytest.raises(EvaluationError, match=message):
        evaluate(text)


def test_root_of_negative_number():
    """The square root of a negative number is an error."""
    with pytest.raises(EvaluationError, match="not real"):
        evaluate("sqrt(-1)")


def test_broken_power_of_negative_number():
    """A negative number to a broken power is an error."""
    with pytest.raises(EvaluationError, match="not real"):
        evaluate("(-8) ^ 0.5")


def test_powers_that_are_real():
    """Whole powers of negative numbers and broken powers of 0 and 4 have values."""
    assert (evaluate("(-2) ^ 3"), evaluate("4 ^ 0.5"), evaluate("0 ^ 0.5")) == (-8, 2, 0)


def test_huge_power():
    """A whole power of more than 4096 bits is refused."""
    with pytest.raises(EvaluationError, match="too large"):
        evaluate("2 ^ 2049")


def test_large_power():
    """A whole power below that limit is computed exactly."""
    assert evaluate("2 ^ 2048") == 2**2048


def test_huge_fraction():
    """A floating result that is too large is an evaluation error."""
    with pytest.raises(EvaluationError, match="too large"):
        evaluate("10.0 ^ 400")


def test_whole_numbers_stay_whole():
    """Sums, products and powers of whole numbers are whole."""
    assert isinstance(evaluate("2 + 3 * 4 ^ 2"), int)
