"""Paths to numbers in result files, as ``benchmarks/quoted.toml`` and the tables write them."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.tables.formats import RESULTS
from trainers.output.seed_summary import spread

OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "/": operator.truediv,
}  # fmt: skip
REDUCERS: Mapping[str, Callable[[list[float]], float]] = {
    "min": min, "max": max, "sum": sum, "count": len, "mean": lambda values: spread(values)["mean"],
    "low": lambda values: spread(values)["ci95"][0],
    "high": lambda values: spread(values)["ci95"][1],
}  # fmt: skip
"""Word before a path with ``*`` -> function of the numbers."""


def evaluate(expression: str, file: str, results: Path = RESULTS) -> float:
    """Return the number at a path, or computed from two paths.

    Args:
        expression: Keys joined by dots; ``max a.*.b``; ``a - b``; ``other.json#a``.
        file: Result file of a path that names none.
        results: Folder of the result files.

    Raises:
        ValueError: The expression has another form.
    """
    prefix, sign, path = expression.partition("#")
    if sign:
        reducer, _, file = prefix.rpartition(" ")
        expression = f"{reducer} {path}".strip()
    content = json.loads((results / file).read_text())
    word, _, path = expression.partition(" ")
    if word in REDUCERS:
        return float(REDUCERS[word](list(_numbers(content, path.split(".")))))
    first, *operations = re.split(r" ([+\-/]) ", expression)
    if not operations:
        return _operand(content, first)
    if len(operations) == 2:
        sign, number = operations
        return OPERATORS[sign](_operand(content, first), _operand(content, number))
    raise ValueError(f"expected a path, 'a - b' or 'min a.*.b', got {expression!r}")


def _operand(content: Any, word: str) -> float:
    """Return a number, or the one at a path."""
    if re.fullmatch(r"[\d.]+", word):
        return float(word)
    (value,) = _numbers(content, word.split("."))
    return value


def _numbers(content: Any, keys: list[str]) -> Iterator[float]:
    """Yield the numbers at a path, ``*`` standing for each item of a list or mapping."""
    if not keys:
        yield float(content)
        return
    key, *subkeys = keys
    if key == "*":
        for part in content.values() if isinstance(content, dict) else content:
            yield from _numbers(part, subkeys)
    else:
        yield from _numbers(
            content[int(key)] if isinstance(content, list) else content[key], subkeys
        )
