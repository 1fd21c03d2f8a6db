"""What an optional method does in a training step.

The step of :mod:`~trainers.grpo.trainer` names no method. It holds a list of parts, and calls the
hooks of each where they belong; a hook that a part does not override does nothing. In the order of
the step:

1. ``rollout_parts``, ``play``, ``play_together``: how, when and where the episodes are played.
2. ``send_weights``, ``choose_rows``: further weights of the engine; what trains in place of the
   episodes.
3. ``listener``, ``add_columns``: hears the policy's hidden states; scores the sampled tokens.
4. ``credit_columns``, ``learn``: adds to what the loss reads of the advantages; learns from the
   batch with all of this.
5. ``figures``: what the log says of the episodes.
6. ``loss_terms``, ``after_backward``: takes part in the loss, and in its update.

Its state goes into checkpoints by ``save`` and ``load``. A method's maker, ``MakeStepPart``, gets
what the trainer lends, a ``StepContext``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from trainers.algorithms.preset import Column, Preset
from trainers.grpo.advantages import Credit
from trainers.grpo.step_times import StepTimes
from trainers.methods.method import Method
from trainers.methods.table import get_method, method_names
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import GenerationEngine, Sampling
from trainers.rollouts.engines.engine_weights import EnginePart, EngineWeights
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.scoring.forward import Scores, StateListener, TokenForward
from trainers.rollouts.scoring.step_tokens import StepTokens
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.task_feed import TaskSource
from trainers.rollouts.trajectory import Trajectory

__all__ = [
    "ChosenRows",
    "CreditColumns",
    "MakeStepPart",
    "PlayedStep",
    "StepContext",
    "StepPart",
    "StepRows",
    "make_parts",
    "part_makers",
]


@dataclass(frozen=True)
class StepContext:
    """What a trainer lends to the parts of its step."""

    accelerator: Accelerator
    """The trainer's accelerator."""
    preset: Preset
    """Credit, filters and loss."""
    policy: nn.Module
    """The policy with its adapters, before it is wrapped for training."""
    wrapped: Callable[[], nn.Module]
    """Returns the policy in the wrappers of training."""
    unwrapped: Callable[[], nn.Module]
    """Returns the policy out of these wrappers."""
    forward: TokenForward
    """Scores tokens."""
    chat: TurnTokenizer
    """Turn tokenizer of the policy."""
    passes: Callable[[Mapping[str, Tensor]], list[Tensor]]
    """Returns the indices of the rows of each pass over a batch, as many in every process."""
    micro_tokens: int | None
    """Maximum tokens of a pass, including padding; None: no limit."""
    temperature: float
    """Temperature at which tokens are sampled and scored."""
    own_adapters: bool
    """Whether the policy without its adapters is the one that training began with."""
    updates: int
    """Optimiser steps on each batch of episodes."""
    seed: Callable[[], int]
    """Returns the seed of the run, which a rollback may change."""
    trained_steps: Callable[[], int]
    """Returns the number of steps that the policy has been trained for."""
    gather: Callable[[list[Trajectory], str], list[Trajectory]]
    """Returns the episodes of all processes, given this process's and the name of the meeting
    point."""
    last_step: Callable[[], int]
    """Returns the last step of the training."""
    tasks: TaskSource
    """Chooses the tasks of each step."""
    times: StepTimes
    """Seconds of the step by part; scoring counts as ``logprobs`` if a hook does not say more."""


@dataclass(frozen=True)
class PlayedStep:
    """The episodes of a step, before it is decided what trains."""

    number: int
    """Training step, from 1."""
    seed: int
    """Seed of the run."""
    episodes: Sequence[Trajectory]
    """Those of all processes."""
    share: range
    """Numbers of the trajectories that this process trains, among those of the step."""
    runner: RolloutRunner
    """Played them, and can sample further actions."""
    sampling: Sampling
    """How it draws tokens."""


@dataclass(frozen=True)
class ChosenRows:
    """What trains in a step in place of the episodes that were played."""

    trajectories: list[Trajectory]
    """Trajectories of this process."""
    aux: Mapping[str, list[float]]
    """Entries of ``Batch.aux`` for their turns."""
    figures: Mapping[str, float]
    """Metrics of the step for the log, equal in every process."""


class CreditColumns(NamedTuple):
    """What a part adds to the credit of K sampled tokens."""

    columns: Mapping[str, Column] = MappingProxyType({})
    """Columns (K,) that the loss reads, by name."""
    figures: Mapping[str, float] = MappingProxyType({})
    """Metrics for the log."""


@dataclass(frozen=True)
class StepRows:
    """The rows of a step, to which parts add columns."""

    batch: dict[str, Tensor]
    """Rows of this process under TRL's names."""
    episodes: Sequence[Trajectory]
    """Trajectories that train, of all processes."""
    row_episodes: Sequence[Trajectory]
    """The trajectory of each row of this process; rows beyond them hold nothing that was
    sampled."""
    tokens: StepTokens
    """Brings columns (B, T) of the batch together with the episodes."""
    divide: Callable[[Mapping[str, Tensor]], list[Tensor]]
    """Divides rows into passes."""

    @cached_property
    def passes(self) -> list[Tensor]:
        """Indices of the rows of each pass over all sampled tokens."""
        return self.divide(self.batch)


