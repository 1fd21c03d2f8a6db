"""The report's figure on a critic's values: the variance that they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.methods.method import MethodResult

__all__ = ["explained_result"]


def explained_result(steps: Sequence[Mapping[str, Any]], consequence: str) -> MethodResult:
    """Return the variance that values explained in the last third of the steps, if there are any.

    Args:
        steps: The records of the steps.
        consequence: The consequence if it is at most 0.
    """
    explained = [step["explained_variance"] for step in steps if "explained_variance" in step]
    if not explained:
        return MethodResult()
    last = explained[-max(1, len(explained) // 3) :]
    mean = sum(last) / len(last)
    text = (
        f"In the last third of the steps the critic explained {mean:.2f} of the variance of the "
        "returns (1 is all)"
    )
    end = "." if mean > 0 else f": no more than a constant would. {consequence}"
    return MethodResult({"explained_variance": mean}, [text + end])
