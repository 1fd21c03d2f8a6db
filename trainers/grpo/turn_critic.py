"""Critics of turns: they judge whole actions, and what they judge is what trains.

A critic of tokens tells the baseline of the episodes that were played. One of turns learns from
them, and then judges actions that the present policy writes in states where it, or an earlier one,
has been; nobody carries them out. These are the step's training rows.

- :mod:`~trainers.grpo.off_policy_critic`: ArCHer's Q and V, by temporal differences on a replay.
- :mod:`~trainers.grpo.privileged_critic`: SWEET-RL's advantage, which sees the expert's plan.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from trainers.grpo.critic import CriticSettings, LearningCritic
from trainers.grpo.forward import TokenForward
from trainers.rollouts.engines.base import Completion, Sampling, generate
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["Act", "Judged", "TurnCritic", "TurnCriticParts", "act_with", "imagined"]

Act = Callable[[Sequence[Sequence[int]], Sequence[int]], list[Completion]]
"""Lets the present policy write an action after each prompt, drawn by its seed."""


@dataclass(frozen=True)
class TurnCriticParts:
    """What a critic of turns is made with."""

    settings: CriticSettings
    """How it learns."""
    accelerator: Accelerator
    """That of the trainer."""
    policy: nn.Module
    """The policy with its adapters, not yet wrapped to train; a critic begins as a copy of it."""
    forward: TokenForward
    """Scores tokens."""
    tokenizer: Any
    """That of the policy."""
    micro_tokens: int | None
    """Most tokens of a forward pass, padding included; None: no limit."""
    plan: Callable[[Trajectory], str] | None
    """The expert's plan for the task of an episode; None: there is none to be had."""


class Judged(NamedTuple):
    """What trains in a step."""

    trajectories: list[Trajectory]
    """Those of this process, each of a single turn."""
    aux: Mapping[str, list[float]]
    """Entries of ``Batch.aux`` for these turns."""
    figures: Mapping[str, float]
    """Figures of the step for the log, the same in every process."""


class TurnCritic(LearningCritic):
    """Learns from the episodes of a step and judges what the policy would do."""

    def __init__(self, parts: TurnCriticParts, head: nn.Module) -> None:
        super().__init__(parts.settings, parts.accelerator, head)
        self._micro_tokens, self._pad = parts.micro_tokens, parts.tokenizer.pad_token_id

    @abstractmethod
    def study(
        self, step: int, seed: int, played: Sequence[Trajectory], share: range, act: Act
    ) -> Judged:
        """Learn, and let the policy act in states where it has been.

        Args:
            step: Training step, from 1.
            seed: Seed of all that is drawn.
            played: The episodes of all processes.
            share: Numbers of the trajectories that this process trains, among those of the step.
            act: Samples actions.
        """

    def step(self) -> None:
        """Update; where a process had nothing to learn from, its share of the gradient is 0."""
        if self._accelerator.num_processes > 1:
            for weight in self._trained.values():
                if weight.grad is None:
                    weight.grad = torch.zeros_like(weight)
        super().step()

    def _mine(self, count: int) -> range:
        """Return which of some numbers are this process's part of the work."""
        return range(self._accelerator.process_index, count, self._accelerator.num_processes)

    def _mean(self, total: Tensor) -> float:
        """Return the sum over the processes of parts of a mean."""
        return float(self._accelerator.reduce(total.detach().float(), reduction="sum"))

    def _everyones(self, mine: Mapping[int, float], count: int) -> list[float]:
        """Return ``count`` values by their numbers, of which every process has some."""
        found = torch.zeros(count, dtype=torch.float64, device=self._accelerator.device)
        values = torch.tensor(list(mine.values()), dtype=torch.float64, device=found.device)
        found[list(mine)] = values
        total: Tensor = self._accelerator.reduce(found, reduction="sum")
        return total.tolist()


def act_with(runner: RolloutRunner, sampling: Sampling) -> Act:
    """Return what samples actions as an episode's turns are sampled."""
    budget, drawn = runner.budget, replace(sampling, stop_ids=runner.chat.stop_ids)
    drawn = replace(drawn, max_tokens=budget.turn_tokens)

    def act(prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Completion]:
        limits = [min(budget.turn_tokens, budget.context - len(prompt)) for prompt in prompts]
        return generate(runner.engine, prompts, drawn, limits, seeds) if prompts else []

    return act


def imagined(group: int, state: Sequence[int], action: Completion, reward: float) -> Trajectory:
    """Return an action that nobody carries out as a trajectory of one turn."""
    turn = SampledTurn(
        list(state), action.ids, action.logprobs, fresh=True, stopped=action.stopped,
        reward=reward, reward_terms={"critic": reward}, prompt_tokens=len(state),
    )  # fmt: skip
    return Trajectory(group=group, turns=[turn])
