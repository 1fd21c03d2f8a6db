"""The loss as data, and the weights by which it multiplies each token's advantage.

    L = sum_k w_k (-c_k min(rho_k A_k, clip(rho_k) A_k) + beta KL_k - e H_k) + v u_k E_k

over the trained tokens k: w_k comes from the aggregation, c_k from the correction for the behaviour
policy, and rho_k = pi / pi_old is averaged over segments. The first two are computed here. E_k is
the error of a critic that shares layers with the policy, if there is one. The loss itself is
``trainers.grpo.objective.token_losses``, on tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, dense, sums

RatioLevel = Literal["token", "turn", "sequence"]
"""Level at which the ratio is averaged (geometric mean): token (no average), turn or trajectory."""
Clip = Literal["ppo", "cispo", "dppo", "none"]
"""How the ratio is clipped:

- ppo (arXiv 1707.06347): ``min(rho A, clip(rho) A)``, without gradient where the clip binds.
- cispo (arXiv 2506.13585): ``stop_gradient(clip(rho)) A log pi``: clipped tokens keep a gradient.
- dppo (arXiv 2602.04879, binary total variation): ``rho A``, without gradient where an update would
  move ``rho`` further from 1 and the token's probability has moved by more than ``divergence``.
- none: ``A log pi``, plain REINFORCE.
"""
Aggregation = Literal[
    "token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "const", "turn-mean",
    "turn-mean-token-sum",
]  # fmt: skip
"""How tokens are weighed; see ``aggregation_weights``."""
BehaviourMode = Literal["none", "clip", "mask", "ratio"]
"""How ``pi_old / mu`` corrects for the behaviour policy mu; see ``behaviour_weights``. With ratio,
pi_old is the behaviour policy mu itself: the clipped ratio corrects, and no log-probabilities are
recomputed."""
BehaviourLevel = Literal["token", "sequence"]
"""Whether that ratio is each token's own or the product over its trajectory."""
ValueTargets = Literal["gae", "monte-carlo"]
"""What a critic learns: value plus advantage (gae), or the returns whatever lambda the advantages
have, so that the critic does not learn from its own errors (arXiv 2503.01491)."""

GAP_MEAN = "sampling/logp_gap_mean"
"""Name of the mean gap between the log-probabilities of the engine and of training."""
MAX_LOG_RATIO = 20.0
"""Nats at which a log-ratio is clamped: 5e8 as a ratio, above every cap and far from overflow. A
token beyond it gets no gradient, so that one token cannot dominate an update."""


