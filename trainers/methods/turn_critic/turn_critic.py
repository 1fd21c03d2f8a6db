"""Critics of turns: they score whole actions, which form the training rows.

A critic of tokens gives the baseline of the played episodes. A critic of turns learns from these
episodes, and then scores actions that the current policy samples in states visited by it or an
earlier policy. The actions are scored, not executed, and form the step's training rows.

- ``off_policy_critic``: ArCHer's Q and V, by temporal differences on a replay.
- ``privileged_critic``: SWEET-RL's advantage, which sees the expert's plan.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from trainers.grpo.step_part import ChosenRows, PlayedStep, StepContext
from trainers.methods.own_weights import OwnWeights, check_warmup
from trainers.rollouts.engines.base import Completion, Sampling, generate
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["TURN_CRITIC_FILE", "Act", "TurnCritic", "TurnCriticSettings", "act_with", "imagined"]

TURN_CRITIC_FILE = "turn_critic.pt"
"""File of a checkpoint with the critic and its optimiser."""

Act = Callable[[Sequence[Sequence[int]], Sequence[int]], list[Completion]]
"""Samples an action of the current policy after each prompt, with the given seed."""


@dataclass(frozen=True)
class TurnCriticSettings:
    """How a critic of turns learns; its signal in the preset has the sizes."""

    lr: float = 1e-4
    """Learning rate."""
    warmup: int = 0
    """Initial steps in which only the critic learns."""
    updates: int = 16
    """Updates of a step."""
    max_grad_norm: float = 1.0
    """Gradient norm at which the critic's gradients are clipped, separately from the policy's."""


class TurnCritic(OwnWeights):
    """Learns from the episodes of a step and scores candidate actions of the policy.

    Attributes:
        settings: How it learns.
    """

    credit_scores = True

    def __init__(self, context: StepContext, settings: TurnCriticSettings, head: nn.Module) -> None:
        check_warmup(context.accelerator, settings.warmup, "--turn-critic.warmup-steps")
        super().__init__(
            context.accelerator,
            lr=settings.lr,
            max_grad_norm=settings.max_grad_norm,
            file=TURN_CRITIC_FILE,
        )
        self.settings, self.warmup_steps = settings, settings.warmup
        self._head = head
        named = head.named_parameters()
        self._train(
            {f"head.{name}": parameter for name, parameter in named if parameter.requires_grad}
        )
        self._micro_tokens = context.micro_tokens
        self._pad = context.chat.tokenizer.pad_token_id

    def choose_rows(self, played: PlayedStep) -> ChosenRows:
        """Return scored actions, each a trajectory."""
        act = act_with(played.runner, played.sampling)
        return self.study(played.number, played.seed, played.episodes, played.share, act)

    @abstractmethod
    def study(
        self, step: int, seed: int, gathered: Sequence[Trajectory], share: range, act: Act
    ) -> ChosenRows:
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
    """Return a function that samples actions as an episode's turns are sampled."""
    budget, drawn = runner.budget, replace(sampling, stop_ids=runner.chat.stop_ids)
    drawn = replace(drawn, max_tokens=budget.turn_tokens)

    def act(prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Completion]:
        limits = [min(budget.turn_tokens, budget.context - len(prompt)) for prompt in prompts]
        return generate(runner.engine, prompts, drawn, limits, seeds) if prompts else []

    return act


def imagined(group: int, state: Sequence[int], action: Completion, reward: float) -> Trajectory:
    """Return an action that is scored but not executed, as a trajectory of one turn."""
    turn = SampledTurn(
        list(state), action.ids, action.logprobs, fresh=True, stopped=action.stopped,
        reward=reward, reward_terms={"critic": reward}, prompt_tokens=len(state),
    )  # fmt: skip
    return Trajectory(group=group, turns=[turn])
