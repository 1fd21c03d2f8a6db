"""The critic of turns' entry in the result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.explained_variance import explained_result
from trainers.methods.method import MethodResult

__all__ = ["result_of_turn_critic"]


def result_of_turn_critic(run: ResolvedRun, steps: Sequence[Mapping[str, Any]]) -> MethodResult:
    """Return the explained variance of a critic of turns, in figures and in words."""
    return explained_result(steps, "Its advantages are no more reliable.")
