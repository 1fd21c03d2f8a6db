"""Single values."""

import pytest
from shapecheck import Any, Constant, Flag, Number, Text, check, is_valid, problems


def test_text():
    """A text is accepted as it is."""
    assert check(Text(), " a ") == " a "


def test_text_of_another_type():
    """A number is not accepted as a text."""
    assert problems(Text(), 5) == ["a text expected, got a number"]


@pytest.mark.parametrize(
    ("text", "valid"), [("a", False), ("ab", True), ("abc", True), ("abcd", False)]
)
def test_length_of_a_text(text, valid):
    """The bounds of the length of a text are themselves allowed."""
    assert is_valid(Text(min_length=2, max_length=3), text) is valid


def test_too_short():
    """A text that is too short is reported with its length."""
    assert problems(Text(min_length=1), "") == ["at least 1 character, got 0"]


def test_too_long():
    """A text that is too long is reported with its length."""
    assert problems(Text(max_length=2), "abc") == ["at most 2 characters, got 3"]


def test_pattern():
    """A pattern must match the whole text."""
    assert problems(Text(pattern="[a-z]+"), "abc1") == ["'abc1' does not match [a-z]+"]


def test_strip():
    """Blanks at the ends are dropped on request before the length is checked."""
    assert check(Text(max_length=2, strip=True), "  ab ") == "ab"


@pytest.mark.parametrize("value", [0, 5, 2.5])
def test_number(value):
    """Ints and floats are numbers."""
    assert check(Number(), value) == value


@pytest.mark.parametrize(
    ("value", "kind"), [(True, "true or false"), ("5", "a text"), (None, "nothing")]
)
def test_no_number(value, kind):
    """Flags, texts and nothing are not numbers."""
    assert problems(Number(), value) == [f"a number expected, got {kind}"]


@pytest.mark.parametrize(
    ("value", "found"), [(0, ["at least 1, got 0"]), (1, []), (5, []), (6, ["at most 5, got 6"])]
)
def test_bounds(value, found):
    """The bounds of a number are themselves allowed."""
    assert problems(Number(minimum=1, maximum=5), value) == found


def test_bound_of_zero():
    """Zero is a bound like any other."""
    assert problems(Number(minimum=0), -1) == ["at least 0, got -1"]


def test_whole_number():
    """A float without fraction becomes an int where a whole number is wanted."""
    assert repr(check(Number(whole=True), 3.0)) == "3"


def test_no_whole_number():
    """A float with a fraction is not accepted as a whole number."""
    assert problems(Number(whole=True), 2.5) == ["a whole number expected, got 2.5"]


def test_float_stays_float():
    """A float stays a float where whole numbers are not asked for."""
    assert repr(check(Number(), 3.0)) == "3.0"


def test_multiple():
    """A number that is no multiple is reported."""
    assert problems(Number(multiple_of=5), 12) == ["a multiple of 5 expected, got 12"]
    assert problems(Number(multiple_of=5), 10) == []


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("-1.5", -1.5)])
def test_coerced_number(text, number):
    """With coercion a text may stand for a number."""
    assert check(Number(), text, coerce=True) == number


def test_text_that_is_no_number():
    """With coercion a text that is no number is still not accepted."""
    assert problems(Number(), "twelve", coerce=True) == ["a number expected, got a text"]


@pytest.mark.parametrize(
    ("text", "flag"), [("Yes", True), ("0", False), ("off", False), ("true", True)]
)
def test_coerced_flag(text, flag):
    """With coercion words such as yes and off stand for flags."""
    assert check(Flag(), text, coerce=True) is flag


def test_flag():
    """True and False are flags, without coercion words are not."""
    assert (check(Flag(), False), problems(Flag(), "yes")) == (
        False,
        ["true or false expected, got a text"],
    )


def test_word_that_is_no_flag():
    """With coercion a word that means neither true nor false is not accepted."""
    assert is_valid(Flag(), "maybe", coerce=True) is False


def test_constant():
    """Only the fixed values are accepted."""
    assert problems(Constant("a", 1), "b") == ["one of 'a', 1 expected, got 'b'"]


def test_constant_tells_types_apart():
    """True is not accepted where 1 is the fixed value."""
    assert (is_valid(Constant(1), True), is_valid(Constant(1), 1)) == (False, True)


def test_any():
    """Anything is accepted where anything may be."""
    assert check(Any(), None) is None


def test_rule_of_ones_own():
    """An added rule reports its message."""
    schema = Number().where(lambda value: value % 2 == 0, "not even")
    assert (problems(schema, 3), problems(schema, 4)) == (["not even"], [])


def test_rule_makes_a_new_schema():
    """Adding a rule does not change the schema that it is added to."""
    schema = Number()
    schema.where(lambda value: False, "never")
    assert is_valid(schema, 1) is True


def test_rule_is_not_asked_about_wrong_values():
    """An added rule is not asked if the value is wrong already."""
    schema = Text().where(lambda value: value.islower(), "not small")
    assert problems(schema, 5) == ["a text expected, got a number"]


def test_rule_sees_the_final_form():
    """An added rule gets the value after conversion."""
    schema = Text(strip=True).where(lambda value: value == "a", "not a")
    assert check(schema, " a ") == "a"
