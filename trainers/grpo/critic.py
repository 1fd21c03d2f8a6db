"""The critic: value estimates of states, and how they are learned.

V_k, the value before sampled token k, is a linear function of the hidden state from which the token
is drawn: the policy's own, or that of a second model that began as a copy of it. A critic is not
part of the policy: it has separate weights, optimiser and checkpoint file, and is not served, saved
or sharded with the policy. Every process holds it whole and averages its gradient by hand.

Most critics learn separately: each step, before the policy update, a few updates on the whole
batch,

    minimise 1/K' sum_k u_k E_k        (``trainers.grpo.objective.value_errors``).

A critic with a shared trunk learns with the policy instead, and its error also trains the policy's
layers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import Tensor, nn

from agentgym.errors import NotSupported
from trainers.grpo.forward import Scores, StateListener
from trainers.grpo.objective import value_errors
from trainers.grpo.own_weights import OwnWeights
from trainers.grpo.tensors import left_aligned, sampled_mask, trimmed
from trainers.rollouts.engines.policy_weights import base_model

__all__ = ["CRITIC_FILE", "Critic", "CriticSettings", "check_warmup", "make_critic"]

CRITIC_FILE = "critic.pt"
"""File of a checkpoint with the critic and its optimiser."""


@dataclass(frozen=True)
class CriticSettings:
    """Kind and training of a critic; value clip and targets are settings of the loss."""

    kind: Literal["head", "model", "zero"] = "head"
    """head: a linear head on the policy's hidden states; model: a separate model; none: every value
    is 0, the control that measures the benefit of a critic."""
    trunk: Literal["detached", "shared"] = "detached"
    """Whether the error of a head also trains the policy's layers."""
    lr: float = 1e-4
    """Learning rate."""
    warmup: int = 0
    """Initial steps in which only the critic learns."""
    updates: int = 16
    """Updates of a step, each on all of the batch."""
    max_grad_norm: float = 1.0
    """Gradient norm at which the critic's gradients are clipped, separately from the policy's."""


class Critic:
    """A critic with all values 0: the control, and the base class of the others.

    Attributes:
        settings: How it learns.
        shares: Whether it learns with the policy, through a term of the policy's loss.
        listener: Receives the policy's hidden states before :meth:`values`; None: not needed.
    """

    shares = False
    listener: StateListener | None = None

    def __init__(self, settings: CriticSettings) -> None:
        self.settings = settings

    def values(self, batch: Mapping[str, Tensor], parts: Sequence[Tensor]) -> Tensor:
        """Compute the values (B, T) of the sampled tokens, without gradients.

        Args:
            batch: Rows under TRL's names.
            parts: Indices of the rows of each pass.
        """
        return torch.zeros(batch["completion_ids"].shape, device=batch["completion_ids"].device)

    def learn(
        self, batch: Mapping[str, Tensor], parts: Sequence[Tensor], clip: float | None
    ) -> float:
        """Learn from a batch, separately from the policy.

        Args:
            batch: The batch of :meth:`values`, with the columns of the loss.
            parts: Indices of the rows of each pass.
            clip: Maximum change of a value, see ``value_errors``.

        Returns:
            The mean error before the last update; 0 if there is nothing to learn.
        """
        return 0.0

    def judged(self, scores: Scores) -> Scores:
        """Add values to scores; their gradient flows back to the policy."""
        return scores

    def step(self) -> None:
        """Update the weights with their current gradients."""
        return

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rate by a factor."""
        return

    def save(self, folder: Path) -> None:
        """Write weights and optimiser into a checkpoint."""
        return

    def load(self, folder: Path) -> None:
        """Read what :meth:`save` wrote."""
        return


class LearningCritic(OwnWeights, Critic):
    """A critic with weights."""

    def __init__(
        self, settings: CriticSettings, accelerator: Accelerator, head: int | nn.Module
    ) -> None:
        """Start with a linear head of this many inputs and values of 0, or with a given model."""
        Critic.__init__(self, settings)
        OwnWeights.__init__(
            self,
            accelerator,
            lr=settings.lr,
            max_grad_norm=settings.max_grad_norm,
            file=CRITIC_FILE,
        )
        self._head = _no_baseline(head, accelerator) if isinstance(head, int) else head
        named = self._head.named_parameters()
        self._train(
            {f"head.{name}": parameter for name, parameter in named if parameter.requires_grad}
        )

    def _of_states(self, states: Tensor) -> Tensor:
        """Values (...) of hidden states (..., H), in single precision."""
        with torch.autocast(states.device.type, enabled=False):
            values: Tensor = self._head(states.float()).squeeze(-1)
        return values

    def _tokens(self, batch: Mapping[str, Tensor]) -> Tensor:
        """K' of a batch, and of that the share of a process: gradients are averaged."""
        return batch["num_items_in_batch"] / self._accelerator.num_processes


