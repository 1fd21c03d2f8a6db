"""Refill over several processes: the groups of a step that replace others.

A single process replaces a group as soon as it turns out flat. Several processes play in rounds:
they exchange the groups of a round and divide the replacements of its flat groups. Both end with
the same groups, by the rule of ``trainers.rollouts.refill``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trainers.grpo.step_plan import StepPlan
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

__all__ = ["play_in_rounds"]


def play_in_rounds(
    runner: RolloutRunner,
    plan: StepPlan,
    rank: int,
    world: int,
    gather: Callable[[list[Trajectory], str], list[Trajectory]],
) -> list[Trajectory]:
    """Play a process's part of a step.

    Args:
        runner: Plays the episodes.
        plan: What is played.
        rank: Index of the process.
        world: Number of processes; one replaces groups without rounds.
        gather: Returns the episodes of all processes, given this process's and the name of the
            meeting point.

    Returns:
        Its part of the batch.
    """
    refill = plan.refill
    if refill is None or world == 1:
        return runner.run(**plan.arguments, refill=refill)
    own_episodes = runner.run(**plan.arguments)
    count = len(own_episodes)
    all_episodes: list[Trajectory] = []
    while True:
        gathered = gather(own_episodes, f"the end of a round of step {plan.step}")
        numbered = enumerate(gathered, len(all_episodes))
        all_episodes += gathered
        begun = [task for number, episode in numbered for task in refill.ended(number, episode)]
        if not begun:
            return refill.batch(all_episodes)[rank * count :][:count]
        first, last = (process * len(begun) // world for process in (rank, rank + 1))
        own_episodes = _play(runner, plan, begun[first:last])


def _play(
    runner: RolloutRunner, plan: StepPlan, begun: Sequence[tuple[int, Trajectory]]
) -> list[Trajectory]:
    """Play episodes that replace others, with their numbers."""
    changed: dict[str, Any] = {
        "tasks": [{**blank.options, FAMILY: blank.family} for _, blank in begun],
        "groups": [blank.group for _, blank in begun],
        "seeds": [blank.seed for _, blank in begun],
        "numbers": [number for number, _ in begun],
    }
    return runner.run(**{**plan.arguments, **changed}) if begun else []