@dataclass(frozen=True)
class Loss:
    """A loss of the policy-gradient family, as data. The defaults are agentgym's recipe."""

    ratio: RatioLevel = "token"
    """Level of the ratio pi / pi_old."""
    clip: Clip = "ppo"
    """How the ratio is clipped."""
    low: float = 0.2
    """Lower clip distance: ratios below 1 - low are clipped; 1 removes the bound."""
    high: float = 0.28
    """Upper clip distance: ratios above 1 + high are clipped (clip-higher, arXiv 2503.14476)."""
    divergence: float = 0.15
    """Largest change of a token's probability with dppo, whose ratio has no other bound."""
    dual: float | None = None
    """Dual clip for negative advantages (arXiv 1912.09729), > 1; None for none."""
    aggregation: Aggregation = "token-mean"
    """How tokens are weighed."""
    const: float | None = None
    """Divisor of "const", in tokens: the maximum length of a trajectory (Dr.GRPO)."""
    behave: BehaviourMode = "none"
    """Correction for the behaviour policy."""
    behave_level: BehaviourLevel = "token"
    """Level of that correction."""
    behave_cap: float = 2.0
    """Largest behaviour ratio C."""
    behave_floor: float = 0.0
    """Smallest behaviour ratio that mask keeps: 0.5 with a cap of 5 is IcePop (Ring-1T, arXiv
    2510.18855)."""
    kl_beta: float = 0.0
    """Weight of the KL penalty to a reference policy."""
    kl: Literal["k1", "k3"] = "k3"
    """Its estimator: k1 is ``log pi - log ref``; k3 is ``q - log q - 1``, ``q = ref / pi``."""
    entropy: float = 0.0
    """Weight of the entropy bonus, aggregated like the other terms."""
    value_weight: float = 0.02
    """Weight of a critic's loss, if it shares layers with the policy. A separate critic has its own
    learning rate and ignores this."""
    value_clip: float | None = None
    """Value clip in units of reward: beyond this distance from its value before the step's updates,
    a value gets no gradient towards its target (arXiv 1707.06347, released code); None: no clip."""
    value_targets: ValueTargets = "gae"
    """What the critic learns."""
    dead_zone: float = 0.0
    """Tokens with |advantage| below this get coefficient 0 (LOOP, arXiv 2502.01600)."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a run has to have."""
        return (REFERENCE,) if self.kl_beta > 0 else ()

    def __post_init__(self) -> None:
        """Check the fields."""
        for value, choices in (
            (self.ratio, RatioLevel),
            (self.clip, Clip),
            (self.aggregation, Aggregation),
            (self.behave, BehaviourMode),
            (self.behave_level, BehaviourLevel),
            (self.value_targets, ValueTargets),
        ):
            if value not in get_args(choices):
                raise ConfigurationError(f"expected one of {get_args(choices)}, got {value!r}")
        if not 0.0 <= self.low <= 1.0 or self.high < 0.0 or self.behave_cap <= 0.0:
            raise ConfigurationError(
                "expected 0 <= low <= 1, high >= 0 and behave_cap > 0, got "
                f"low={self.low}, high={self.high}, behave_cap={self.behave_cap}"
            )
        if not 0.0 <= self.behave_floor < self.behave_cap or self.divergence <= 0.0:
            raise ConfigurationError(
                "expected 0 <= behave_floor < behave_cap and divergence > 0, got "
                f"behave_floor={self.behave_floor}, behave_cap={self.behave_cap}, "
                f"divergence={self.divergence}"
            )
        if self.value_weight < 0.0 or (self.value_clip is not None and self.value_clip <= 0.0):
            raise ConfigurationError(
                "expected value_weight >= 0 and value_clip > 0 (None switches it off), got "
                f"value_weight={self.value_weight}, value_clip={self.value_clip}"
            )
        if self.dual is not None and self.dual <= 1.0:
            raise ConfigurationError(f"expected dual > 1, got {self.dual}; None switches it off")


def ratio_segments(batch: Batch, level: RatioLevel) -> IntArray | None:
    """Segment of each token over which the ratio is averaged: (K,) ids, or None for none."""
    if level == "token":
        return None
    # Dense: a trajectory without a turn would leave a gap in the ids.
    return batch.turn if level == "turn" else dense(batch.token_traj)


def aggregation_weights(
    batch: Batch,
    mode: Aggregation,
    *,
    const: float | None = None,
    keep: BoolArray | None = None,
) -> FloatArray:
    """Weight each token in the loss; the others get 0 and leave the denominators.

    A sequence is what the papers call a response: all tokens that the policy wrote in a trajectory,
    even if a rewritten history or a window divides it into several rows. With K' trained tokens, S
    sequences holding them, |s| the tokens of a sequence:

    - token-mean: ``1 / K'`` (DAPO, arXiv 2503.14476).
    - seq-mean-token-mean: ``1 / (S |s|)`` (GRPO, arXiv 2402.03300; favours short sequences).
    - seq-mean-token-sum: ``1 / S``.
    - const: ``1 / (S const)`` (Dr.GRPO, arXiv 2503.20783; no length bias).
    - turn-mean: ``1 / (turns * tokens of the turn)``.
    - turn-mean-token-sum: ``1 / turns`` (ArCHer, arXiv 2402.19446).

    Args:
        batch: The batch.
        mode: Which of them.
        const: Divisor of "const", in tokens.
        keep: (K,) tokens in the loss; None means all.

    Returns:
        (K,) weights >= 0; all 0 when nothing is trained.
    """
    kept = np.ones(batch.n_tokens) if keep is None else keep.astype(np.float64)
    if mode == "token-mean":
        return kept / max(float(kept.sum()), 1.0)
    if mode == "turn-mean":
        return _mean_over(batch.turn, kept)
    if mode == "turn-mean-token-sum":
        return kept / max(int(np.unique(batch.turn[kept > 0]).size), 1)
    sequence = dense(batch.token_traj)
    if mode == "seq-mean-token-mean":
        return _mean_over(sequence, kept)
    count = max(int(np.unique(sequence[kept > 0]).size), 1)
    if mode == "seq-mean-token-sum":
        return kept / count
    if mode != "const":
        raise ConfigurationError(
            f"expected an aggregation of {get_args(Aggregation)}, got {mode!r}"
        )
    if const is None or const <= 0:
        raise ConfigurationError(
            f"expected const > 0 for aggregation 'const', got {const}; "
            "give the maximum number of action tokens of a trajectory"
        )
    return kept / (count * const)