class HeadCritic(LearningCritic):
    """A linear function of the policy's own hidden states.

    The hidden states of a batch are kept from the policy's pass until the critic has learned, so
    that rows are read only once and its updates are cheap.
    """

    def __init__(self, settings: CriticSettings, accelerator: Accelerator, hidden: int) -> None:
        super().__init__(settings, accelerator, hidden)
        self.shares = settings.trunk == "shared"
        self.listener = self._hear
        self._pass_states: list[tuple[Tensor, Tensor, Tensor]] = []

    def _hear(self, rows: Tensor, mask: Tensor, states: Tensor) -> None:
        """Keep the hidden states (n, T', H) of some rows at the tokens of a mask (n, T')."""
        self._pass_states.append((rows, mask, states[mask]))

    def values(self, batch: Mapping[str, Tensor], parts: Sequence[Tensor]) -> Tensor:
        """Return the values (B, T) of the received hidden states."""
        out = super().values(batch, parts)
        with torch.no_grad():
            for rows, mask, states in self._pass_states:
                part = torch.zeros(mask.shape, device=mask.device)
                part[mask] = self._of_states(states)
                out[rows, : mask.shape[1]] = part
        if self.shares:
            self._pass_states.clear()
        return out

    def learn(
        self, batch: Mapping[str, Tensor], parts: Sequence[Tensor], clip: float | None
    ) -> float:
        """Update on all states at once."""
        if self.shares:
            return 0.0
        names = ("value_targets", "old_values", "value_weights")
        # (K,) each, in the order of the states.
        columns = {
            name: torch.cat(
                [batch[name][rows, : m.shape[1]][m] for rows, m, _ in self._pass_states]
            )
            for name in names
        }
        states = torch.cat([states for _, _, states in self._pass_states])
        self._pass_states.clear()
        loss = torch.zeros(())
        for _ in range(self.settings.updates):
            errors = value_errors(self._of_states(states), columns, clip)
            loss = (columns["value_weights"] * errors).sum() / self._tokens(batch)
            loss.backward()
            self.step()
        return float(self._accelerator.reduce(loss.detach(), reduction="mean"))

    def judged(self, scores: Scores) -> Scores:
        """Add the values of the hidden states of these scores."""
        assert scores.states is not None
        return scores._replace(values=self._of_states(scores.states))


class ModelCritic(LearningCritic):
    """A separate model, initialised as a copy of the policy, that trains the same weights."""

    def __init__(
        self, settings: CriticSettings, accelerator: Accelerator, policy: nn.Module
    ) -> None:
        base = base_model(policy)
        super().__init__(settings, accelerator, base.config.get_text_config().hidden_size)
        self._trunk: Any = copy.deepcopy(base.base_model).to(accelerator.device)
        named = self._trunk.named_parameters()
        self._train(
            {f"trunk.{name}": parameter for name, parameter in named if parameter.requires_grad}
        )

    def values(self, batch: Mapping[str, Tensor], parts: Sequence[Tensor]) -> Tensor:
        """Return the values (B, T) by separate forward passes."""
        out = super().values(batch, parts)
        self._trunk.eval()  # There, activations are not checkpointed.
        with torch.no_grad():
            for rows in parts:
                values = self._forward(trimmed(batch, rows))
                out[rows, : values.shape[1]] = values
        return out

    def learn(
        self, batch: Mapping[str, Tensor], parts: Sequence[Tensor], clip: float | None
    ) -> float:
        """Update on all rows, in passes that fit in memory."""
        self._trunk.train()
        total = torch.zeros((), device=self._accelerator.device)
        for _ in range(self.settings.updates):
            total = torch.zeros_like(total)
            for rows in parts:
                part = trimmed(batch, rows)
                errors = value_errors(self._forward(part), part, clip)
                loss = (part["value_weights"] * errors).sum() / self._tokens(batch)
                loss.backward()
                total += loss.detach()
            self.step()
        return float(self._accelerator.reduce(total, reduction="mean"))

    def _forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Values (B, T) of the sampled tokens of some rows; 0 elsewhere."""
        mask = sampled_mask(batch)
        ids, _, _, columns = left_aligned(batch, mask)
        with self._accelerator.autocast():
            states = self._trunk(input_ids=ids).last_hidden_state
        values = self._of_states(states)
        # As with a log-probability: what is said about a token stands at the one before it.
        places = (columns - 1).clamp(max=ids.shape[1] - 1)
        return torch.where(mask, values.gather(1, places), 0.0)


def _no_baseline(hidden: int, accelerator: Accelerator) -> nn.Linear:
    """Return a head whose values are 0, so that training begins without a baseline."""
    head = nn.Linear(hidden, 1, device=accelerator.device, dtype=torch.float32)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def check_warmup(settings: CriticSettings, accelerator: Accelerator) -> None:
    """Check that the policy can stay unchanged while a critic warms up.

    Raises:
        NotSupported: DeepSpeed would train the policy nevertheless.
    """
    if settings.warmup and accelerator.distributed_type == DistributedType.DEEPSPEED:
        raise NotSupported(
            "expected --critic.warmup-steps 0 with DeepSpeed, which updates the policy within its "
            f"backward pass, got {settings.warmup}: launch with ddp or fsdp2"
        )


def make_critic(settings: CriticSettings, accelerator: Accelerator, policy: nn.Module) -> Critic:
    """Make a new critic for a policy with its adapters, before it is wrapped for training.

    Raises:
        NotSupported: DeepSpeed would train the policy while the critic warms up.
    """
    check_warmup(settings, accelerator)
    if settings.kind == "zero":
        return Critic(settings)
    if settings.kind == "model":
        return ModelCritic(settings, accelerator, policy)
    hidden = base_model(policy).config.get_text_config().hidden_size
    return HeadCritic(settings, accelerator, hidden)
