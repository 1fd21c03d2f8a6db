"""Preference pairs of trajectories of a task instance, which a reward model learns from.

S_i is the total reward that a reward model gives trajectory i. In the Bradley-Terry model w is
preferred to l with probability sigma(S_w - S_l), so the loss of P pairs is

    L = -1/P sum_(w, l) log sigma(S_w - S_l),
    dL/dS_i = 1/P (sum_(w, i) sigma(S_i - S_w) - sum_(i, l) sigma(S_l - S_i)).

With S_i = beta sum_k log(pi_phi / pi_old) over the tokens of a trajectory this is the trajectory
DPO of iStar (arXiv 2509.19199), with the policy before the update as its reference.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from agentgym.core.outcome import StopReason
from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray

PreferredBy = Literal["success", "return"]
"""Which of two trajectories is preferred: the solved one over an unsolved one, or the one with the
higher return."""


class EpisodePairs(NamedTuple):
    """P preference pairs of trajectories."""

    better: IntArray
    """(P,) the preferred trajectory of each."""
    worse: IntArray
    """(P,) the other one."""


def preferred_pairs(
    batch: Batch, by: PreferredBy, has_outcome: BoolArray | None = None
) -> EpisodePairs:
    """Return all pairs within the groups of a batch whose members differ.

    Args:
        batch: The batch, with the environments' rewards.
        by: The quantity compared.
        has_outcome: (N,) trajectories with an outcome that reflects the policy; None: all.
    """
    if by == "success":
        worth = (batch.stop_reason == StopReason.SUCCESS.value).astype(np.float64)
    else:
        worth = batch.returns
    differ = (batch.group[:, None] == batch.group) & (worth[:, None] > worth)  # (N, N)
    if has_outcome is not None:
        differ &= has_outcome[:, None] & has_outcome
    return EpisodePairs(*np.nonzero(differ))


def preference_loss(paid: FloatArray, pairs: EpisodePairs) -> tuple[float, FloatArray]:
    """Return the loss L of pairs and its derivatives dL/dS_i, (N,); 0 without a pair.

    Args:
        paid: (N,) S_i.
        pairs: The pairs.
    """
    count = max(1, len(pairs.better))
    margin = paid[pairs.better] - paid[pairs.worse]  # (P,)
    doubt = np.exp(-np.logaddexp(0.0, margin)) / count  # sigma(-margin) / P
    slopes = np.zeros(len(paid))
    np.add.at(slopes, pairs.worse, doubt)
    np.subtract.at(slopes, pairs.better, doubt)
    return float(np.logaddexp(0.0, -margin).sum() / count), slopes


def ranked_right(paid: FloatArray, pairs: EpisodePairs) -> float:
    """Return the share of pairs that S ranks correctly; ties count half.

    This is the area under the ROC curve within groups; NaN without a pair.
    """
    margin = paid[pairs.better] - paid[pairs.worse]
    return float(((margin > 0) + 0.5 * (margin == 0)).mean()) if len(margin) else float("nan")
