"""Numbers in English words."""

from __future__ import annotations

from wordnumerals.errors import NumeralError

SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"))
LIMIT = 10**12
_SMALL_VALUES = {word: value for value, word in enumerate(SMALL)}
_TENS_VALUES = {word: 10 * value for value, word in enumerate(TENS) if value >= 2}
_SCALE_VALUES = {word: value for value, word in SCALES}


def to_words(number: int, use_and: bool = True) -> str:
    """Write a number in words.

    Args:
        number: The number, less than a million millions.
        use_and: Whether to write ``and`` before what is less than a hundred.

    Returns:
        The words, such as ``two thousand and seven``.

    Raises:
        NumeralError: The number is too large.
    """
    if abs(number) >= LIMIT:
        raise NumeralError(f"there are no words for {number}")
    if number < 0:
        return "minus " + to_words(-number, use_and)
    parts = []
    rest = number
    for value, name in SCALES:
        count, rest = divmod(rest, value)
        if count:
            parts.append(f"{_below_thousand(count, use_and)} {name}")
    if rest or not parts:
        joint = "and " if use_and and parts and rest < 100 else ""
        parts.append(joint + _below_thousand(rest, use_and))
    return " ".join(parts)


def _below_thousand(number: int, use_and: bool) -> str:
    """Write a number below a thousand."""
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    text = f"{SMALL[hundreds]} hundred"
    if rest:
        text += (" and " if use_and else " ") + _below_hundred(rest)
    return text


def _below_hundred(number: int) -> str:
    """Write a number below a hundred."""
    if number < 20:
        return SMALL[number]
    tens, ones = divmod(number, 10)
    return TENS[tens] + (f"-{SMALL[ones]}" if ones else "")


def from_words(text: str) -> int:
    """Read a number in words, with or without ``and``, hyphens and commas.

    Raises:
        NumeralError: A word is no part of a number, or stands where it cannot.
    """
    words = text.lower().replace("-", " ").replace(",", " ").split()
    negative = words[:1] == ["minus"]
    if negative:
        words = words[1:]
    if not words or words[-1] == "and" or words[0] == "and":
        raise NumeralError(f"{text!r} is not a number in words")
    total = 0
    group = 0
    # Within a group of three digits every word must be smaller than this.
    room = 1000
    last_scale = LIMIT
    for word in words:
        if word == "and":
            continue
        if word in _SCALE_VALUES:
            scale = _SCALE_VALUES[word]
            if group == 0 or scale >= last_scale:
                raise NumeralError(f"{word!r} stands in the wrong place of {text!r}")
            total += group * scale
            group, room, last_scale = 0, 1000, scale
        elif word == "hundred":
            if not 1 <= group <= 9:
                raise NumeralError(f"{word!r} stands in the wrong place of {text!r}")
            group, room = group * 100, 100
        else:
            value = _value(word)
            if value >= room or (value == 0 and len(words) > 1):
                raise NumeralError(f"{word!r} stands in the wrong place of {text!r}")
            group += value
            room = 10 if value >= 20 else 0
    total += group
    return -total if negative else total


def _value(word: str) -> int:
    """Return the value of a word below a hundred."""
    if word in _SMALL_VALUES:
        return _SMALL_VALUES[word]
    if word in _TENS_VALUES:
        return _TENS_VALUES[word]
    raise NumeralError(f"{word!r} is not a number")
