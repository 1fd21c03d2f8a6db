"""Sets as people write them: ``1-3, 7, 10-12``."""

from __future__ import annotations

import re

from spanset.sets import SpanSet
from spanset.span import Span

_PART = re.compile(r"\s*(-?\d+)\s*(?:-\s*(-?\d+))?\s*", re.ASCII)


def parse(text: str) -> SpanSet:
    """Read a set; both ends of ``a-b`` are included.

    Args:
        text: Numbers and ranges with commas between them; empty for the empty set.

    Returns:
        The set.

    Raises:
        ValueError: A part is no number and no range, or a range runs backwards.
    """
    if not text.strip():
        return SpanSet()
    spans = []
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is neither a number nor a range")
        first = int(match.group(1))
        last = first if match.group(2) is None else int(match.group(2))
        if last < first:
            raise ValueError(f"{part.strip()!r} runs backwards")
        spans.append(Span(first, last + 1))
    return SpanSet(spans)
