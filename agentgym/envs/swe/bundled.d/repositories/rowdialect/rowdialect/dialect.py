"""What a dialect of delimited rows is, and the ones that have a name."""

from __future__ import annotations

from dataclasses import dataclass, replace

QUOTING = ("minimal", "all", "strings", "none")
LINE_ENDS = ("\n", "\r\n", "\r")


class DialectError(ValueError):
    """A dialect contradicts itself."""


@dataclass(frozen=True)
class Dialect:
    """How rows are written down.

    Attributes:
        delimiter: The character between two fields.
        quote: The character around a quoted field; empty if there is no quoting.
        escape: The character that takes the meaning from the next one; empty if there is none.
        double_quote: Whether a quote inside a quoted field is written twice.
        skip_space: Whether spaces after a delimiter are left out.
        line_end: What ends a written line; every kind is read.
        quoting: When the writer quotes: ``minimal`` (where it must), ``all``, ``strings`` (all
            but numbers and empty values), or ``none``.
        comment: Lines that begin with this are skipped; empty if there are no comments.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    double_quote: bool = True
    skip_space: bool = False
    line_end: str = "\n"
    quoting: str = "minimal"
    comment: str = ""

    def __post_init__(self) -> None:
        """Refuse what no reader could read back."""
        if len(self.delimiter) != 1:
            raise DialectError(f"the delimiter must be one character, not {self.delimiter!r}")
        for name in ("quote", "escape"):
            value = getattr(self, name)
            if len(value) > 1:
                raise DialectError(f"{name} must be one character or empty, not {value!r}")
        special = [c for c in (self.delimiter, self.quote, self.escape) if c]
        if len(set(special)) != len(special):
            raise DialectError("delimiter, quote and escape must differ from each other")
        if any(c in "\r\n" for c in special):
            raise DialectError("the end of a line cannot be delimiter, quote or escape")
        if self.skip_space and self.delimiter == " ":
            raise DialectError("skip_space makes no sense where a space is the delimiter")
        if self.line_end not in LINE_ENDS:
            raise DialectError(f"line_end must be one of {LINE_ENDS}, not {self.line_end!r}")
        if self.quoting not in QUOTING:
            raise DialectError(f"quoting must be one of {QUOTING}, not {self.quoting!r}")
        if self.quoting in ("all", "strings") and not self.quote:
            raise DialectError(f"quoting={self.quoting!r} needs a quote character")

    def with_(self, **changes: object) -> Dialect:
        """Return a copy with some attributes changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


CSV = Dialect(line_end="\r\n")
"""Comma-separated values as in RFC 4180."""
TSV = Dialect(delimiter="\t", quote="", escape="\\", double_quote=False, quoting="none")
"""Tab-separated values; special characters are escaped with a backslash."""
PIPES = Dialect(delimiter="|", skip_space=True)
"""Fields between vertical bars."""
