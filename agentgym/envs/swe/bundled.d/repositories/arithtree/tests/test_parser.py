"""Reading expressions."""

import pytest
from arithtree import Binary, Call, Name, Number, ParseError, Unary, parse, variables

A, B, C = Name("a"), Name("b"), Name("c")


def test_number():
    """A number without a fraction is read as a whole number."""
    assert parse("12") == Number(12)
    assert isinstance(parse("12").value, int)


def test_fraction():
    """A number with a fraction is read as a floating number."""
    assert parse("2.5") == Number(2.5)


def test_product_before_sum():
    """A product binds more strongly than a sum."""
    assert parse("a + b * c") == Binary("+", A, Binary("*", B, C))


def test_sums_group_to_the_left():
    """Differences are grouped to the left."""
    assert parse("a - b - c") == Binary("-", Binary("-", A, B), C)


def test_products_group_to_the_left():
    """Quotients are grouped to the left."""
    assert parse("a / b // c") == Binary("//", Binary("/", A, B), C)


def test_powers_group_to_the_right():
    """Powers are grouped to the right."""
    assert parse("a ^ b ^ c") == Binary("^", A, Binary("^", B, C))


def test_power_before_sign():
    """A sign before a power applies to the whole power."""
    assert parse("-a ^ b") == Unary("-", Binary("^", A, B))


def test_sign_of_exponent():
    """An exponent may have a sign."""
    assert parse("a ^ -b") == Binary("^", A, Unary("-", B))


def test_signs_cancel():
    """Two minus signs cancel each other, plus signs are dropped."""
    assert parse("-+-a") == A


def test_three_signs():
    """Of three minus signs one remains."""
    assert parse("---a") == Unary("-", A)


def test_sign_of_factor():
    """A factor may have a sign."""
    assert parse("a * -b") == Binary("*", A, Unary("-", B))


def test_parentheses():
    """Parentheses group what stands between them."""
    assert parse("(a + b) * c") == Binary("*", Binary("+", A, B), C)


def test_comparison():
    """A comparison binds less than a sum."""
    assert parse("a + b <= c") == Binary("<=", Binary("+", A, B), C)


def test_comparisons_do_not_chain():
    """Two comparisons in a row are an error at the second one."""
    with pytest.raises(ParseError, match="chain") as caught:
        parse("a < b < c")
    assert caught.value.position == 6


def test_comparison_in_parentheses():
    """A comparison in parentheses may be compared."""
    assert parse("(a < b) == c") == Binary("==", Binary("<", A, B), C)


def test_call():
    """A name with parentheses is a function with its arguments."""
    assert parse("f(a, b + c)") == Call("f", (A, Binary("+", B, C)))


def test_call_without_arguments():
    """A function may have no arguments."""
    assert parse("f()") == Call("f", ())


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "expected a value, found the end", 0),
        ("1 +", "expected a value, found the end", 3),
        ("1 2", "unexpected '2'", 2),
        ("(1", "expected '\\)', found the end", 2),
        ("(1 2)", "expected '\\)', found '2'", 3),
        ("1)", "unexpected '\\)'", 1),
        ("f(1,)", "expected a value, found '\\)'", 4),
        ("* 2", "expected a value, found '\\*'", 0),
    ],
)
def test_malformed(text, message, position):
    """A malformed expression is an error that says what was found and where."""
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.position == position


def test_depth():
    """An expression may be nested 99 parentheses deep."""
    assert parse("(" * 99 + "a" + ")" * 99) == A


@pytest.mark.parametrize("text", ["(" * 100 + "a" + ")" * 100, "a" + "^a" * 100])
def test_too_deep(text):
    """An expression that is nested more than 100 deep is refused."""
    with pytest.raises(ParseError, match="too deep"):
        parse(text)


def test_long_flat_expression():
    """The limit of depth does not concern groups and powers that stand side by side."""
    assert variables(parse(" + ".join(["(a ^ 2)"] * 150))) == ["a"]


def test_variables():
    """The variables of an expression are listed once each, in order."""
    assert variables(parse("b * -a + f(c, b) ^ 2")) == ["b", "a", "c"]
