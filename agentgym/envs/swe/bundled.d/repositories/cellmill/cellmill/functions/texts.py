"""Texts."""

from __future__ import annotations

import re

from cellmill.errors import SpreadsheetError
from cellmill.functions.registry import function
from cellmill.values.blocks import Argument, Block, scalar
from cellmill.values.comparison import wildcard_pattern
from cellmill.values.conversion import checked_text, to_number, to_text, to_truth, to_whole
from cellmill.values.formats import format_number
from cellmill.values.kinds import ErrorValue, Failed, Value

LONGEST = 32_767
"""Most characters of a text that a function makes."""


@function("LEN", 1)
def _length(text: Value) -> int:
    return len(to_text(text))


@function("LEFT", 1, 2)
def _left(text: Value, count: Value = 1) -> str:
    return to_text(text)[: _count(count)]


@function("RIGHT", 1, 2)
def _right(text: Value, count: Value = 1) -> str:
    whole = to_text(text)
    return whole[max(0, len(whole) - _count(count)) :]


@function("MID", 3)
def _middle(text: Value, start: Value, count: Value) -> str:
    first = _count(start, least=1) - 1
    return to_text(text)[first : first + _count(count)]


def _count(value: Value, least: int = 0) -> int:
    number = to_whole(value)
    if number < least:
        raise Failed(ErrorValue.VALUE)
    return number


@function("UPPER", 1)
def _upper(text: Value) -> str:
    return to_text(text).upper()


@function("LOWER", 1)
def _lower(text: Value) -> str:
    return to_text(text).lower()


@function("PROPER", 1)
def _proper(text: Value) -> str:
    """Return a text with a capital at the start of every word."""
    return re.sub(
        r"[^\W\d_]+", lambda match: match.group().capitalize(), to_text(text), flags=re.UNICODE
    )


@function("TRIM", 1)
def _trim(text: Value) -> str:
    """Return a text without spaces at its ends and with single ones inside."""
    return re.sub(" +", " ", to_text(text)).strip(" ")


@function("FIND", 2, 3)
def _find(wanted: Value, text: Value, start: Value = 1) -> int:
    """Return where a text stands in another; capitals matter."""
    first = _count(start, least=1) - 1
    place = to_text(text).find(to_text(wanted), first)
    if place < 0:
        raise Failed(ErrorValue.VALUE)
    return place + 1


@function("SEARCH", 2, 3)
def _search(wanted: Value, text: Value, start: Value = 1) -> int:
    """Return where a text stands in another; capitals do not matter, ``*`` and ``?`` do."""
    first = _count(start, least=1) - 1
    whole = to_text(text)
    pattern = re.compile(wildcard_pattern(to_text(wanted)), re.IGNORECASE | re.DOTALL)
    match = pattern.search(whole, first) if first <= len(whole) else None
    if match is None:
        raise Failed(ErrorValue.VALUE)
    return match.start() + 1


@function("SUBSTITUTE", 3, 4)
def _substitute(text: Value, old: Value, new: Value, which: Value = None) -> str:
    """Replace a text everywhere, or only where it stands for the nth time."""
    whole, wanted, better = to_text(text), to_text(old), to_text(new)
    if not wanted:
        return whole
    if which is None:
        return _bounded(whole.replace(wanted, better))
    parts = whole.split(wanted)
    number = _count(which, least=1)
    if number >= len(parts):
        return whole
    return _bounded(better.join((wanted.join(parts[:number]), wanted.join(parts[number:]))))


@function("REPLACE", 4)
def _replace(text: Value, start: Value, count: Value, new: Value) -> str:
    whole = to_text(text)
    first = _count(start, least=1) - 1
    return _bounded(whole[:first] + to_text(new) + whole[first + _count(count) :])


@function("REPT", 2)
def _repeat(text: Value, count: Value) -> str:
    whole, number = to_text(text), _count(count)
    if len(whole) * number > LONGEST:
        raise Failed(ErrorValue.VALUE)
    return whole * number


@function("CONCAT", 1, None, takes="blocks")
def _concatenate(*arguments: Argument) -> str:
    return _bounded("".join(_pieces(arguments)))


@function("TEXTJOIN", 3, None, takes="blocks")
def _join(separator: Argument, skip_empty: Argument, *arguments: Argument) -> str:
    """Join texts; the second argument says whether empty ones are left out."""
    pieces = _pieces(arguments, with_blanks=True)
    if to_truth(scalar(skip_empty)):
        pieces = [piece for piece in pieces if piece]
    return _bounded(checked_text(scalar(separator)).join(pieces))


def _pieces(arguments: tuple[Argument, ...], with_blanks: bool = False) -> list[str]:
    """Return the texts of all arguments, empty cells of areas only if they are asked for."""
    pieces: list[str] = []
    for argument in arguments:
        if not isinstance(argument, Block):
            pieces.append(checked_text(argument))
        elif not with_blanks:
            pieces += map(checked_text, argument.values())
        elif argument.size > LONGEST:
            raise Failed(ErrorValue.VALUE)
        else:
            rows, columns = range(argument.height), range(argument.width)
            pieces += [checked_text(argument.at(row, column)) for row in rows for column in columns]
    return pieces


def _bounded(text: str) -> str:
    if len(text) > LONGEST:
        raise Failed(ErrorValue.VALUE)
    return text


@function("EXACT", 2)
def _exact(one: Value, other: Value) -> bool:
    return to_text(one) == to_text(other)


@function("VALUE", 1)
def _value(text: Value) -> float:
    return to_number(text)


@function("TEXT", 2)
def _formatted(number: Value, pattern: Value) -> str:
    """Return a number in a format; a text stays as it is."""
    if isinstance(number, (str, bool)):
        return to_text(number)
    try:
        return format_number(to_number(number), to_text(pattern))
    except SpreadsheetError:
        raise Failed(ErrorValue.VALUE) from None
