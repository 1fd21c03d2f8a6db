"""Advantage-weighted regression (arXiv 1910.00177): how often each episode is imitated.

``w_i = min(exp(A_i / beta), cap)``, with A_i the return of episode i less the mean return of the
episodes of its task, or of all episodes if its task has no other. Weighted likelihood is maximised
by drawing episodes in proportion to their weights: the expected gradient is the same, and every
trainer on rows can do it.
"""

from __future__ import annotations

import numpy as np

from trainers.algorithms.segments import FloatArray, IntArray

__all__ = ["advantage_weights", "copies"]

CAP = 20.0
"""Largest weight, as in the paper."""


def advantage_weights(returns: FloatArray, tasks: IntArray, beta: float) -> FloatArray:
    """Return the weight of each episode.

    Args:
        returns: (N,) returns.
        tasks: (N,) task of each episode, as a number from 0.
        beta: Temperature, in units of reward; a small value concentrates on the best episodes.

    Returns:
        (N,) weights in (0, ``CAP``].
    """
    counts = np.bincount(tasks)
    of_task = np.bincount(tasks, weights=returns) / np.maximum(counts, 1)
    baseline = np.where(counts[tasks] > 1, of_task[tasks], returns.mean())
    # Cut before exp, which would overflow; everything above the cap is cut anyway.
    weights: FloatArray = np.exp(np.minimum((returns - baseline) / beta, np.log(CAP)))
    return weights


def copies(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Resample as many episodes as there are weights, by systematic resampling.

    Args:
        weights: (N,) weights, not all 0.
        rng: Source of the only draw.

    Returns:
        (N,) how often each is drawn: its expected number, rounded up or down.
    """
    edges = np.cumsum(weights) / weights.sum() * len(weights)
    edges[-1] = len(weights)  # Rounding of the sum must not drop the last one.
    upto = np.ceil(edges - rng.random()).clip(0).astype(np.int64)
    return np.diff(upto, prepend=0)
