"""The loss of a preset, written down again without TRL: the numpy reference and a plain forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agentgym.core.outcome import StopReason
from tests.trainers.algorithms.loss_reference import loss_coefficients
from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import HarnessEndings, apply_filters
from trainers.algorithms.loss import aggregation_weights
from trainers.algorithms.preferences import TRAINED
from trainers.algorithms.preset import Preset
from trainers.algorithms.shaping import shape_rewards
from trainers.rollouts.trajectory import Row, Trajectory, to_batch, to_rows

FAILED = HarnessEndings(masked=(), excluded=(StopReason.ERROR,))


@dataclass(frozen=True)
class Target:
    """What the preset asks for, for K sampled tokens."""

    coefficient: Any
    """(K,) of ``grad log pi``, KL included: ``loss_coefficients``."""
    entropy: Any
    """(K,) of the gradient of the entropy."""
    ratio: Any
    """(K,) ``pi / pi_old`` of each token by itself."""
    train: Any
    """(N,) trajectories in the loss."""
    clipped: Any
    """(K,) trained tokens without a gradient, though their advantage is not 0."""


def target(
    episodes: Sequence[Trajectory],
    preset: Preset,
    *,
    logp: Any,
    aux: Mapping[str, Any],
    logp_old: Any = None,
    const: float,
) -> Target:
    """Coefficients of a preset, part by part as its definition names them.

    Args:
        episodes: N episodes.
        preset: The preset.
        logp: (K,) of the policy being optimised.
        aux: Further signals (K,).
        logp_old: (K,) of the policy before the updates; None: as sampled.
        const: Divisor of the aggregation "const".
    """
    batch: Batch = to_batch(episodes)
    # A fresh critic expects nothing.
    batch = replace(batch, aux={**batch.aux, **aux}, values=np.zeros(batch.n_tokens))
    if logp_old is not None:
        batch = replace(batch, logp_old=logp_old)
    masks = apply_filters(batch, (FAILED, *preset.filters))
    batch = shape_rewards(batch, preset.shapers)
    if preset.prefers:
        batch = replace(batch, aux={**batch.aux, TRAINED: masks.train[batch.traj] * 1.0})
    credit = advantage(batch, preset.terms, preset.post, train=masks.train, baseline=masks.baseline)
    loss = replace(preset.loss, const=preset.loss.const or const)
    u = loss_coefficients(batch, logp, credit, loss, train=masks.train)
    weight = aggregation_weights(
        batch, loss.aggregation, const=loss.const, keep=masks.train[batch.token_traj]
    )
    policy = loss_coefficients(batch, logp, credit, replace(loss, kl_beta=0.0), train=masks.train)
    return Target(
        u,
        loss.entropy * weight,
        np.exp(logp - batch.logp_old),
        masks.train,
        (policy == 0) & (weight * credit != 0),
    )


def forward(model: Any, rows: Sequence[Row], temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies (K,) of the sampled tokens, without padding.

    Rows of one length are read together.
    """
    parts: dict[int, tuple[Tensor, Tensor]] = {}
    alike: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        alike.setdefault(len(row.ids), []).append(place)
    for places in alike.values():
        ids = torch.tensor([rows[place].ids for place in places])
        vocabulary_logps = torch.log_softmax(model(ids).logits[:, :-1] / temperature, -1)
        logps = vocabulary_logps.gather(-1, ids[:, 1:, None])[..., 0]
        entropies = -(vocabulary_logps.exp() * vocabulary_logps).sum(-1)
        for index, place in enumerate(places):
            sampled = torch.tensor(rows[place].mask[1:]).bool()
            parts[place] = logps[index][sampled], entropies[index][sampled]
    row_scores = [parts[place] for place in range(len(rows))]
    return torch.cat([logp for logp, _ in row_scores]), torch.cat(
        [entropy for _, entropy in row_scores]
    )


def gradients(model: Any, rows: Sequence[Row], goal: Target, places: set[int], t: float) -> Tensor:
    """The loss's gradient over the tokens of the chosen rows, all weights in one vector."""
    of_row = np.repeat(np.arange(len(rows)), [sum(row.mask) for row in rows])
    mask = np.isin(of_row, sorted(places))
    logps, entropies = forward(model, [rows[place] for place in sorted(places)], t)
    loss = -(torch.from_numpy(goal.coefficient[mask]) * logps).sum()
    loss = loss - (torch.from_numpy(goal.entropy[mask]) * entropies).sum()
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


__all__ = ["Target", "forward", "gradients", "target", "to_rows"]
