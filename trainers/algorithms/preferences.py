"""Preferences between two trajectories of a group: Bradley-Terry, and DPO as a signal.

    L = 1/P sum_p log(1 + exp(-beta (s_w - s_l)))

over P pairs of a preferred w and another l with scores s (Bradley and Terry, 1952). DPO (arXiv
2305.18290) is that loss with ``s_i = sum_k log(pi(k) / pi_ref(k))``, the log-ratio of all that the
policy wrote. The gradient of a loss of scores is ``dL/ds_i`` times the gradient of s_i, so the
derivative acts as an advantage, exact in the first update of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, sums
from trainers.algorithms.signals import Signal, aux_column

TRAINED = "trained"
"""Name in ``Batch.aux`` of the (M,) turns whose trajectory is in the loss: 1, else 0."""


class PairLoss(NamedTuple):
    """The pairwise loss of scores."""

    loss: float
    """Mean over the pairs; 0 without any."""
    slope: FloatArray
    """(N,) derivative of the loss by each score."""
    right: float
    """Share of the pairs whose preferred member has the higher score."""


@dataclass(frozen=True)
class Preference:
    """DPO between the trajectories of highest and lowest return of each group (arXiv 2305.18290).

    Groups of equal returns are not trained on. Token level, for the aggregation
    ``seq-mean-token-sum``: with S trajectories the advantage of a token is ``-S dL/ds_i``, so that
    the mean over trajectories is the loss above; a preferred one also has ``S nll / (P L)`` of its
    L tokens, for ``nll`` times its mean negative log-likelihood. Trajectories that
    ``aux["trained"]``, if present, leaves out of the loss are in no pair and do not count.
    """

    needs: ClassVar[tuple[Need, ...]] = (REFERENCE,)
    """What a run must provide."""
    beta: float = 0.1
    """Inverse temperature of the preference."""
    nll: float = 0.01
    """Weight of the preferred trajectory's negative log-likelihood."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (K,) advantages."""
        ratio = batch.logp_old - aux_column(batch, "logp_ref", "token")
        scores = sums(batch.token_traj, ratio, batch.n_trajectories)
        length = sums(batch.token_traj, np.ones(batch.n_tokens), batch.n_trajectories)
        eligible = length > 0
        if TRAINED in batch.aux:
            trained = aux_column(batch, TRAINED, "turn")
            eligible = sums(batch.traj, trained, batch.n_trajectories) > 0
        pairs = extremes(batch.returns, batch.group, eligible)
        n_eligible = float(np.count_nonzero(eligible))
        advantage = -n_eligible * bradley_terry(scores, pairs, self.beta).slope
        if len(pairs):
            preferred = sums(pairs[:, 0], np.ones(len(pairs)), batch.n_trajectories)
            advantage += n_eligible * self.nll * preferred / (len(pairs) * np.maximum(length, 1.0))
        return Signal(advantage[batch.token_traj], "token")


def bradley_terry(scores: FloatArray, pairs: IntArray, beta: float) -> PairLoss:
    """Compute the Bradley-Terry loss of pairs and its derivatives.

    Args:
        scores: (N,) scores.
        pairs: (P, 2) the preferred and the other of each pair.
        beta: Inverse temperature.
    """
    slope = np.zeros(len(scores))
    if not len(pairs):
        return PairLoss(0.0, slope, 0.0)
    margin = beta * (scores[pairs[:, 0]] - scores[pairs[:, 1]])
    doubt = np.exp(-np.logaddexp(0.0, margin))  # sigmoid(-margin)
    np.add.at(slope, pairs[:, 0], -beta * doubt / len(pairs))
    np.add.at(slope, pairs[:, 1], beta * doubt / len(pairs))
    return PairLoss(float(np.logaddexp(0.0, -margin).mean()), slope, float((margin > 0).mean()))


def ranked(returns: Sequence[float] | FloatArray, groups: Sequence[int] | IntArray) -> IntArray:
    """Return all pairs (P, 2) of a group whose first has the higher return."""
    worth, group = np.asarray(returns, dtype=np.float64), np.asarray(groups)
    better = (worth[:, None] > worth[None, :]) & (group[:, None] == group[None, :])
    return np.argwhere(better)


def extremes(returns: FloatArray, groups: IntArray, eligible: BoolArray) -> IntArray:
    """Return the best and worst trajectory (P, 2) of each group of unequal returns.

    Args:
        returns: (N,) returns.
        groups: (N,) groups.
        eligible: (N,) whether a trajectory counts; of equal ones the first is returned.
    """
    pairs = []
    for group in np.unique(groups):
        members = np.flatnonzero((groups == group) & eligible)
        if members.size and returns[members].max() > returns[members].min():
            best, worst = returns[members].argmax(), returns[members].argmin()
            pairs.append((members[best], members[worst]))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
