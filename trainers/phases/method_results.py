"""Results of optional methods: their figures and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.method import MethodResult
from trainers.methods.table import methods
from trainers.output.phase import Phase

__all__ = ["result_of_methods"]


def result_of_methods(run: ResolvedRun, records: Sequence[Mapping[str, Any]]) -> MethodResult:
    """Return the figures of all methods, and the remarks of those that a run uses.

    Args:
        run: The run.
        records: The lines of its ``metrics.jsonl``.
    """
    steps = [record for record in records if record.get("phase") == Phase.REINFORCEMENT]
    used = [method for method in methods() if method.result and method.is_used(run)]
    results: list[MethodResult] = [resolve_name(method.result)(run, steps) for method in used]
    figures = [method.figures for method in methods()] + [result.figures for result in results]
    return MethodResult(
        {name: value for part in figures for name, value in part.items()},
        [remark for result in results for remark in result.remarks],
    )
