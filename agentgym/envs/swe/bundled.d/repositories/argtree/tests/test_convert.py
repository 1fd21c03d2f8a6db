"""Converters of single words."""

import pytest
from argtree.convert import boolean, choice, comma_list, duration, int_between, key_value


@pytest.mark.parametrize("word", ["yes", "TRUE", "on", "1"])
def test_boolean_true(word):
    """The words yes, true, on and 1 are read as True in any case."""
    assert boolean(word) is True


@pytest.mark.parametrize("word", ["no", "False", "off", "0"])
def test_boolean_false(word):
    """The words no, false, off and 0 are read as False in any case."""
    assert boolean(word) is False


def test_boolean_refuses_other_words():
    """A word that is neither yes nor no is refused by boolean."""
    with pytest.raises(ValueError, match=r"neither yes nor no"):
        boolean("maybe")


def test_int_between_includes_the_low_end():
    """The lower bound of int_between is itself accepted."""
    assert int_between(1, 5)("1") == 1


def test_int_between_includes_the_high_end():
    """The upper bound of int_between is itself accepted."""
    assert int_between(1, 5)("5") == 5


def test_int_between_refuses_less():
    """A number below the lower bound of int_between is refused with the bound in the message."""
    with pytest.raises(ValueError, match=r"0 is less than 1"):
        int_between(1, 5)("0")


def test_int_between_refuses_more():
    """A number above the upper bound of int_between is refused with the bound in the message."""
    with pytest.raises(ValueError, match=r"6 is more than 5"):
        int_between(1, 5)("6")


def test_int_between_without_bounds():
    """Without bounds int_between accepts any whole number."""
    assert int_between()("-70000") == -70000


def test_int_between_refuses_words():
    """Something that is no whole number is refused by int_between."""
    with pytest.raises(ValueError, match=r"'1.5' is not a whole number"):
        int_between()("1.5")


def test_choice_returns_the_declared_spelling():
    """A choice given in another case comes back in the spelling that was declared."""
    assert choice("JSON", "CSV")("csv") == "CSV"


def test_choice_refuses_other_words():
    """A word that is not among the choices is refused and the choices are listed."""
    with pytest.raises(ValueError, match=r"'xml' is not one of JSON, CSV"):
        choice("JSON", "CSV")("xml")


def test_comma_list_strips_and_skips():
    """Blanks around the values of a comma list and empty values are dropped."""
    assert comma_list()("a, b ,,c") == ["a", "b", "c"]


def test_comma_list_converts_every_value():
    """The values of a comma list are converted one by one."""
    assert comma_list(int)("1,2,3") == [1, 2, 3]


def test_key_value_splits_at_the_first_sign():
    """Only the first equals sign of a key=value word separates, the others belong to the value."""
    assert key_value("query=a=b") == ("query", "a=b")


def test_key_value_with_an_empty_value():
    """A key=value word may have nothing after the equals sign."""
    assert key_value("name=") == ("name", "")


@pytest.mark.parametrize("word", ["name", "=value"])
def test_key_value_refuses(word):
    """A word without an equals sign or without a key is refused by key_value."""
    with pytest.raises(ValueError, match=r"key=value"):
        key_value(word)


@pytest.mark.parametrize(("text", "seconds"), [("1h30m", 5400), ("45s", 45), ("2d", 172800)])
def test_duration_units(text, seconds):
    """The units d, h, m and s of a duration are added up in seconds."""
    assert duration(text) == seconds


def test_duration_bare_number():
    """A duration without a unit counts seconds."""
    assert duration("90") == 90


@pytest.mark.parametrize("text", ["", "h", "1h30", "5 m"])
def test_duration_refuses(text):
    """A text that is no series of numbers with units is refused by duration."""
    with pytest.raises(ValueError, match=r"not a duration"):
        duration(text)
