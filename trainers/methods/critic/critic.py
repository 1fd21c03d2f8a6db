"""The critic: value estimates of states, and how they are learned.

V_k, the value before sampled token k, is a linear function of the hidden state from which the token
is drawn: the policy's own, or that of a second model that began as a copy of it. A critic is not
part of the policy: it has separate weights, optimiser and checkpoint file, and is not served, saved
or sharded with the policy. Every process holds it whole and averages its gradient by hand.

Most critics learn separately: each step, before the policy update, a few updates on the whole
batch,

    minimise 1/K' sum_k u_k E_k        (:func:`value_errors`).

A critic with a shared trunk learns with the policy instead, and its error, weighted by
``Loss.value_weight``, also trains the policy's layers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from trainers.grpo.advantages import Credit
from trainers.grpo.step_part import (
    CreditColumns,
    MakeStepPart,
    StepContext,
    StepPart,
    StepRows,
)
from trainers.methods.critic.gae import ValueSignal, explained_variance, value_targets
from trainers.methods.critic.settings import CriticConfig
from trainers.methods.method import section_of
from trainers.methods.own_weights import OwnWeights, check_warmup
from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.scoring.forward import Scores
from trainers.rollouts.scoring.tensors import left_aligned, sampled_mask, trimmed

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["CRITIC_FILE", "Critic", "CriticSettings", "critic_part", "make_critic", "value_errors"]

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


class Critic(StepPart):
    """A critic with all values 0: the control, and the base class of the others.

    Attributes:
        settings: How it learns.
    """

    columns = MappingProxyType({"values": "old_values"})
    credit_scores = True

    def __init__(self, context: StepContext, settings: CriticSettings) -> None:
        check_warmup(context.accelerator, settings.warmup, "--critic.warmup-steps")
        self.settings, self._passes = settings, context.passes
        self.warmup_steps = settings.warmup
        self._loss = context.preset.loss
        signals = [term.signal for term in context.preset.terms]
        self._signal = next(signal for signal in signals if isinstance(signal, ValueSignal))

    def add_columns(self, rows: StepRows) -> Mapping[str, float]:
        """Add the values of the sampled tokens."""
        rows.batch["old_values"] = self.values(rows.batch, rows.passes)
        return {}

    def credit_columns(self, credit: Credit) -> CreditColumns:
        """Return the targets of a batch, and the figures of how well the values predicted them.

        ``value_targets``: the targets R_k; ``value_weights``: the weights u_k of the errors, of a
        mean times K' on tokens whose value is read, else 0.
        """
        batch, signal = credit.batch, self._signal
        learnt = credit.train & signal.places(batch)
        share = credit.train.sum() / max(1, learnt.sum())
        foreseen = explained_variance(batch, signal, learnt)
        monte_carlo = self._loss.value_targets == "monte-carlo"
        targets = value_targets(batch, signal.monte_carlo() if monte_carlo else signal)
        return CreditColumns(
            {"value_targets": targets, "value_weights": learnt * share},
            {"critic/explained_variance": foreseen},
        )

    def learn(self, batch: Mapping[str, Tensor]) -> Mapping[str, float]:
        """Learn, unless it does so with the policy, and return the error."""
        return {} if self.in_loss else {"critic/value_loss": self.update(batch)}

    def values(self, batch: Mapping[str, Tensor], parts: Sequence[Tensor]) -> Tensor:
        """Compute the values (B, T) of the sampled tokens, without gradients.

        Args:
            batch: Rows under TRL's names.
            parts: Indices of the rows of each pass.
        """
        return torch.zeros(batch["completion_ids"].shape, device=batch["completion_ids"].device)

    def update(self, batch: Mapping[str, Tensor]) -> float:
        """Learn from a batch, separately from the policy.

        Args:
            batch: The batch of :meth:`values`, with the columns of the loss.

        Returns:
            The mean error before the last update; 0 if there is nothing to learn.
        """
        return 0.0


class LearningCritic(OwnWeights, Critic):
    """A critic with weights."""

    def __init__(self, context: StepContext, settings: CriticSettings) -> None:
        """Start with a linear head and values of 0."""
        Critic.__init__(self, context, settings)
        OwnWeights.__init__(
            self,
            context.accelerator,
            lr=settings.lr,
            max_grad_norm=settings.max_grad_norm,
            file=CRITIC_FILE,
        )
        hidden = base_model(context.policy).config.get_text_config().hidden_size
        self._head = _no_baseline(hidden, context.accelerator)
        self._train({f"head.{name}": weight for name, weight in self._head.named_parameters()})

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

    def __init__(self, context: StepContext, settings: CriticSettings) -> None:
        super().__init__(context, settings)
        self.listener, self.in_loss = self._hear, settings.trunk == "shared"
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
        if self.in_loss:
            self._pass_states.clear()
        return out

    def update(self, batch: Mapping[str, Tensor]) -> float:
        """Update on all states at once."""
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
            errors = value_errors(self._of_states(states), columns, self._loss.value_clip)
            loss = (columns["value_weights"] * errors).sum() / self._tokens(batch)
            loss.backward()
            self.step()
        return float(self._accelerator.reduce(loss.detach(), reduction="mean"))

    def loss_terms(
        self, scores: Scores, batch: Mapping[str, Tensor]
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return the weighted errors of the values of these scores' hidden states."""
        assert scores.states is not None
        errors = value_errors(self._of_states(scores.states), batch, self._loss.value_clip)
        weights = batch["value_weights"]
        figures = {"critic/value_loss": weights * errors.detach()}
        return self._loss.value_weight * weights * errors, figures

    def after_backward(self) -> None:
        """Update with the policy if they share layers."""
        if self.in_loss:
            self.step()


