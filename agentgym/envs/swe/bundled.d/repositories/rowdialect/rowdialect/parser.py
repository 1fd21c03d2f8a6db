"""From text to rows of fields."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from rowdialect.dialect import Dialect

DEFAULT = Dialect()


class RowError(ValueError):
    """A row that its dialect does not allow.

    Attributes:
        line: The number of the line, from 1, in which the row begins.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


class _State(Enum):
    """Where in a row the reader stands."""

    START = "start of a field"
    PLAIN = "inside an unquoted field"
    QUOTED = "inside a quoted field"
    CLOSED = "after the closing quote"


class _Reader:
    """Takes characters one by one and collects rows."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.line = 1
        self.begin = 1
        self._reset()

    def _reset(self) -> None:
        """Begin a new row."""
        self.state = _State.START
        self.fields: list[str] = []
        self.field: list[str] = []
        self.escaped = False
        self.touched = False

    def _end_field(self) -> None:
        """Put the field that is finished into the row."""
        self.fields.append("".join(self.field))
        self.field = []
        self.state = _State.START

    def end_row(self) -> list[str]:
        """Return the row that ends here and begin the next one."""
        if self.escaped:
            raise RowError("nothing follows the escape character", self.begin)
        if self.state is _State.QUOTED:
            raise RowError("a quoted field is not closed", self.begin)
        if self.touched:
            self._end_field()
        row = self.fields
        self._reset()
        return row

    def feed(self, char: str) -> None:
        """Take one character that does not end the row."""
        dialect = self.dialect
        self.touched = True
        if self.escaped:
            self.field.append(char)
            self.escaped = False
        elif dialect.escape and char == dialect.escape and self.state is not _State.CLOSED:
            self.escaped = True
            if self.state is _State.START:
                self.state = _State.PLAIN
        elif self.state is _State.QUOTED:
            self._feed_quoted(char)
        elif char == dialect.delimiter:
            self._end_field()
        elif self.state is _State.CLOSED:
            self._feed_closed(char)
        elif self.state is _State.START:
            self._feed_start(char)
        else:
            self.field.append(char)

    def _feed_start(self, char: str) -> None:
        """Take the first character of a field."""
        if char == " " and self.dialect.skip_space:
            return
        if self.dialect.quote and char == self.dialect.quote:
            self.state = _State.QUOTED
            return
        self.field.append(char)
        self.state = _State.PLAIN

    def _feed_quoted(self, char: str) -> None:
        """Take a character between quotes."""
        if char == self.dialect.quote:
            self.state = _State.CLOSED
        else:
            self.field.append(char)

    def _feed_closed(self, char: str) -> None:
        """Take the character after a quote that may have closed the field."""
        if char == self.dialect.quote and self.dialect.double_quote:
            self.field.append(char)
            self.state = _State.QUOTED
        elif char == " " and self.dialect.skip_space:
            return
        else:
            raise RowError(f"{char!r} follows a closing quote", self.begin)


def parse_rows(text: str, dialect: Dialect = DEFAULT) -> Iterator[list[str]]:
    """Read all rows of a text; see ``numbered_rows``."""
    for _, row in numbered_rows(text, dialect):
        yield row


def numbered_rows(text: str, dialect: Dialect = DEFAULT) -> Iterator[tuple[int, list[str]]]:
    """Read all rows of a text and the number of the line, from 1, in which each begins.

    Lines may end with LF, CRLF or CR. A line without characters gives an empty row; the end of
    the last line begins no further row.

    Args:
        text: The text.
        dialect: How it is written.

    Yields:
        The number of the line and the fields of one row after the other.

    Raises:
        RowError: A quoted field is not closed, or something follows its closing quote.
    """
    reader = _Reader(dialect)
    position = 0
    pending = False
    while position < len(text):
        if not pending and dialect.comment and text.startswith(dialect.comment, position):
            while position < len(text) and text[position] not in "\r\n":
                position += 1
            position += _line_end(text, position)
            reader.line += 1
            reader.begin = reader.line
            continue
        width = _line_end(text, position)
        if not width:
            reader.feed(text[position])
            position += 1
            pending = True
            continue
        reader.line += 1
        if reader.state is _State.QUOTED or reader.escaped:
            reader.field.append(text[position : position + width])
            reader.escaped = False
        else:
            yield reader.begin, reader.end_row()
            reader.begin = reader.line
            pending = False
        position += width
    if pending:
        yield reader.begin, reader.end_row()


def parse_row(line: str, dialect: Dialect = DEFAULT) -> list[str]:
    """Read one row.

    Args:
        line: The text of the row, with or without the end of its line.
        dialect: How it is written.

    Returns:
        The fields; an empty line has none.

    Raises:
        RowError: The text is malformed or holds more than one row.
    """
    rows = list(parse_rows(line, dialect))
    if len(rows) > 1:
        raise RowError(f"expected one row, found {len(rows)}", line=1)
    return rows[0] if rows else []


def _line_end(text: str, position: int) -> int:
    """Return how many characters of a line's end stand here: 0, 1 or 2."""
    if text.startswith("\r\n", position):
        return 2
    return 1 if text[position : position + 1] in ("\r", "\n") else 0
