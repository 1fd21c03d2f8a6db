"""The loss family as coefficients of `grad log pi`: a numpy reference for the torch loss.

Every loss here is linear in the gradient of the tokens' log-probabilities:

    -dL/dtheta = sum_k u_k grad log pi(k),   u_k = weight_k * behave_k * coef_k

with `weight` from the aggregation, `behave` from the off-policy correction and `coef` from ratio
level and clip. So `-sum_k stop_gradient(u_k) log pi(k)` has exactly the gradient of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, dense, sums
from trainers.algorithms.weights import (
    Aggregation,
    BehaviourLevel,
    BehaviourMode,
    aggregation_weights,
    behaviour_weights,
    safe_exp,
)

RatioLevel = Literal["token", "turn", "sequence"]
"""Over what the ratio is averaged (geometric mean): nothing, the turn, or the generated row."""
Clip = Literal["ppo", "cispo", "none"]
"""How the ratio enters the coefficient; see `pg_coef`."""


@dataclass(frozen=True)
class Loss:
    """A member of the family, as data. The defaults are the house recipe."""

    ratio: RatioLevel = "token"
    """Level of the ratio pi / pi_old."""
    clip: Clip = "ppo"
    """How the ratio is clipped."""
    low: float = 0.2
    """Lower clip distance: ratios below 1 - low are clipped; 1 removes the bound."""
    high: float = 0.28
    """Upper clip distance: ratios above 1 + high are clipped (clip-higher, arXiv 2503.14476)."""
    dual: float | None = None
    """Dual clip for negative advantages (arXiv 1912.09729), > 1; None for none."""
    aggregation: Aggregation = "token-mean"
    """How tokens are weighed."""
    const: float | None = None
    """Divisor of "const", in tokens: the most a trajectory may have (Dr.GRPO)."""
    behave: BehaviourMode = "none"
    """Correction for the behaviour policy."""
    behave_level: BehaviourLevel = "token"
    """Level of that correction."""
    behave_cap: float = 2.0
    """Largest behaviour ratio C."""
    kl_beta: float = 0.0
    """Weight of the KL penalty to a reference policy."""
    kl: Literal["k1", "k3"] = "k3"
    """Estimator of that KL; see `kl_coef`."""
    entropy: float = 0.0
    """Weight of the entropy bonus, which the trainer adds, aggregated like the other terms: it
    needs the full distribution."""
    dead_zone: float = 0.0
    """Tokens with |advantage| below this get coefficient 0 (LOOP, arXiv 2502.01600)."""

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            ValueError: A name is unknown or a number is out of range.
        """
        for value, choices in (
            (self.ratio, RatioLevel),
            (self.clip, Clip),
            (self.aggregation, Aggregation),
            (self.behave, BehaviourMode),
            (self.behave_level, BehaviourLevel),
        ):
            if value not in get_args(choices):
                raise ValueError(f"expected one of {get_args(choices)}, got {value!r}")
        if not 0.0 <= self.low <= 1.0 or self.high < 0.0 or self.behave_cap <= 0.0:
            raise ValueError(
                "expected 0 <= low <= 1, high >= 0 and behave_cap > 0, got "
                f"low={self.low}, high={self.high}, behave_cap={self.behave_cap}"
            )
        if self.dual is not None and self.dual <= 1.0:
            raise ValueError(f"expected dual > 1, got {self.dual}; None switches it off")


