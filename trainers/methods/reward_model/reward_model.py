"""The reward model: a second policy phi that learns preferences between episodes of a task.

The reward of a turn is its log-ratio to the policy that acted,

    r_t = beta sum_{k in t} (log pi_phi(k) - log pi_old(k)),

Each step, before it computes rewards, it learns from pairs of a group
(``trainers.methods.reward_model.pairs``) to give the better episode the higher total: an implicit
process reward (iStar, arXiv 2509.19199). The signal ``Implicit`` of a preset turns it into
advantages. The reward model is initialised as a copy of the policy and shares all frozen weights
with it, such as the base below adapters.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from agentgym.errors import NotSupported
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import keep_known
from trainers.algorithms.segments import BoolArray, FloatArray, sums
from trainers.grpo.step_part import MakeStepPart, StepContext, StepRows
from trainers.methods.method import section_of
from trainers.methods.own_weights import OwnWeights
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.reward_model.pairs import (
    PreferredBy,
    preference_loss,
    preferred_pairs,
    ranked_right,
)
from trainers.methods.reward_model.settings import RewardModelConfig
from trainers.rollouts.scoring.step_tokens import StepTokens
from trainers.rollouts.scoring.tensors import sampled_mask, trimmed
from trainers.rollouts.trajectory import to_batch

if TYPE_CHECKING:
    from trainers.config.resolve import ResolvedRun
    from trainers.models.loaded_policy import LoadedPolicy

__all__ = ["REWARD_MODEL_FILE", "RewardModel", "RewardModelSettings", "reward_model_part"]

REWARD_MODEL_FILE = "reward_model.pt"
"""File of a checkpoint with the reward model and its optimiser."""
SLOPES = "reward_slopes"


@dataclass(frozen=True)
class RewardModelSettings:
    """How a reward model learns; the scale beta of its rewards is set by the signal."""

    lr: float = 1e-5
    """Learning rate."""
    warmup: int = 0
    """Initial steps in which it learns and gives no rewards."""
    updates: int = 1
    """Updates of a step, each on all pairs of the batch."""
    preferred: PreferredBy = "success"
    """Criterion by which an episode is preferred to another of its group."""
    max_grad_norm: float = 1.0
    """Gradient norm at which its gradients are clipped, separately from the policy's."""


