"""Numbers as labels and with nouns."""

from __future__ import annotations

from wordnumerals.errors import NumeralError
from wordnumerals.roman import to_roman
from wordnumerals.words import to_words

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def to_letters(number: int) -> str:
    """Write a number as columns of a spreadsheet are named: A, B, ... Z, AA, AB, ...

    Raises:
        NumeralError: The number is less than 1.
    """
    if number < 1:
        raise NumeralError(f"letters count from 1, got {number}")
    letters = ""
    while number > 0:
        number, index = divmod(number - 1, 26)
        letters = _ALPHABET[index] + letters
    return letters


def from_letters(text: str) -> int:
    """Read what ``to_letters`` writes, in upper or lower case."""
    total = 0
    for letter in text.upper():
        if letter not in _ALPHABET:
            raise NumeralError(f"{letter!r} is not a letter from A to Z")
        total = 26 * total + _ALPHABET.index(letter) + 1
    if not total:
        raise NumeralError("an empty text is not a number")
    return total


def outline(number: int, level: int) -> str:
    """Return the label of a point of an outline.

    Args:
        number: Its number among its neighbours, from 1.
        level: How deep it stands: 1 gives ``I``, 2 ``A``, 3 ``1``, 4 ``a``, 5 ``i``; then the
            third to the fifth come again.

    Returns:
        The label.
    """
    if level < 1:
        raise NumeralError(f"levels count from 1, got {level}")
    if level == 1:
        return to_roman(number)
    if level == 2:
        return to_letters(number)
    style = level % 3
    if style == 0:
        return str(number)
    return to_letters(number).lower() if style == 1 else to_roman(number).lower()


def plural(noun: str) -> str:
    """Return the regular plural of an English noun."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and len(noun) > 1 and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def count_noun(number: int, noun: str, many: str = "", words_up_to: int = 0) -> str:
    """Write a number with its noun.

    Args:
        number: The number.
        noun: The noun in the singular.
        many: Its plural, if that is not regular.
        words_up_to: Numbers from 0 to this one are written in words.

    Returns:
        The text, such as ``three boxes`` or ``1 box``.
    """
    in_words = words_up_to > 0 and 0 <= number <= words_up_to
    text = to_words(number) if in_words else f"{number:,}"
    return f"{text} {noun if abs(number) == 1 else many or plural(noun)}"
