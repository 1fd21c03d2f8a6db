"""Credit assignment: the advantage and loss weights of every sampled token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentgym.errors import DataError
from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import keep_known
from trainers.algorithms.loss import (
    BehaviourMode,
    Loss,
    aggregation_weights,
    behaviour_weights,
    importance_figures,
    ratio_segments,
)
from trainers.algorithms.preferences import TRAINED
from trainers.algorithms.preset import Column, Preset
from trainers.algorithms.segments import (
    BoolArray,
    FloatArray,
    IntArray,
    dense,
    segments,
    spread,
)
from trainers.algorithms.shaping import shape_rewards
from trainers.algorithms.signals import FigureSignal
from trainers.rollouts.trajectory import LEFT_OUT, Trajectory, to_batch

__all__ = [
    "GAP_MAX",
    "Credit",
    "assign_credit",
    "behaviour_mode",
    "check_sampled",
    "loss_columns",
    "trained_tokens",
]

GAP_MAX = "sampling/logp_gap_max"
"""Name of the largest gap between the log-probabilities of the engine and of training."""


@dataclass(frozen=True)
class Credit:
    """Inputs of the loss, for K sampled tokens of N trajectories."""

    batch: Batch
    """The packed batch, after reward corrections."""
    advantage: FloatArray
    """(K,) advantages A_k; 0 on tokens that do not train."""
    behaviour: FloatArray
    """(K,) importance weights c_k that correct for an inexact engine; else 1."""
    weight: FloatArray
    """(K,) weights w_k of the aggregation times K', the trained tokens: 1 for a token mean."""
    train: BoolArray
    """(K,) tokens in the loss."""
    metrics: Mapping[str, float]
    """Figures for the log."""


def assign_credit(
    trajectories: Sequence[Trajectory],
    preset: Preset,
    *,
    aux: Mapping[str, FloatArray] | None = None,
    logp_old: FloatArray | None = None,
    values: FloatArray | None = None,
    correct: bool = False,
) -> Credit:
    """Compute the advantage of every sampled token, and its weights in the loss.

    Episodes of failed environments leave the loss and the baseline under every preset. So do
    episodes that a judge calls ruined and episodes without a verdict, since their reward is
    unknown.

    Args:
        trajectories: N episodes, at least one with a turn.
        preset: Terms, filters, reward corrections and loss.
        aux: Extra signals (K,) such as ``logp_ref``.
        logp_old: (K,) log-probabilities of the trainer's policy; None: as sampled.
        values: (K,) values before each token, if the preset reads any.
        correct: Weight tokens by ``min(pi_old / mu, cap)`` even if the preset does not, because the
            engine's log-probabilities differ from the trainer's. Preferences are not weighted.
    """
    batch = replace(to_batch(trajectories), values=values)
    if logp_old is not None:
        batch = replace(batch, logp_old=logp_old)
    if aux:
        batch = replace(batch, aux={**batch.aux, **aux})
    masks = keep_known(batch, preset.filters)
    batch = shape_rewards(batch, preset.shapers)
    if preset.prefers:
        aux = {**batch.aux, TRAINED: masks.train[batch.traj].astype(np.float64)}
        batch = replace(batch, aux=aux)
    # A_k: signal minus baseline, by the preset's terms.
    advantages = advantage(
        batch, preset.terms, preset.post, train=masks.train, baseline=masks.baseline
    )
    loss = preset.loss
    advantages = np.where(np.abs(advantages) < loss.dead_zone, 0.0, advantages)
    # From trajectories (N,) to their tokens (K,).
    train = _in_loss(batch, masks.train)
    # Times K', by which the loss divides (TRL's ``num_items_in_batch``).
    weight = max(1, int(train.sum())) * aggregation_weights(
        batch, loss.aggregation, const=loss.const, keep=train
    )
    if preset.branching is not None:
        weight *= preset.branching.weigh(batch, masks.train)[batch.token_traj]
    mode = behaviour_mode(preset, correct)
    behave = behaviour_weights(
        batch, mode, level=loss.behave_level, cap=loss.behave_cap, floor=loss.behave_floor
    )
    metrics = {
        "credit/trained_fraction": float(masks.train.mean()),
        "credit/advantage_std": float(advantages[train].std()) if train.any() else 0.0,
        **_spread_within_groups(batch),
    }
    if logp_old is not None:
        # Of tokens that do not train, pi_old need not be known.
        has_logp = train if train.any() else np.ones_like(train)
        gap = (batch.logp_old - batch.logp_behave)[has_logp]
        figures = importance_figures(gap, behave[has_logp], mode, loss.behave_cap)
        metrics |= {name: float(values.mean()) for name, values in figures.items()}
        if figures:
            metrics[GAP_MAX] = float(np.abs(gap).max())
    for term in preset.terms:
        if isinstance(term.signal, FigureSignal):
            metrics |= term.signal.figures(batch, train)
    return Credit(batch, np.where(train, advantages, 0.0), behave, weight, train, metrics)