class RewardModel(OwnWeights):
    """A copy of the policy that learns from preferences.

    Attributes:
        settings: How it learns.
        model: Its weights.
    """

    columns = MappingProxyType({"logp_prm": "prm_per_token_logps"})
    credit_scores = True
    compares_old = True  # Token by token.

    def __init__(
        self, context: StepContext, settings: RewardModelSettings = RewardModelSettings()
    ) -> None:
        """Start as a copy of the policy with its adapters, before it is wrapped for training.

        Args:
            context: Parts of the trainer that it uses; the signal ``Implicit`` of its preset sets
                the scale.
            settings: How it learns.

        Raises:
            NotSupported: DeepSpeed has divided the policy's weights among processes.
        """
        policy, terms = context.policy, context.preset.terms
        if any(hasattr(weight, "ds_id") for weight in policy.parameters()):
            raise NotSupported(
                "expected a launch with ddp, fsdp2 or zero2 for a preset with a reward model, "
                "which copies whole weights, got zero3"
            )
        super().__init__(
            context.accelerator,
            lr=settings.lr,
            max_grad_norm=settings.max_grad_norm,
            file=REWARD_MODEL_FILE,
        )
        self.settings, self._context = settings, context
        self._forward = context.forward
        self._beta = next(t.signal.beta for t in terms if isinstance(t.signal, Implicit))
        shared = {
            id(parameter): parameter
            for parameter in policy.parameters()
            if not parameter.requires_grad
        }
        self.model: nn.Module = copy.deepcopy(policy, shared).to(self._accelerator.device)
        self._train(
            {
                n: parameter
                for n, parameter in self.model.named_parameters()
                if parameter.requires_grad
            }
        )

    def add_columns(self, rows: StepRows) -> Mapping[str, float]:
        """Learn from the batch, and add log-probabilities; those of pi_old during the warm-up."""
        old = rows.batch["old_per_token_logps"]
        episodes = replace(to_batch(rows.episodes), logp_old=rows.tokens.packed(old))
        with self._context.times.part("update"):
            logps, figures = self.rank(
                rows.batch, rows.passes, episodes, keep_known(episodes).train, rows.tokens
            )
        warm = self._context.trained_steps() >= self.settings.warmup
        rows.batch["prm_per_token_logps"] = logps if warm else old
        return figures

    def rank(
        self,
        batch: Mapping[str, Tensor],
        parts: Sequence[Tensor],
        episodes: Batch,
        has_outcome: BoolArray,
        tokens: StepTokens,
    ) -> tuple[Tensor, dict[str, float]]:
        """Learn from the pairs of a batch, and return log-probabilities of its tokens.

        Args:
            batch: Rows of this process under TRL's names, with ``old_per_token_logps``.
            parts: Indices of the rows of each pass.
            episodes: Episodes of all processes, with ``logp_old``.
            has_outcome: (N,) episodes with an outcome that reflects the policy.
            tokens: Brings columns (B, T) of the batch together with the episodes.

        Returns:
            Log-probabilities (B, T) of the sampled tokens, and figures: the share of pairs ranked
            correctly before learning from them, their number, and the initial loss.
        """
        self.model.train()  # In evaluation activations would not be checkpointed.
        pairs = preferred_pairs(episodes, self.settings.preferred, has_outcome)
        logps = self._forward.logps(self.model, batch, parts)
        paid = self._paid(tokens.packed(logps), episodes)
        loss, slopes = preference_loss(paid, pairs)
        figures = {"reward_model/reward_pairs": float(len(pairs.better))}
        if len(pairs.better):  # Else there is nothing to rank, and nothing to learn.
            figures["reward_model/reward_ranking"] = ranked_right(paid, pairs)
            figures["reward_model/reward_loss"] = loss
            for _ in range(self.settings.updates):
                column = tokens.summed(self._beta * slopes[episodes.token_traj])
                self._update({**batch, SLOPES: column}, parts)
                logps = self._forward.logps(self.model, batch, parts)
                _, slopes = preference_loss(self._paid(tokens.packed(logps), episodes), pairs)
        return logps, figures

    def _paid(self, logps: FloatArray, episodes: Batch) -> FloatArray:
        """S, (N,), of log-probabilities (K,)."""
        gain = logps - episodes.logp_old
        return self._beta * sums(episodes.token_traj, gain, episodes.n_trajectories)

    def _update(self, batch: Mapping[str, Tensor], parts: Sequence[Tensor]) -> None:
        """Make one update: the gradient of L is that of ``sum_k dL/dS_i beta log pi_phi(k)``.

        The slopes are those of all processes, so that any division into rows and processes gives
        the same gradient.
        """
        for rows in parts:
            part = trimmed(batch, rows)
            mask = sampled_mask(part)
            logps = self._forward(self.model, part, mask).logps
            loss = torch.where(mask, part[SLOPES] * logps, 0.0).sum()
            # Gradients are averaged over processes, and the loss is a sum over them.
            (loss * self._accelerator.num_processes).backward()
        self.step()


def reward_model_part(run: ResolvedRun | None, policy: LoadedPolicy | None) -> MakeStepPart:
    """Return the maker of a run's reward model, or of one with default settings."""
    if run is None:
        return RewardModel
    section = section_of(run.config, RewardModelConfig)
    settings = RewardModelSettings(
        lr=section.learning_rate,
        warmup=section.warmup_steps,
        updates=section.updates,
        preferred=section.preferred,
        max_grad_norm=run.config.rl.max_grad_norm,
    )
    return partial(RewardModel, settings=settings)
