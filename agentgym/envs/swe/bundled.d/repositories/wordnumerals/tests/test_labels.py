"""Labels and nouns."""

import pytest
from wordnumerals import NumeralError, count_noun, from_letters, outline, plural, to_letters

PAIRS = [(1, "A"), (26, "Z"), (27, "AA"), (52, "AZ"), (53, "BA"), (702, "ZZ"), (703, "AAA")]


@pytest.mark.parametrize(("number", "text"), PAIRS)
def test_letters(number, text):
    """After Z comes AA, and after ZZ comes AAA."""
    assert (to_letters(number), from_letters(text)) == (text, number)


def test_lower_case_letters():
    """Letters are read in lower case as well."""
    assert from_letters("ab") == 28


def test_no_letters_for_zero():
    """There are no letters for zero."""
    with pytest.raises(NumeralError, match="from 1, got 0"):
        to_letters(0)


@pytest.mark.parametrize("text", ["", "A1"])
def test_no_letters(text):
    """What is empty or holds other signs is no number in letters."""
    with pytest.raises(NumeralError):
        from_letters(text)


@pytest.mark.parametrize(
    ("level", "label"), [(1, "IV"), (2, "D"), (3, "4"), (4, "d"), (5, "iv"), (6, "4"), (8, "iv")]
)
def test_outline(level, label):
    """The levels of an outline have different labels."""
    assert outline(4, level) == label


def test_outline_level():
    """The levels of an outline count from 1."""
    with pytest.raises(NumeralError, match="levels"):
        outline(1, 0)


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("cat", "cats"),
        ("box", "boxes"),
        ("bus", "buses"),
        ("church", "churches"),
        ("dish", "dishes"),
        ("city", "cities"),
        ("day", "days"),
        ("y", "ys"),
    ],
)
def test_plural(noun, many):
    """The regular plural depends on how a noun ends."""
    assert plural(noun) == many


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 boxes"), (1, "1 box"), (-1, "-1 box"), (2500, "2,500 boxes")]
)
def test_count_noun(number, text):
    """Only one and minus one take the singular."""
    assert count_noun(number, "box") == text


def test_irregular_plural():
    """An irregular plural can be given."""
    assert (count_noun(2, "mouse", "mice"), count_noun(1, "mouse", "mice")) == ("2 mice", "1 mouse")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "zero cats"), (9, "nine cats"), (10, "10 cats"), (-3, "-3 cats")]
)
def test_small_numbers_in_words(number, text):
    """Small numbers can be written in words."""
    assert count_noun(number, "cat", words_up_to=9) == text