def behaviour_weights(
    batch: Batch,
    mode: BehaviourMode,
    *,
    level: BehaviourLevel = "token",
    cap: float = 2.0,
    floor: float = 0.0,
) -> FloatArray:
    """Correct for a behaviour policy mu that sampled the tokens: (K,) weights ``f(pi_old / mu)``.

    clip is truncated importance sampling, ``min(w, C)``; mask is ``w * 1[floor <= w <= C]``. At
    sequence level w is the product over the trajectory's tokens, which is unbiased as C grows, at
    more variance (AReaL, arXiv 2505.24298, and verl's rollout correction use these forms).
    """
    log_weight = batch.logp_old - batch.logp_behave
    if level == "sequence":
        sequence = dense(batch.token_traj)
        log_weight = sums(sequence, log_weight, batch.n_tokens)[sequence]
    return importance_weights(log_weight, mode, cap, floor)


def importance_weights(
    log_weight: FloatArray, mode: BehaviourMode, cap: float, floor: float = 0.0
) -> FloatArray:
    """Return ``f(w)`` of log-weights of any shape, see :func:`behaviour_weights`."""
    if mode in ("none", "ratio"):
        return np.ones_like(log_weight)
    weight = safe_exp(log_weight)
    if mode == "clip":
        return weight.clip(max=cap)
    if mode == "mask":
        return np.where((weight >= floor) & (weight <= cap), weight, 0.0)
    raise ConfigurationError(
        f"expected a behaviour mode of {get_args(BehaviourMode)}, got {mode!r}"
    )


def importance_figures(
    log_weight: FloatArray, weight: FloatArray, mode: BehaviourMode, cap: float
) -> dict[str, FloatArray]:
    """Return per-token figures by their names in the log, which reports their means.

    Args:
        log_weight: ``log pi_old - log mu`` of each token, in nats.
        weight: What :func:`behaviour_weights` made of it.
        mode: How; ratio has no figures.
        cap: Largest behaviour ratio C.
    """
    if mode == "ratio":
        return {}
    figures = {GAP_MEAN: np.abs(log_weight), "sampling/importance_mean": weight}
    if mode != "none":
        cut = weight >= cap if mode == "clip" else weight == 0.0
        figures["sampling/importance_truncated"] = cut.astype(np.float64)
    return figures


def safe_exp(x: FloatArray) -> FloatArray:
    """Exponential that cannot overflow."""
    result: FloatArray = np.exp(np.clip(x, -MAX_LOG_RATIO, MAX_LOG_RATIO))
    return result


def _mean_over(segment: IntArray, keep: FloatArray) -> FloatArray:
    """(K,) weights that give every segment with kept tokens the same total."""
    count = sums(segment, keep, len(segment))
    trained = max(int(np.count_nonzero(count)), 1)
    weights: FloatArray = keep / (trained * np.maximum(count[segment], 1.0))
    return weights
