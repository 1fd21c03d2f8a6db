"""The losses as coefficients of ``grad log pi``: what the trainer is tested against.

Every loss of ``trainers.algorithms.loss`` is linear in the gradient of the log-probabilities:

    -dL/dtheta = sum_k u_k grad log pi(k),   u_k = weight_k * behave_k * coef_k

with ``weight`` from the aggregation, ``behave`` from the off-policy correction and ``coef`` from
ratio level and clip. So ``-sum_k stop_gradient(u_k) log pi(k)`` has exactly the loss's gradient.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.algorithms.loss import (
    Clip,
    Loss,
    aggregation_weights,
    behaviour_weights,
    ratio_segments,
    safe_exp,
)
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, sums


def loss_coefficients(
    batch: Batch,
    logp: FloatArray,
    advantage: FloatArray,
    loss: Loss,
    *,
    train: BoolArray | None = None,
) -> FloatArray:
    """The coefficients ``u_k`` (K,) of the policy loss, KL to the reference included."""
    keep = None if train is None else train[batch.token_traj]
    weight = aggregation_weights(batch, loss.aggregation, const=loss.const, keep=keep)
    behave = behaviour_weights(
        batch, loss.behave, level=loss.behave_level, cap=loss.behave_cap, floor=loss.behave_floor
    )
    live = np.where(np.abs(advantage) < loss.dead_zone, 0.0, advantage)
    coef = behave * pg_coef(
        logp,
        batch.logp_old,
        live,
        clip=loss.clip,
        low=loss.low,
        high=loss.high,
        dual=loss.dual,
        divergence=loss.divergence,
        segment=ratio_segments(batch, loss.ratio),
    )
    if loss.kl_beta > 0.0:
        coef = coef - loss.kl_beta * kl_coef(logp, batch.aux["logp_ref"], loss.kl)
    return weight * coef


def pg_coef(
    logp: FloatArray,
    logp_old: FloatArray,
    advantage: FloatArray,
    *,
    clip: Clip = "ppo",
    low: float = 0.2,
    high: float = 0.2,
    dual: float | None = None,
    divergence: float = 0.15,
    segment: IntArray | None = None,
) -> FloatArray:
    """Coefficient of each token's ``grad log pi`` in one ratio-and-clip policy gradient.

    With ``rho = pi / pi_old`` (or its geometric mean over a segment, GSPO arXiv 2507.18071):

    - ppo: ``min(rho A, clip(rho) A)``, whose gradient is ``rho A`` inside the trust region and 0
      where the clip binds; with ``dual`` also 0 where ``A < 0`` and ``rho > dual``.
    - cispo: ``stop_gradient(clip(rho)) A log pi``: clipped tokens keep a gradient.
    - dppo: ``rho A``, 0 where ``rho`` is on the side to which A pushes and the probability has
      moved by more than ``divergence``.
    - none: ``A log pi``, plain REINFORCE.
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
    if clip == "dppo":
        pushed = np.where(advantage >= 0, ratio > 1.0, ratio < 1.0)
        far = np.abs(np.exp(logp) - np.exp(logp_old)) > divergence
        return np.where(pushed & far, 0.0, ratio * advantage)
    assert clip == "ppo"
    live = np.where(advantage >= 0, ratio <= 1.0 + high, ratio >= 1.0 - low)
    if dual is not None:
        live &= (advantage >= 0) | (ratio <= dual)
    return np.where(live, ratio * advantage, 0.0)


def kl_coef(logp: FloatArray, logp_ref: FloatArray, estimator: Literal["k1", "k3"]) -> FloatArray:
    """Coefficient of ``grad log pi`` in the gradient of a sampled KL to a reference policy.

    k1 is ``log pi - log ref``, gradient 1; k3 (GRPO, arXiv 2402.03300) is ``q - log q - 1`` with
    ``q = ref / pi``, gradient ``1 - q``. As in the paper, neither is multiplied by the ratio to the
    old policy.
    """
    return np.ones(len(logp)) if estimator == "k1" else 1.0 - safe_exp(logp_ref - logp)
