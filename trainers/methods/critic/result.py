"""The critic's entry in the result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.methods.critic.settings import CriticConfig
from trainers.methods.explained_variance import explained_result
from trainers.methods.method import MethodResult, section_of

__all__ = ["result_of_critic"]


def result_of_critic(run: ResolvedRun, steps: Sequence[Mapping[str, Any]]) -> MethodResult:
    """Return the explained variance of a critic, in figures and in words."""
    advice = "Compare with --critic.kind zero before you attribute a gain to the critic."
    result = explained_result(steps, advice)
    if result.remarks and section_of(run.config, CriticConfig).kind == "zero":
        remark = "All values were 0 (--critic.kind zero): there was no critic."
        return result._replace(remarks=[remark])
    return result
