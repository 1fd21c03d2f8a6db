"""What can be done to a value before it is written."""

from __future__ import annotations

from collections.abc import Callable


def _join(value: object, separator: str = ", ") -> str:
    """Return the items of a list as one text."""
    if not isinstance(value, (list, tuple)):
        raise ValueError("join needs a list")
    return separator.join(str(item) for item in value)


def _length(value: object) -> int:
    """Return the number of items or characters."""
    if not isinstance(value, (str, list, tuple, dict)):
        raise ValueError("length needs a text, a list or a mapping")
    return len(value)


def _item(value: object, index: int) -> object:
    """Return an item of a list, or nothing if the list is empty."""
    if not isinstance(value, (str, list, tuple)):
        raise ValueError("first and last need a list")
    return value[index] if value else ""


def _title(value: object) -> str:
    """Return the text with every word capitalised; apostrophes do not begin a word."""
    return " ".join(word[:1].upper() + word[1:].lower() for word in str(value).split(" "))


def _truncate(value: object, width: str = "20") -> str:
    """Return at most so many characters, the last three dots if something was cut off."""
    text, limit = str(value), int(width)
    if len(text) <= limit:
        return text
    if limit < 3:
        return text[:limit]
    return text[: limit - 3].rstrip() + "..."


FILTERS: dict[str, Callable[..., object]] = {
    "first": lambda value: _item(value, 0),
    "join": _join,
    "last": lambda value: _item(value, -1),
    "length": _length,
    "lower": lambda value: str(value).lower(),
    "title": _title,
    "trim": lambda value: str(value).strip(),
    "truncate": _truncate,
    "upper": lambda value: str(value).upper(),
}
"""The filters by name; each takes the value and, if it can, one argument as text."""
