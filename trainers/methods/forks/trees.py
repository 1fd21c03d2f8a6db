"""Weights of forked episodes within a group; a shared turn was sampled only once."""

from __future__ import annotations

import numpy as np

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