def behaviour_mode(preset: Preset, correct: bool) -> BehaviourMode:
    """Return how a preset corrects for the behaviour policy.

    Args:
        preset: The preset.
        correct: Whether the engine's log-probabilities differ from the trainer's.
    """
    # A pair is data, whoever wrote it: no mean over the engine's samples is to be corrected.
    corrects = correct and not preset.prefers and preset.loss.behave == "none"
    return "clip" if corrects else preset.loss.behave


def trained_tokens(
    trajectories: Sequence[Trajectory], preset: Preset, once: IntArray | None
) -> BoolArray:
    """Return the (U,) mask of tokens in the loss of a preset whose filters read outcomes alone.

    Args:
        trajectories: N episodes, at least one with a turn.
        preset: The preset.
        once: (K,) index of each token among the U distinct tokens; None: K = U.
    """
    batch = to_batch(trajectories)
    train = _in_loss(batch, keep_known(batch, preset.filters).train)
    return train if once is None else np.bincount(once, train) > 0


def _in_loss(batch: Batch, train: BoolArray) -> BoolArray:
    """Return the (K,) tokens in the loss, given the (N,) trajectories."""
    in_loss: BoolArray = train[batch.token_traj] & (batch.aux[LEFT_OUT] == 0.0)[batch.turn]
    return in_loss


def loss_columns(credit: Credit, loss: Loss, several_updates: bool) -> dict[str, Column]:
    """Return the packed columns (K,) that ``trainers.grpo.objective`` reads, by name."""
    columns: dict[str, Column] = {
        "advantages": credit.advantage,
        "behaviour_weights": credit.behaviour,
        "token_weights": credit.weight,
    }
    segments = ratio_segments(credit.batch, loss.ratio)
    # In the first update every ratio is 1, whatever it is averaged over.
    if segments is not None and several_updates:
        columns["ratio_segments"] = segments
    return columns


def _spread_within_groups(batch: Batch) -> dict[str, float]:
    """Figures of how far members of a group differ in their return.

    Returns:
        The share of groups without any difference, and the mean over the groups of the standard
        deviation within each, whose fall comes before a collapse (RAGEN, arXiv 2504.20073). Nothing
        where every group has a single member, which differs from nobody.
    """
    group, first = dense(batch.group), np.unique(batch.group, return_index=True)[1]
    if len(first) == batch.n_trajectories:
        return {}
    deviations = spread(batch.returns, segments(group), ddof=0)[first]
    return {
        # Equal rewards may differ in the last bits of their sums.
        "credit/zero_variance_groups": float((deviations < 1e-8).mean()),
        "credit/group_return_std": float(deviations.mean()),
    }


def check_sampled(trajectories: Sequence[Trajectory]) -> None:
    """Check that a batch has a sampled token.

    Raises:
        DataError: No trajectory has a sampled token; the message quotes the environments' errors.
    """
    if not any(trajectory.action_tokens for trajectory in trajectories):
        errors = sorted({t.error for t in trajectories if t.error})[:3]
        raise DataError(
            f"expected sampled tokens to train on, got none in {len(trajectories)} episodes: every "
            "one failed at its start or its prompt left no room for a turn (raise "
            f"TokenBudget.context and episode_tokens). Errors: {errors or 'none'}"
        )
