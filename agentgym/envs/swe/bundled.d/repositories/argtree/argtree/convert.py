"""Converters: functions that turn a word of the command line into a value.

A converter raises ``ValueError`` with a short reason when the word does not fit; the parser puts
the name of the option in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

TRUE_WORDS = ("yes", "true", "on", "1")
FALSE_WORDS = ("no", "false", "off", "0")
UNIT_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def boolean(text: str) -> bool:
    """Read ``yes``/``no``, ``true``/``false``, ``on``/``off`` or ``1``/``0``, in any case."""
    word = text.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def int_between(low: int | None = None, high: int | None = None) -> Callable[[str], int]:
    """Make a converter for whole numbers from ``low`` to ``high``, both included."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if low is not None and number < low:
            raise ValueError(f"{number} is less than {low}")
        if high is not None and number > high:
            raise ValueError(f"{number} is more than {high}")
        return number

    return convert


def choice(*words: str) -> Callable[[str], str]:
    """Make a converter that accepts one of some words, whatever their case."""

    def convert(text: str) -> str:
        for word in words:
            if word.lower() == text.lower():
                return word
        raise ValueError(f"{text!r} is not one of {', '.join(words)}")

    return convert


def comma_list(convert: Callable[[str], Any] = str) -> Callable[[str], list[Any]]:
    """Make a converter for values separated by commas; blanks around a value do not count."""

    def convert_all(text: str) -> list[Any]:
        pieces = [piece.strip() for piece in text.split(",")]
        return [convert(piece) for piece in pieces if piece]

    return convert_all


def key_value(text: str) -> tuple[str, str]:
    """Read ``key=value``; only the first equals sign separates."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise ValueError(f"{text!r} is not of the form key=value")
    return key, value


def duration(text: str) -> int:
    """Read a time such as ``1h30m`` or ``45s`` as seconds; a bare number counts seconds."""
    if text.isdigit():
        return int(text)
    if not re.fullmatch(r"(\d+[dhms])+", text):
        raise ValueError(f"{text!r} is not a duration such as 1h30m")
    pairs = re.findall(r"(\d+)([dhms])", text)
    return sum(int(number) * UNIT_SECONDS[unit] for number, unit in pairs)
