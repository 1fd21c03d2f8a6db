"""The event of a step's episodes, for listeners and gated schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainers.algorithms.schedule import Gated, PerFamily, Schedule
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.trajectory import Trajectory, by_family

__all__ = ["RolloutEvent", "tell_schedule"]


@dataclass(frozen=True)
class RolloutEvent:
    """The episodes of one step, as passed to ``on_rollout``."""

    step: int
    """Training step, from 1."""
    horizon: int
    """Turn budget of the step."""
    trajectories: Sequence[Trajectory]
    """Episodes of all processes, in order, followed by the episodes of replaced groups."""
    metrics: Mapping[str, float]
    """Figures over all processes."""


def tell_schedule(schedule: Schedule, step: int, episodes: Sequence[Trajectory], lag: int) -> None:
    """Report the success rate of the episodes to a gated schedule.

    Args:
        schedule: Turn budget by step.
        step: Training step of the episodes.
        episodes: Those of all processes.
        lag: Steps that are planned already.
    """
    if isinstance(schedule, Gated):
        success = rollout_metrics(episodes)["rollout/success"]
        schedule.report_success(step, success, lag)
    elif isinstance(schedule, PerFamily):
        parts = by_family(episodes).items()
        by_name = {name: rollout_metrics(part)["rollout/success"] for name, part in parts}
        schedule.report_success(step, by_name, lag)
