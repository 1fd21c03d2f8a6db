"""Refill over several processes: the groups of a step that replace others.

A single process replaces a group as soon as it turns out flat. Several processes play in rounds:
they exchange the groups of a round and divide the replacements of its flat groups. Both end with
the same groups, by the rule of ``Refill``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trainers.methods.refill.refill import Refill
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

__all__ = ["play_in_rounds"]


def play_in_rounds(
    runner: RolloutRunner,
    plan: StepPlan,
    refill: Refill,
    rank: int,
    world: int,
    gather: Callable[[list[Trajectory], str], list[Trajectory]],
) -> list[Trajectory]:
    """Play a process's part of a step.

    Args:
        runner: Plays the episodes.
        plan: The plan of the step.
        refill: The part of the plan that replaces groups.
        rank: Index of the process.
        world: Number of processes.
        gather: Returns the episodes of all processes, given this process's and the name of the
            meeting point.

    Returns:
        Its part of the batch.
    """
    parts = [part for part in plan.parts if part is not refill]
    own_episodes = runner.run(**plan.arguments, parts=parts)
    count = len(own_episodes)
    all_episodes: list[Trajectory] = []
    while True:
        gathered = gather(own_episodes, f"the end of a round of step {plan.step}")
        all_episodes += gathered
        blanks = [blank for episode in gathered for blank in refill.end(episode)]
        if not blanks:
            return refill.choose(all_episodes)[rank * count :][:count]
        first, last = (process * len(blanks) // world for process in (rank, rank + 1))
        own_episodes = _play(runner, plan, parts, blanks[first:last])


def _play(
    runner: RolloutRunner,
    plan: StepPlan,
    parts: Sequence[RolloutPart],
    blanks: Sequence[Trajectory],
) -> list[Trajectory]:
    """Play episodes that replace others, with their numbers."""
    changed: dict[str, Any] = {
        "tasks": [{**blank.options, FAMILY: blank.family} for blank in blanks],
        "groups": [blank.group for blank in blanks],
        "seeds": [blank.seed for blank in blanks],
        "numbers": [blank.number for blank in blanks],
    }
    return runner.run(**{**plan.arguments, **changed}, parts=parts) if blanks else []
