"""Weights of forked episodes within a group; a shared turn was sampled only once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, dense, sums


def edges(batch: Batch) -> tuple[IntArray, IntArray]:
    """Number the distinct sampled turns of a batch and the states in which they were taken.

    Returns:
        (M,) number of each turn of each trajectory, in [0, E); and (E,) the state of each: equal if
        two turns were sampled in the same state, after the same history.
    """
    _, first, edge = np.unique(batch.node, return_index=True, return_inverse=True)
    edge = edge.reshape(-1)
    begins = batch.turn_index[first] == 0
    group = dense(batch.group)[batch.traj[first]]
    # The state after a turn has the turn's number; the first state of a group has a negative one.
    return edge, dense(np.where(begins, -1 - group, edge[np.maximum(first - 1, 0)]))


def is_copy(batch: Batch) -> BoolArray:
    """Return the (N,) mask of trajectories that share their first turn with an earlier one."""
    first = np.flatnonzero(batch.turn_index == 0)  # in the order of the trajectories
    is_repeat = np.ones(len(first), dtype=bool)
    is_repeat[np.unique(batch.node[first], return_index=True)[1]] = False
    mask = np.zeros(batch.n_trajectories, dtype=bool)
    mask[batch.traj[first]] = is_repeat
    return mask


def fork_weights(batch: Batch, train: BoolArray) -> FloatArray:
    """Weight trajectories so that every fork is a uniform draw among its continuations.

    Args:
        batch: The batch.
        train: (N,) trajectories in the loss; only these count as continuations.

    Returns:
        (N,) weights: within a group in proportion to the probability of each of its trajectories,
        with the same total for each group, and with mean 1 over those that train; 0 for the others.
    """
    share = np.where(train, 1.0, 0.0)
    turns = np.flatnonzero(train[batch.traj])
    if not turns.size:
        return share
    edge, key = edges(batch)
    # (E,) whether a trained trajectory takes the edge, and per state the number of such edges.
    used = np.bincount(edge[turns], minlength=len(key)) > 0
    ways = np.bincount(key[used], minlength=int(key.max()) + 1)
    np.divide.at(share, batch.traj[turns], ways[key[edge[turns]]])
    group = dense(batch.group)
    total = sums(group, share, int(group.max()) + 1)
    fair = train.sum() / np.count_nonzero(total)
    result: FloatArray = share * fair / np.where(total > 0, total, 1.0)[group]
    return result


def merge_shared(
    columns: Mapping[str, npt.NDArray[np.generic]], train: BoolArray, once: IntArray
) -> tuple[dict[str, npt.NDArray[np.generic]], BoolArray]:
    """Merge the columns of tokens shared by several episodes, to train each token once.

    The advantage becomes the weighted mean and the weight the sum, which without clipping gives the
    gradient of training the token in every episode. All other columns are equal in every episode.

    Args:
        columns: What the loss reads, (K,) each.
        train: (K,) tokens in the loss.
        once: (K,) index of each token among the U distinct tokens.

    Returns:
        The columns and the mask, (U,) each.
    """
    size = int(once.max()) + 1
    first = np.unique(once, return_index=True)[1]
    weights = np.where(train, np.asarray(columns["token_weights"], dtype=np.float64), 0.0)
    total = np.bincount(once, weights, size)
    advantages = np.asarray(columns["advantages"], dtype=np.float64)
    # A token that no episode trains has weight 0, so its mean does not matter.
    mean = np.bincount(once, weights * advantages, size) / np.where(total > 0, total, 1.0)
    merged = {name: column[first] for name, column in columns.items()}
    merged |= {"token_weights": total, "advantages": mean}
    return merged, np.bincount(once, train, size) > 0
