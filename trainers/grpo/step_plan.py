"""The plan of a training step: everything that determines its episodes but the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.branching import Branching
from trainers.algorithms.schedule import Schedule
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.refill import Refill
from trainers.rollouts.task_feed import TaskSource, further_tasks
from trainers.rollouts.trajectory import Trajectory

__all__ = ["StepPlan", "plan_step"]


@dataclass(frozen=True)
class StepPlan:
    """The episodes that a process plays in a step."""

    step: int
    """Training step, from 1."""
    horizon: int
    """Turn budget."""
    arguments: Mapping[str, Any] = field(repr=False)
    """Keyword arguments of ``RolloutRunner.run``."""
    refill: Refill | None = field(default=None, repr=False)
    """Replaces groups without a learning signal."""

    @property
    def replaced(self) -> Sequence[Trajectory]:
        """Episodes that were played and do not train, because others replace them."""
        return () if self.refill is None else self.refill.replaced

    @property
    def figures(self) -> Mapping[str, float]:
        """Figures of the replacements for the log."""
        return {} if self.refill is None else self.refill.figures


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
    refill: int = 0,
    trains: Callable[[Sequence[Trajectory]], bool] = bool,
    branching: Branching | None = None,
    arguments: Mapping[str, object] = MappingProxyType({}),
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
        refill: Maximum number of groups played per group of the batch; 0 replaces none.
        trains: Whether a finished group has a learning signal.
        branching: Where episodes are forked; None: nowhere.
        arguments: Further keyword arguments of ``RolloutRunner.run``.

    Raises:
        ConfigurationError: The task source returned another number of tasks than asked for, or has
            no further tasks for replacements, or the tree of an episode would straddle processes.
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
    leaves = branching.leaves(group_size) if branching is not None else 1
    if count % leaves:
        raise ConfigurationError(
            f"expected the {count} episodes of each process to be a multiple of the {leaves} that "
            "one may become by forks; launch fewer processes, or raise --rl.groups"
        )
    groups = [k // group_size for k in range(rank * count, (rank + 1) * count)]
    # So far apart that the groups of a step, up to 10,007, share no seed with those of the next.
    step_seed = (seed * 1_000_003 + step) * 10_007

    def env_seed(group: int) -> int:
        return (step_seed + group) % 2**31

    replacements = None
    if refill:
        further = further_tasks(tasks, step, n_tasks, horizon)
        replacements = Refill(
            step_tasks, further, group_size=group_size, most=refill, seed=env_seed, trains=trains
        )
    run_arguments = {
        **arguments,
        "tasks": [step_tasks[group] for group in groups],
        "horizon": horizon,
        "groups": groups,
        "seed": step_seed,
        # Members of a group start alike, on whatever process they are.
        "seeds": list(map(env_seed, groups)),
        "sampling": sampling,
        "training_step": step,
        "first_episode": rank * count,
        "branching": branching,
        "leaves": leaves,
    }
    return StepPlan(step, horizon, run_arguments, replacements)
