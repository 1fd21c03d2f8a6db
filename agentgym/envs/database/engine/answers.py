"""Compare an answer with the expected one, as AgentBench does.

Source: AgentBench (Liu et al., 2023, arXiv 2308.03688), the comparison of its dbbench: numbers are
equal within a hundredth; several values are a set, regardless of order; a value that means "none"
is 0. An answer is parsed as JSON and never evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

TOLERANCE = 0.01
_NOTHING = frozenset(
    {"none", "null", "undefined", "nan", "inf", "infinity", "-inf", "-infinity", ""}
)


def same_answer(given: str, expected: Sequence[str]) -> bool:
    """Return whether an answer gives the expected values.

    Args:
        given: The policy's answer: a value, comma-separated values, or a JSON list.
        expected: The expected values.
    """
    mine, wanted = _values(given, len(expected)), [_clean(value) for value in expected]
    numbers = [_number(each) for each in mine], [_number(each) for each in wanted]
    if None not in numbers[0] and None not in numbers[1]:
        pairs = zip(*(sorted(each or 0.0 for each in some) for some in numbers), strict=False)
        return len(mine) == len(wanted) and all(abs(a - b) <= TOLERANCE for a, b in pairs)
    return set(mine) == set(wanted)


def _values(given: str, count: int) -> list[str]:
    """Read the values of an answer."""
    text = given.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = text[1:-1].split(",")
        return [_clean(str(each)) for each in found]
    return [_clean(each) for each in (text.split(",") if count > 1 else [text])]


def _clean(value: str) -> str:
    """Write a value in one way."""
    text = value.strip().strip("'\"").strip().casefold()
    text = text[:-1].strip() if text.endswith("%") else text
    return "0" if text in _NOTHING else text.replace(",", "")


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if found == found else None
