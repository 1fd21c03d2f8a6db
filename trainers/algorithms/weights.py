"""Weights of tokens in the loss: their aggregation and their off-policy correction."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, dense, sums

Aggregation = Literal[
    "token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "const", "turn-mean", "rollout-mean"
]
"""How tokens are weighed; see `aggregation_weights`."""
BehaviourMode = Literal["none", "clip", "mask"]
"""How `pi_old / mu` corrects for the behaviour policy mu; see `behaviour_weights`."""
BehaviourLevel = Literal["token", "sequence"]
"""Whether that ratio is each token's own or the product over its row."""

_MAX_LOG_RATIO = 20.0


def aggregation_weights(
    batch: Batch,
    mode: Aggregation,
    *,
    const: float | None = None,
    train: BoolArray | None = None,
) -> FloatArray:
    """Weight of each token in the loss; masked trajectories get 0 and leave the denominators.

    With T trained tokens, S rows holding them, |s| the tokens of a row:

    - token-mean: `1 / T` (DAPO, arXiv 2503.14476).
    - seq-mean-token-mean: `1 / (S |s|)` (GRPO, arXiv 2402.03300; favours short rows).
    - seq-mean-token-sum: `1 / S`.
    - const: `1 / (S const)` (Dr.GRPO, arXiv 2503.20783; no length bias).
    - turn-mean: `1 / (turns * tokens of the turn)`.
    - rollout-mean: `1 / (trajectories * tokens of the trajectory)`, however many rows it has.

    Args:
        batch: The batch.
        mode: Which of them.
        const: Divisor of "const", in tokens.
        train: (N,) trajectories in the loss; None means all.

    Returns:
        (K,) weights >= 0; all 0 when nothing is trained.

    Raises:
        ValueError: The mode is unknown, or "const" has no positive divisor.
    """
    keep = np.ones(batch.n_tokens)
    if train is not None:
        keep = train[batch.token_traj].astype(np.float64)
    if mode == "token-mean":
        return keep / max(float(keep.sum()), 1.0)
    if mode == "turn-mean":
        return _mean_over(batch.turn, keep)
    if mode == "rollout-mean":
        return _mean_over(dense(batch.token_traj), keep)
    sequence = dense(batch.token_sequence())
    if mode == "seq-mean-token-mean":
        return _mean_over(sequence, keep)
    rows = max(int(np.unique(sequence[keep > 0]).size), 1)
    if mode == "seq-mean-token-sum":
        return keep / rows
    if mode != "const":
        raise ValueError(f"expected an aggregation of {get_args(Aggregation)}, got {mode!r}")
    if const is None or const <= 0:
        raise ValueError(
            f"expected const > 0 for aggregation 'const', got {const}; "
            "give the most action tokens a trajectory may have"
        )
    return keep / (rows * const)


def behaviour_weights(
    batch: Batch,
    mode: BehaviourMode,
    *,
    level: BehaviourLevel = "token",
    cap: float = 2.0,
) -> FloatArray:
    """Off-policy correction `w = f(pi_old / mu)` for tokens sampled by a behaviour policy mu.

    clip is truncated importance sampling, `min(w, C)`; mask is `w * 1[w <= C]`. At sequence level w
    is the product over the row's tokens, which is unbiased as C grows, at more variance (AReaL,
    arXiv 2505.24298, and verl's rollout correction use these forms).

    Args:
        batch: The batch, for `logp_old` and `logp_behave`.
        mode: none, clip or mask.
        level: token or sequence.
        cap: Largest weight C.

    Returns:
        (K,) weights >= 0, constants for the gradient.

    Raises:
        ValueError: The mode is unknown.
    """
    if mode == "none":
        return np.ones(batch.n_tokens)
    log_weight = batch.logp_old - batch.logp_behave
    if level == "sequence":
        sequence = dense(batch.token_sequence())
        log_weight = sums(sequence, log_weight, batch.n_tokens)[sequence]
    weight = safe_exp(log_weight)
    if mode == "clip":
        return weight.clip(max=cap)
    if mode == "mask":
        return np.where(weight <= cap, weight, 0.0)
    raise ValueError(f"expected a behaviour mode of {get_args(BehaviourMode)}, got {mode!r}")


def safe_exp(x: FloatArray) -> FloatArray:
    """Exponential that cannot overflow."""
    result: FloatArray = np.exp(np.clip(x, -_MAX_LOG_RATIO, _MAX_LOG_RATIO))
    return result


def _mean_over(segment: IntArray, keep: FloatArray) -> FloatArray:
    """(K,) weights that give every segment with kept tokens the same total."""
    count = sums(segment, keep, len(segment))
    trained = max(int(np.count_nonzero(count)), 1)
    weights: FloatArray = keep / (trained * np.maximum(count[segment], 1.0))
    return weights
