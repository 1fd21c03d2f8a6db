"""Critics of turns: they score whole actions, which form the training rows.

A critic of tokens gives the baseline of the played episodes. A critic of turns learns from these
episodes, and then scores actions that the current policy samples in states visited by it or an
earlier policy. The actions are scored, not executed, and form the step's training rows.

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
"""Samples an action of the current policy after each prompt, with the given seed."""


@dataclass(frozen=True)
class TurnCriticParts:
    """Dependencies of a critic of turns."""

    settings: CriticSettings
    """How it learns."""
    accelerator: Accelerator
    """That of the trainer."""
    policy: nn.Module
    """The policy with its adapters, before it is wrapped for training; a critic is initialised as a
    copy."""
    forward: TokenForward
    """Scores tokens."""
    tokenizer: Any
    """That of the policy."""
    micro_tokens: int | None
    """Maximum tokens of a forward pass, including padding; None: no limit."""
    plan: Callable[[Trajectory], str] | None
    """Returns the expert's plan for the task of an episode; None: no plans are available."""


class Judged(NamedTuple):
    """Scored actions that train in a step."""

    trajectories: list[Trajectory]
    """Trajectories of this process, each of a single turn."""
    aux: Mapping[str, list[float]]
    """Entries of ``Batch.aux`` for these turns."""
    figures: Mapping[str, float]
    """Metrics of the step for the log, equal in every process."""


class TurnCritic(LearningCritic):
    """Learns from the episodes of a step and scores candidate actions of the policy."""

    def __init__(self, parts: TurnCriticParts, head: nn.Module) -> None:
        super().__init__(parts.settings, parts.accelerator, head)
        self._micro_tokens, self._pad = parts.micro_tokens, parts.tokenizer.pad_token_id

    @abstractmethod
    def study(
        self, step: int, seed: int, gathered: Sequence[Trajectory], share: range, act: Act
    ) -> Judged:
        """Learn, and score actions of the policy in visited states.

        Args:
            step: Training step, from 1.
            seed: Seed of all random draws.
            gathered: The episodes of all processes.
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

    def _share_of(self, count: int) -> range:
        """Return which of some numbers are this process's part of the work."""
        return range(self._accelerator.process_index, count, self._accelerator.num_processes)

    def _mean(self, total: Tensor) -> float:
        """Return the sum over the processes of parts of a mean."""
        return float(self._accelerator.reduce(total.detach().float(), reduction="sum"))

    def _everyones(self, own_values: Mapping[int, float], count: int) -> list[float]:
        """Return ``count`` values by their numbers, of which every process has some."""
        values_by_number = torch.zeros(count, dtype=torch.float64, device=self._accelerator.device)
        values = torch.tensor(
            list(own_values.values()), dtype=torch.float64, device=values_by_number.device
        )
        values_by_number[list(own_values)] = values
        total: Tensor = self._accelerator.reduce(values_by_number, reduction="sum")
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