class StepPart(EnginePart):
    """Do nothing in a step: the base class of all parts."""

    columns: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Columns (B, T) that :meth:`add_columns` adds, by their names for credit: ``values``, or an
    entry of ``Batch.aux``."""
    credit_scores: ClassVar[bool] = False
    """Whether credit depends on what this part makes of the policy's tokens, so that every sampled
    token is scored before the update."""
    compares_old: ClassVar[bool] = False
    """Whether it needs the log-probabilities of pi_old in passes like its own."""
    plays: ClassVar[bool] = False
    """Whether a policy other than the present one samples some of the tokens."""
    engines: ClassVar[tuple[Callable[..., GenerationEngine], ...]] = ()
    """Default engines where this part is: one with the weights that are trained, and one with a
    copy; empty: those of the trainer."""
    warmup_steps: int = 0
    """First steps in which this part learns and the policy does not; 0 with DeepSpeed."""
    in_loss: bool = False
    """Whether it adds :meth:`loss_terms`, for which it needs hidden states."""
    listener: StateListener | None = None
    """Receives the policy's hidden states before :meth:`add_columns`."""

    # -- episodes ----------------------------------------------------------------------------------

    def use_runner(self, runner: RolloutRunner, weights: EngineWeights) -> None:
        """Take what plays the episodes, and what sends weights to its engine."""

    def play(
        self, step: int, plans: Callable[[int], StepPlan]
    ) -> tuple[StepPlan, list[Trajectory]] | None:
        """Return the plan of a step and its episodes; None: they are played now, as planned."""
        return None

    def rollout_parts(self, plan: StepPlan) -> Sequence[RolloutPart]:
        """Return what it does while the episodes of a plan are played."""
        return ()

    def play_together(self, plan: StepPlan) -> list[Trajectory] | None:
        """Return the episodes of a plan, for which processes meet; None: each plays its own."""
        return None

    def choose_rows(self, played: PlayedStep) -> ChosenRows | None:
        """Return what trains in place of the episodes; None: they do themselves."""
        return None

    def figures(self, episodes: Sequence[Trajectory]) -> Mapping[str, float]:
        """Return figures for the log of the episodes of all processes."""
        return {}

    # -- rows and credit ---------------------------------------------------------------------------

    def add_columns(self, rows: StepRows) -> Mapping[str, float]:
        """Add columns to the batch, and return figures for the log.

        A step with a figure that is not finite makes no update.
        """
        return {}

    def credit_columns(self, credit: Credit) -> CreditColumns:
        """Return columns that the loss reads beside the advantages of all processes."""
        return CreditColumns()

    def learn(self, batch: Mapping[str, Tensor]) -> Mapping[str, float]:
        """Learn from a batch with the columns of the loss, and return figures like them."""
        return {}

    # -- the loss ----------------------------------------------------------------------------------

    def loss_terms(
        self, scores: Scores, batch: Mapping[str, Tensor]
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return addends (B, T) of the loss like ``token_losses``, and figures (B, T) of them.

        The gradient of the addends flows back to the policy.
        """
        return torch.zeros_like(scores.logps), {}

    def after_backward(self) -> None:
        """Update after the backward pass of the policy."""

    # -- the run -----------------------------------------------------------------------------------

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rate by a factor, after rollbacks."""

    def end_training(self) -> None:
        """Give up what goes on, where training ends or fails."""

    def close(self) -> None:
        """Release what the part holds, at the end of the run."""

    def saved_tasks(self, tasks: object) -> object:
        """Return the source of tasks as a checkpoint saves it."""
        return tasks

    def save(self, folder: Path) -> None:
        """Write the state into the folder of a checkpoint."""

    def load(self, folder: Path) -> None:
        """Read what :meth:`save` wrote, in every process."""


MakeStepPart = Callable[[StepContext], StepPart]
"""Makes a part for a trainer."""


def make_parts(makers: Mapping[str, MakeStepPart], context: StepContext) -> list[StepPart]:
    """Make the parts of a trainer.

    Args:
        makers: What makes a part, by the name of its method, or by any other name; it is not called
            if the preset needs nothing that the method serves.
        context: What the trainer lends.

    Returns:
        The parts of the preset's methods, with default settings for those without a maker, and
        those that other makers make; behind them those of other names.
    """
    preset = context.preset
    served = {**part_makers(preset, without=makers), **makers}
    names = [*filter(served.__contains__, dict.fromkeys([*method_names(), *served]))]
    return [served[name](context) for name in names if _reads(preset, get_method(name))]


def part_makers(
    preset: Preset, run: object = None, policy: object = None, without: Collection[str] = ()
) -> dict[str, MakeStepPart]:
    """Return what makes the parts of the methods that a preset needs, by their names.

    Args:
        preset: The preset.
        run: The ``ResolvedRun`` whose settings they have, and may ask for further methods; None:
            the defaults.
        policy: The ``LoadedPolicy`` of the run.
        without: Names of methods that are left out.
    """
    needed = {need.method for need in preset.needs}
    names = [name for name in method_names() if name not in without]
    used = [method for name in names if run or name in needed if (method := get_method(name))]
    makers = {
        method.name: resolve_name(method.step_part)(run, policy)
        for method in used
        if method.step_part
        if (_reads(preset, method) if method.needs else method.used is None or method.used(run))
    }
    return {name: make for name, make in makers.items() if make is not None}


def _reads(preset: Preset, method: Method | None) -> bool:
    """Return whether a preset reads what a method serves, if that is what the method is for."""
    return method is None or not method.needs or not {*method.needs}.isdisjoint(preset.needs)