class ModelCritic(LearningCritic):
    """A separate model, initialised as a copy of the policy, that trains the same weights."""

    def __init__(self, context: StepContext, settings: CriticSettings) -> None:
        super().__init__(context, settings)
        base = base_model(context.policy)
        self._trunk: Any = copy.deepcopy(base.base_model).to(context.accelerator.device)
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

    def update(self, batch: Mapping[str, Tensor]) -> float:
        """Update on all rows, in passes that fit in memory."""
        passes = self._passes(batch)
        self._trunk.train()
        total = torch.zeros((), device=self._accelerator.device)
        for _ in range(self.settings.updates):
            total = torch.zeros_like(total)
            for rows in passes:
                part = trimmed(batch, rows)
                errors = value_errors(self._forward(part), part, self._loss.value_clip)
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
        # As with a log-probability, the value of a token stands at the preceding one.
        places = (columns - 1).clamp(max=ids.shape[1] - 1)
        return torch.where(mask, values.gather(1, places), 0.0)


def value_errors(values: Tensor, batch: Mapping[str, Tensor], clip: float | None) -> Tensor:
    """Compute the errors E of a critic's values, of any shape that the columns have as well.

    ``1/2 (V - R)^2``, or with a clip the larger of this and ``1/2 (clip(V, V_old +- clip) - R)^2``:
    a value that has moved further than the clip towards its target has no gradient.

    Args:
        values: V, the current values.
        batch: ``value_targets`` R and ``old_values`` V_old, the values before the updates of the
            batch.
        clip: Distance, in units of reward; None: none.
    """
    targets, old = batch["value_targets"], batch["old_values"]
    errors = (values - targets) ** 2
    if clip is not None:
        near = old + (values - old).clamp(-clip, clip)
        errors = torch.maximum(errors, (near - targets) ** 2)
    return 0.5 * errors


def _no_baseline(hidden: int, accelerator: Accelerator) -> nn.Linear:
    """Return a head whose values are 0, so that training begins without a baseline."""
    head = nn.Linear(hidden, 1, device=accelerator.device, dtype=torch.float32)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def make_critic(context: StepContext, settings: CriticSettings = CriticSettings()) -> Critic:
    """Make a new critic for a policy with its adapters, before it is wrapped for training."""
    if settings.kind == "zero":
        return Critic(context, settings)
    if settings.kind == "model":
        return ModelCritic(context, settings)
    return HeadCritic(context, settings)


def critic_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of a run's critic, or of one with default settings."""
    if run is None:
        return make_critic
    section = section_of(run.config, CriticConfig)
    settings = CriticSettings(
        section.kind,
        section.trunk,
        lr=section.learning_rate,
        warmup=section.warmup_steps,
        updates=section.updates,
        max_grad_norm=run.config.rl.max_grad_norm,
    )
    return partial(make_critic, settings=settings)
