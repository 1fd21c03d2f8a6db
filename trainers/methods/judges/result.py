"""The judges' entry in the result of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.method import MethodResult

__all__ = ["result_of_judges"]

TOTALS = ("_asked", "_missing", "judge_calls", "judge_tokens")
"""Ends of the names of figures that are added up."""


def result_of_judges(run: ResolvedRun, steps: Sequence[Mapping[str, Any]]) -> MethodResult:
    """Return requests, missing verdicts and usage of the judges.

    The figures are, for each judge by the name of its hook, ``NAME_asked`` and ``NAME_missing``,
    and of all ``judge_calls`` and ``judge_tokens``.
    """
    totals: Counter[str] = Counter()
    for step in steps:
        if "judge_calls" in step:
            totals.update({name: int(step[name]) for name in step if name.endswith(TOTALS)})
    expected, missing = (
        sum(count for name, count in totals.items() if name.endswith(end)) for end in TOTALS[:2]
    )
    remark = (
        f"{missing:,} of {expected:,} verdicts of judges are missing; training left out episodes "
        "without a verdict."
    )
    return MethodResult({"judges": dict(totals)}, [remark] if missing else [])
