"""Compare an answer with the expected one.

Source: AgentBench (Liu et al., 2023, arXiv 2308.03688), the comparison of its dbbench: numbers are
equal within a hundredth; several values are a set, regardless of order. An answer is parsed as JSON
and never evaluated. For its rows alone a value that means "none" is 0, as its data needs; elsewhere
that would be a free answer to "how many" where nothing matches.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

TOLERANCE = 0.01
_NOTHING = frozenset(
    {"none", "null", "undefined", "nan", "inf", "infinity", "-inf", "-infinity", ""}
)
"""What AgentBench takes for 0."""
_NULL = frozenset({"none", "null"})
"""Names of the value that SQL writes NULL."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?")
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_GROUPS = re.compile(r"[-+0-9.,]+")


def same_answer(answer: str, expected: Sequence[str], *, agentbench: bool = False) -> bool:
    """Return whether an answer gives the expected values.

    Args:
        answer: The policy's answer: a value, comma-separated values, or a JSON list.
        expected: The expected values.
        agentbench: Whether the task is a row of AgentBench, where "none" and its like are 0.
    """
    values = [_clean(value, agentbench) for value in _values(answer, len(expected))]
    right_values = [_clean(value, agentbench) for value in expected]
    numbers, right_numbers = _numbers(values), _numbers(right_values)
    if numbers is None or right_numbers is None:
        return set(values) == set(right_values)
    pairs = zip(sorted(numbers), sorted(right_numbers), strict=False)
    return len(values) == len(right_values) and all(abs(a - b) <= TOLERANCE for a, b in pairs)


def _values(answer: str, count: int) -> list[str]:
    """Read the values of an answer."""
    text = answer.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return [str(value) for value in json.loads(text)]
        except (ValueError, RecursionError):
            return text[1:-1].split(",")
    return text.split(",") if count > 1 else [text]


def _clean(value: str, agentbench: bool) -> str:
    """Write a value in one way."""
    text = value.strip().strip("'\"").strip().casefold()
    text = text[:-1].strip() if text.endswith("%") else text
    if agentbench and text in _NOTHING:
        return "0"
    if text in _NULL:
        return "null"
    if not agentbench and _GROUPS.fullmatch(text) and not _THOUSANDS.fullmatch(text):
        return text  # 4,2 is not 42
    return text.replace(",", "")


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """Read numbers of ASCII digits; None if one of the texts is no such number.

    Python also takes 4_2, nan and digits of other scripts.
    """
    if not all(map(_NUMBER.fullmatch, texts)):
        return None
    numbers = [float(text) for text in texts]
    return numbers if all(map(math.isfinite, numbers)) else None
