"""Trees of forked episodes within a group."""

from __future__ import annotations

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import IntArray, dense


def tree_of(batch: Batch) -> IntArray:
    """Return the (N,) tree of each trajectory; trajectories from the same root share an id."""
    tree = np.full(batch.n_trajectories, -1, dtype=np.int64)
    first = np.flatnonzero(batch.turn_index == 0)
    tree[batch.traj[first]] = batch.node[first]
    alone = tree < 0  # without a turn
    tree[alone] = -1 - np.flatnonzero(alone)
    return dense(tree)
