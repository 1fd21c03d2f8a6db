"""The plan of a training step: everything that determines its episodes but the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.schedule import Schedule
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.task_feed import TaskSource
from trainers.rollouts.trajectory import Trajectory

__all__ = ["ENV_SEEDS", "StepPlan", "plan_step", "seed_of_step"]


ENV_SEEDS = 2**31
"""Exclusive upper bound of the seeds of environments."""


@dataclass(frozen=True)
class StepPlan:
    """The episodes that a process plays in a step."""

    step: int
    """Training step, from 1."""
    horizon: int
    """Turn budget."""
    arguments: Mapping[str, Any] = field(repr=False)
    """Keyword arguments of ``RolloutRunner.run``."""
    tasks: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    """Tasks of the groups of all processes."""
    group_size: int = 1
    """Episodes per task."""
    count: int = 0
    """Episodes of this process."""
    seed: int = 0
    """Seed of the step."""
    parts: tuple[RolloutPart, ...] = field(default=(), repr=False)
    """What methods do while the episodes are played."""

    def env_seed(self, group: int) -> int:
        """Return the environment seed of the members of a group."""
        return (self.seed + group) % ENV_SEEDS

    @property
    def replaced(self) -> Sequence[Trajectory]:
        """Episodes that were played and do not train, because others replace them."""
        return [*chain(*(part.replaced for part in self.parts))]

    @property
    def figures(self) -> Mapping[str, float]:
        """Figures of the parts for the log."""
        return dict(chain(*(part.figures.items() for part in self.parts)))


def seed_of_step(seed: int, step: int) -> int:
    """Return the seed of a training step, from the seed of the run.

    The groups of a step, up to 10,007, share no seed with those of the next.
    """
    return (seed * 1_000_003 + step) * 10_007


def plan_step(
    step: int,
    *,
    schedule: Schedule,
    tasks: TaskSource,
    group_size: int,
    count: int,
    rank: int,
    world: int,
    seed: int,
    sampling: Sampling,
    make_parts: Callable[[StepPlan], Sequence[RolloutPart]] = lambda plan: (),
) -> StepPlan:
    """Choose the tasks of a step, and divide the episodes among processes.

    Args:
        step: Training step, from 1.
        schedule: Turn budget by step.
        tasks: Chooses the tasks of a step, in every process the same.
        group_size: Episodes per task.
        count: Episodes of each process; groups may straddle processes.
        rank: Index of the process, which plays episodes ``rank * count`` and up.
        world: Number of processes.
        seed: Seed of the run.
        sampling: How tokens are drawn.
        make_parts: Returns what methods do while the episodes of a plan are played.

    Raises:
        ConfigurationError: The task source returned another number of tasks than asked for.
    """
    horizon = int(schedule(step))
    n_tasks = count * world // group_size
    step_tasks = list(tasks(step, n_tasks, horizon))
    if len(step_tasks) != n_tasks or n_tasks * group_size != count * world:
        raise ConfigurationError(
            f"expected {n_tasks} tasks for step {step} ({count * world} episodes in groups of "
            f"{group_size}), got {len(step_tasks)}: return as many as asked for, and let the "
            "group size divide the number of episodes"
        )
    groups = [k // group_size for k in range(rank * count, (rank + 1) * count)]
    step_seed = seed_of_step(seed, step)
    run_arguments = {
        "tasks": [step_tasks[group] for group in groups],
        "horizon": horizon,
        "groups": groups,
        "seed": step_seed,
        "sampling": sampling,
        "training_step": step,
        "first_episode": rank * count,
    }
    plan = StepPlan(step, horizon, run_arguments, step_tasks, group_size, count, step_seed)
    # Members of a group start alike, on whatever process they are.
    run_arguments["seeds"] = list(map(plan.env_seed, groups))
    return replace(plan, parts=tuple(make_parts(plan)))
