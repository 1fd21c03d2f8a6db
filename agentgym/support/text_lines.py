"""Lines of text: they end at a line feed, as files, diffs and logs mean it.

``str.splitlines`` also splits at form feeds, at U+2028 and at six more characters that may stand
inside a line.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def split_lines(text: str, *, keep_ends: bool = False) -> list[str]:
    r"""Split text into lines.

    Args:
        text: The text.
        keep_ends: Keep line ends, so that ``"".join`` undoes it. Else ``\n`` and ``\r\n`` are cut
            off.
    """
    if keep_ends:
        return _LINE.findall(text)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def first_line(text: str) -> str:
    """Return the first line that is not blank, without white space around it; "" if all are."""
    return text.strip().partition("\n")[0].rstrip()


def error_line(error: BaseException) -> str:
    """Return the first line of an error's message; its ``repr`` if it has no message."""
    return first_line(str(error)) or repr(error)


def last_line(text: str) -> str:
    """Return the last line that is not blank, without white space around it; "" if all are."""
    return text.strip().rpartition("\n")[2].lstrip()
