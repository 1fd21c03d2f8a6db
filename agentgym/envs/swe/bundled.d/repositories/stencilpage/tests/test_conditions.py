"""Conditions."""

import pytest
from stencilpage import RenderError, TemplateError, render


def holds(test, **values):
    """Return whether a template takes the branch of this condition."""
    return render("{% if " + test + " %}yes{% else %}no{% end %}", values) == "yes"


@pytest.mark.parametrize(
    ("value", "truth"), [(1, True), ("a", True), ([0], True), (0, False), ("", False), ([], False)]
)
def test_value_as_condition(value, truth):
    """Zero and empty values do not hold, all others do."""
    assert holds("x", x=value) is truth


def test_missing_value_as_condition():
    """A name that is not given does not hold."""
    assert holds("x") is False


def test_not():
    """Not turns a condition round."""
    assert (holds("not x", x=0), holds("not x", x=1)) == (True, False)


@pytest.mark.parametrize(
    ("operator", "results"),
    [
        ("==", (False, True, False)),
        ("!=", (True, False, True)),
        ("<", (True, False, False)),
        (">", (False, False, True)),
    ],
)
def test_comparisons(operator, results):
    """Numbers can be compared."""
    assert tuple(holds(f"x {operator} 2", x=x) for x in (1, 2, 3)) == results


def test_compare_texts():
    """A text can be compared with a quoted one."""
    assert (holds("x == 'a b'", x="a b"), holds('x == "a"', x="a b")) == (True, False)


@pytest.mark.parametrize(("word", "value"), [("true", True), ("false", False), ("none", None)])
def test_constants(word, value):
    """true, false and none are constants."""
    assert holds(f"x == {word}", x=value) is True


@pytest.mark.parametrize(("a", "b", "both", "any_"), [(0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 1)])
def test_and_or(a, b, both, any_):
    """And needs both sides, or needs one."""
    assert (holds("a and b", a=a, b=b), holds("a or b", a=a, b=b)) == (both, any_)


def test_and_before_or():
    """And binds more strongly than or."""
    assert holds("a or b and c", a=1, b=1, c=0) is True


def test_not_before_and():
    """Not applies to one comparison only."""
    assert holds("not a == 1 and b", a=1, b=1) is False


@pytest.mark.parametrize("test", ["a b", "a == ", "a = 1", "a;", ";", "== 1 a"])
def test_malformed_condition(test):
    """What is no condition raises RenderError."""
    with pytest.raises(RenderError, match="not a condition"):
        holds(test, a=1, b=1)


def test_compare_text_with_number():
    """Texts and numbers have no order."""
    with pytest.raises(RenderError, match="not supported"):
        holds("x < 1", x="a")


def test_missing_value_in_comparison():
    """A name in a comparison has to be given."""
    with pytest.raises(RenderError, match="'x' is not given"):
        holds("x == 1")


def test_if_without_else():
    """A condition that does not hold and has no else gives nothing."""
    assert render("a{% if x %}b{% end %}c") == "ac"


@pytest.mark.parametrize(("n", "text"), [(1, "one"), (2, "two"), (3, "many")])
def test_elif(n, text):
    """The first branch whose condition holds is taken."""
    source = "{% if n == 1 %}one{% elif n < 3 %}two{% else %}many{% end %}"
    assert render(source, {"n": n}) == text


@pytest.mark.parametrize("tag", ["if", "if x %}{% elif", "if x %}{% else x"])
def test_malformed_if(tag):
    """If and elif need a condition, else has none."""
    with pytest.raises(TemplateError, match="malformed tag"):
        render("{% " + tag + " %}{% end %}")


def test_branch_after_else():
    """No branch may follow else."""
    with pytest.raises(TemplateError, match="unexpected tag 'elif y'"):
        render("{% if x %}{% else %}{% elif y %}{% end %}")


def test_if_without_end():
    """An if without end is an error in the line of the if."""
    with pytest.raises(TemplateError, match="if has no end") as caught:
        render("a\n{% if x %}\n{% else %}\n")
    assert caught.value.line == 2