def loss_coefficients(
    batch: Batch,
    logp: FloatArray,
    advantage: FloatArray,
    loss: Loss,
    *,
    train: BoolArray | None = None,
) -> FloatArray:
    """The coefficients `u_k` of the policy loss, KL to the reference included.

    Args:
        batch: The batch; with `kl_beta` > 0 it needs `aux["logp_ref"]` (K,).
        logp: (K,) log-probabilities of the policy being optimised.
        advantage: (K,) advantages.
        loss: The member of the family.
        train: (N,) trajectories in the loss; None means all.

    Returns:
        (K,) coefficients: `-dL/dtheta = sum_k u_k grad log pi(k)`.

    Raises:
        ValueError: `const` is needed and missing, or so are the reference's log-probabilities.
    """
    weight = aggregation_weights(batch, loss.aggregation, const=loss.const, train=train)
    behave = behaviour_weights(batch, loss.behave, level=loss.behave_level, cap=loss.behave_cap)
    live = np.where(np.abs(advantage) < loss.dead_zone, 0.0, advantage)
    coef = behave * pg_coef(
        logp,
        batch.logp_old,
        live,
        clip=loss.clip,
        low=loss.low,
        high=loss.high,
        dual=loss.dual,
        segment=ratio_segments(batch, loss.ratio),
    )
    if loss.kl_beta > 0.0:
        if "logp_ref" not in batch.aux:
            raise ValueError("expected aux['logp_ref'] for kl_beta > 0, got none; run a reference")
        coef = coef - loss.kl_beta * kl_coef(logp, batch.aux["logp_ref"], loss.kl)
    return weight * coef


def ratio_segments(batch: Batch, level: RatioLevel) -> IntArray | None:
    """Segment of each token over which the ratio is averaged: (K,) ids, or None for none."""
    if level == "token":
        return None
    return batch.turn if level == "turn" else dense(batch.token_sequence())


def pg_coef(
    logp: FloatArray,
    logp_old: FloatArray,
    advantage: FloatArray,
    *,
    clip: Clip = "ppo",
    low: float = 0.2,
    high: float = 0.2,
    dual: float | None = None,
    segment: IntArray | None = None,
) -> FloatArray:
    """Coefficient of each token's `grad log pi` in one ratio-and-clip policy gradient.

    With `rho = pi / pi_old` (or its geometric mean over a segment, GSPO arXiv 2507.18071):

    - ppo (arXiv 1707.06347): `min(rho A, clip(rho) A)`, whose gradient is `rho A` inside the trust
      region and 0 where the clip binds; with `dual` also 0 where `A < 0` and `rho > dual`.
    - cispo (arXiv 2506.13585): `stop_gradient(clip(rho)) A log pi`: clipped tokens keep a gradient.
    - none: `A log pi`, plain REINFORCE.

    Args:
        logp: (K,) log-probabilities of the policy being optimised, in nats.
        logp_old: (K,) log-probabilities before the update.
        advantage: (K,) advantages.
        clip: Which of the three.
        low: Ratios below 1 - low are clipped.
        high: Ratios above 1 + high are clipped.
        dual: Dual-clip bound, or None.
        segment: (K,) dense ids of the segments the log-ratio is averaged over, or None.

    Returns:
        (K,) coefficients.

    Raises:
        ValueError: The clip is unknown.
    """
    if clip == "none":
        return np.array(advantage)
    log_ratio = logp - logp_old
    if segment is not None:
        count = np.maximum(np.bincount(segment, minlength=len(logp)), 1)
        log_ratio = (sums(segment, log_ratio, len(log_ratio)) / count)[segment]
    ratio = safe_exp(log_ratio)
    if clip == "cispo":
        return ratio.clip(1.0 - low, 1.0 + high) * advantage
    if clip != "ppo":
        raise ValueError(f"expected a clip of {get_args(Clip)}, got {clip!r}")
    live = np.where(advantage >= 0, ratio <= 1.0 + high, ratio >= 1.0 - low)
    if dual is not None:
        live &= (advantage >= 0) | (ratio <= dual)
    return np.where(live, ratio * advantage, 0.0)


def kl_coef(logp: FloatArray, logp_ref: FloatArray, estimator: Literal["k1", "k3"]) -> FloatArray:
    """Coefficient of `grad log pi` in the gradient of a sampled KL to a reference policy.

    k1 is `log pi - log ref`, gradient 1; k3 (GRPO, arXiv 2402.03300) is `q - log q - 1` with
    `q = ref / pi`, gradient `1 - q`. As in the paper, neither is
    multiplied by the ratio to the old policy.

    Args:
        logp: (K,) log-probabilities of the policy being optimised.
        logp_ref: (K,) log-probabilities of the reference.
        estimator: Which of the two.

    Returns:
        (K,) coefficients.
    """
    return np.ones(len(logp)) if estimator == "k1" else 1.0 - safe_exp(logp_ref - logp)
