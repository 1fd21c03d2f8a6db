"""From rows of values to text."""

from __future__ import annotations

from collections.abc import Iterable

from rowdialect.dialect import Dialect, DialectError

DEFAULT = Dialect()


def format_row(values: Iterable[object], dialect: Dialect = DEFAULT) -> str:
    """Write one row, without the end of its line.

    ``None`` is written as an empty field, truth values as ``true`` and ``false``, everything
    else as ``str`` gives it.

    Args:
        values: The values of the row.
        dialect: How to write them.

    Returns:
        A text from which ``parse_row`` reads the same fields.

    Raises:
        DialectError: A value needs quotes or escapes that the dialect does not have.
    """
    items = list(values)
    fields = [_field(value, dialect) for value in items]
    if len(fields) == 1 and fields[0] == "":
        if not dialect.quote:
            raise DialectError("a row of one empty field cannot be written without quotes")
        return dialect.quote * 2
    if fields and dialect.comment and fields[0].startswith(dialect.comment):
        fields[0] = _quoted(_text(items[0]), dialect)
    return dialect.delimiter.join(fields)


def format_rows(rows: Iterable[Iterable[object]], dialect: Dialect = DEFAULT) -> str:
    """Write rows, each with the end of its line."""
    return "".join(format_row(row, dialect) + dialect.line_end for row in rows)


def _text(value: object) -> str:
    """Return what a value is as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _field(value: object, dialect: Dialect) -> str:
    """Return a value as it stands in a row."""
    text = _text(value)
    if dialect.quoting == "all":
        return _quoted(text, dialect)
    if dialect.quoting == "strings":
        is_plain = value is None or isinstance(value, (int, float))
        return _plain(text, dialect) if is_plain else _quoted(text, dialect)
    if dialect.quoting == "minimal" and dialect.quote and _needs_quotes(text, dialect):
        return _quoted(text, dialect)
    return _plain(text, dialect)


def _needs_quotes(text: str, dialect: Dialect) -> bool:
    """Say whether a text would be read back differently if it stood without quotes."""
    special = dialect.delimiter + dialect.quote + "\r\n"
    if any(char in special for char in text):
        return True
    return dialect.skip_space and text.startswith(" ")


def _quoted(text: str, dialect: Dialect) -> str:
    """Return a text between quotes."""
    quote, escape = dialect.quote, dialect.escape
    if not quote:
        raise DialectError(f"{text!r} needs quotes, and the dialect has none")
    if escape:
        text = text.replace(escape, escape * 2)
    if dialect.double_quote:
        text = text.replace(quote, quote * 2)
    elif escape:
        text = text.replace(quote, escape + quote)
    elif quote in text:
        raise DialectError(f"{text!r} holds a quote, and the dialect cannot write it")
    return quote + text + quote


def _plain(text: str, dialect: Dialect) -> str:
    """Return a text without quotes, its special characters escaped."""
    special = {dialect.delimiter, dialect.quote, dialect.escape, "\r", "\n"}
    parts = []
    for char in text:
        if char not in special:
            parts.append(char)
        elif dialect.escape:
            parts.append(dialect.escape + char)
        else:
            raise DialectError(f"{text!r} holds {char!r}, and the dialect cannot write it")
    return "".join(parts)
