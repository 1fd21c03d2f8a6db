"""Which dialect a text is probably written in."""

from __future__ import annotations

from collections import Counter

from rowdialect.dialect import Dialect, DialectError
from rowdialect.parser import RowError, parse_rows

CANDIDATES = ",;\t|:"


def sniff(text: str, candidates: str = CANDIDATES, max_rows: int = 20) -> Dialect:
    """Choose the delimiter under which the rows of a text agree best.

    For every candidate the rows are read; its score is the share of rows that have the most
    frequent number of fields. Candidates that never split a row do not count. Of equal scores
    the one with more fields wins, then the one that stands first among the candidates.

    Args:
        text: A sample of the text.
        candidates: The delimiters to try.
        max_rows: How many rows to look at.

    Returns:
        The default dialect with the delimiter that was found.

    Raises:
        DialectError: No candidate splits the rows.
    """
    best: tuple[float, int] | None = None
    choice = ""
    for delimiter in candidates:
        score = _score(text, Dialect(delimiter=delimiter), max_rows)
        if score is not None and (best is None or score > best):
            best, choice = score, delimiter
    if best is None:
        raise DialectError(f"none of {candidates!r} separates fields in this text")
    return Dialect(delimiter=choice)


def _score(text: str, dialect: Dialect, max_rows: int) -> tuple[float, int] | None:
    """Return how well the rows agree and how many fields they have; None if they do not split."""
    widths: list[int] = []
    try:
        for row in parse_rows(text, dialect):
            if len(widths) == max_rows:
                break
            if row:
                widths.append(len(row))
    except RowError:
        return None
    if not widths:
        return None
    width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
    return (count / len(widths), width) if width > 1 else None
