"""Refill as a part of the step: it replaces groups of the plan while they are played."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from trainers.algorithms.filters import keep_known
from trainers.algorithms.preset import Preset
from trainers.grpo.step_part import MakeStepPart, StepContext, StepPart
from trainers.methods.refill.refill import Refill
from trainers.methods.refill.rounds import play_in_rounds
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.task_feed import further_tasks
from trainers.rollouts.trajectory import Trajectory, to_batch

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["ReplacedGroups", "group_trains", "refill_part"]


class ReplacedGroups(StepPart):
    """Replace the groups of a step without a learning signal, as its preset says."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._runner: RolloutRunner

    def use_runner(self, runner: RolloutRunner, weights: EngineWeights) -> None:
        """Take the runner of the episodes."""
        self._runner = runner

    def rollout_parts(self, plan: StepPlan) -> Sequence[Refill]:
        """Return the refill of a step's groups.

        Raises:
            ConfigurationError: The task source has no further tasks.
        """
        context = self._context
        refill = Refill(
            plan.tasks,
            further_tasks(context.tasks, plan.step, len(plan.tasks), plan.horizon),
            group_size=plan.group_size,
            limit=context.preset.refill,
            seed=plan.env_seed,
            trains=partial(group_trains, context.preset),
        )
        return [refill]

    def play_together(self, plan: StepPlan) -> list[Trajectory] | None:
        """Play in rounds, where there are several processes."""
        accelerator = self._context.accelerator
        rank, world = accelerator.process_index, accelerator.num_processes
        if world == 1:
            return None
        refill = next(part for part in plan.parts if isinstance(part, Refill))
        return play_in_rounds(self._runner, plan, refill, rank, world, self._context.gather)


def group_trains(preset: Preset, group: Sequence[Trajectory]) -> bool:
    """Return whether the filters of a preset keep any episode of a complete group in the loss."""
    if not any(episode.action_tokens for episode in group):
        return False
    return bool(keep_known(to_batch(group), preset.filters).train.any())


def refill_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of the part, which depends only on the preset."""
    return ReplacedGroups
