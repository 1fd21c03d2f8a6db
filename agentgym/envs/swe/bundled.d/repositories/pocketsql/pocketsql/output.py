"""Results as text."""

from __future__ import annotations

from pocketsql.database import Result
from pocketsql.storage.types import Scalar, as_text, type_of


def to_table(result: Result) -> str:
    """Return a result as a table of characters; numbers stand on the right, NULL is a dash.

    A statement that is no query gives a line with the number of rows that it changed.
    """
    if not result.columns:
        return f"{result.count} row{'' if result.count == 1 else 's'} changed\n"
    columns = []
    for place, label in enumerate(result.columns):
        values = [row[place] for row in result.rows]
        texts = [_shown(value) for value in values]
        width = max(len(text) for text in [label, *texts])
        lines = [label.ljust(width), "-" * width]
        for value, text in zip(values, texts, strict=True):
            is_number = type_of(value) in ("INTEGER", "REAL")
            lines.append(text.rjust(width) if is_number else text.ljust(width))
        columns.append(lines)
    rows = zip(*columns, strict=True)
    table = [("-+-" if number == 1 else " | ").join(row) for number, row in enumerate(rows)]
    return "".join(line.rstrip() + "\n" for line in table)


def _shown(value: Scalar) -> str:
    """Return a value on one line."""
    if value is None:
        return "-"
    return as_text(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def to_csv(result: Result) -> str:
    """Return a result as comma-separated values with a heading.

    NULL is an empty field, an empty text a pair of quotes.
    """
    lines = [",".join(_field(label) for label in result.columns)]
    lines += [",".join(_field(value) for value in row) for row in result.rows]
    return "".join(line + "\n" for line in lines) if result.columns else ""


def _field(value: Scalar) -> str:
    text = as_text(value)
    if value == "" or any(mark in text for mark in ',"\n\r'):
        escaped = text.replace('"', '""')
        return f'"{escaped}"'
    return text
