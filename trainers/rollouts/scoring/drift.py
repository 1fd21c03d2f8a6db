"""Divergence between the behaviour policy of a step and the policy after its updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trainers.algorithms.loss import MAX_LOG_RATIO
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

__all__ = ["kl_behaviour"]

KL_ROWS = 4
"""Rows per process for the estimate: one small forward pass per step."""


def kl_behaviour(
    trajectories: Sequence[Trajectory],
    row_logps: Callable[[Sequence[Row]], list[list[float]]],
    gather: Callable[[list[tuple[float, int]]], list[tuple[float, int]]],
) -> float:
    """Estimate KL(mu || pi) in nats per token of a step's behaviour policy to the current weights.

    After the last update of a step it measures the change of the step, if mu was pi before it. It
    uses a few rows of every process, so it is cheap, and it also reveals weights that are not
    finite.

    Args:
        trajectories: Episodes of this process.
        row_logps: Log-probabilities of the sampled tokens of rows, as training sees them.
        gather: Joins the lists of all processes.
    """
    rows = _spread(trajectories, KL_ROWS)
    logps = [logp for row in row_logps(rows) for logp in row]
    logprobs = [
        logprob
        for row in rows
        for logprob, is_sampled in zip(row.logprobs, row.mask, strict=True)
        if is_sampled
    ]
    parts = gather([(_k3(logprobs, logps), len(logprobs))])
    return sum(part for part, _ in parts) / max(1, sum(number for _, number in parts))


def _k3(logprobs: Sequence[float], logps: Sequence[float]) -> float:
    """Sum an estimate of KL(mu || pi) over tokens sampled from mu: ``r - 1 - log r``, r = pi / mu.

    Unbiased and never negative (J. Schulman, Approximating KL Divergence, 2020).
    """
    gaps = [p - q for p, q in zip(logps, logprobs, strict=True)]
    # Bounded, so that a far-off policy shows in the log instead of ending the run by overflow.
    return sum(math.exp(min(gap, MAX_LOG_RATIO)) - 1.0 - gap for gap in gaps)


def _spread(trajectories: Sequence[Trajectory], count: int) -> list[Row]:
    """Return the first row of each of a few evenly spaced episodes."""
    nonempty = [trajectory for trajectory in trajectories if trajectory.turns]
    stride = max(1, len(nonempty) // count)
    return [to_rows([trajectory])[0] for trajectory in nonempty[::stride][:count]]
