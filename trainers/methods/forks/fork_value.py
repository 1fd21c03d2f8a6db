"""Exact-fork credit: an action's advantage is a difference of mean returns from the same state.

The episodes of a group are one tree. It begins in the first state, which all of them share, and
divides where an episode was forked. The value of a state or action is the mean over its
continuations. Each continuation is an unbiased sample, however many episodes it became:

    Q(s, a) = mean over the continuations c after (s, a) of Q(c), or the return R if it ended A(s,
    a) = Q(s, a) - mean over the other actions b that were sampled in s of Q(s, b)

All values are returns of whole episodes: rewards before s are equal for all and cancel. If only one
action was sampled in s, the baseline is taken from the last forked state before s, which does not
depend on later actions. Neither baseline depends on the action that it is subtracted from, so with
``fork_weights`` the gradient is unbiased, without a critic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray
from trainers.algorithms.signals import Signal
from trainers.methods.forks.trees import edges

Over = Literal["all", "added"]
"""The continuations whose mean is a value: all, or only those that a fork added (VinePPO)."""


@dataclass(frozen=True)
class ForkValue:
    """The advantage ``A(s, a)`` of each turn, by the values of its group's tree; turn level.

    With ``over="added"`` and a fork at every turn it is VinePPO's (arXiv 2410.01679):
    ``r_t + V(s_t+1) - V(s_t)``, V the mean return-to-go of the K continuations from a state.
    """

    over: Over = "all"
    """Continuations whose mean is the value of a state."""
    prior: float = 0.0
    """Weight of the previous fork's baseline, in actions. Few actions in the same state give a
    noisy baseline; the previous fork's baseline reduces the noise without bias."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.over not in get_args(Over) or not 0.0 <= self.prior < math.inf:
            raise ConfigurationError(
                f"expected over of {get_args(Over)} and a prior from 0, got {self.over!r} and "
                f"{self.prior}"
            )

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) advantages; 0 in a group without two actions to compare."""
        tree = _tree(batch)
        value, has_value = _values(batch, tree, self.over == "added")
        return Signal(_compared(tree, value, has_value, self.prior)[tree.edge], "turn")


class _Tree(NamedTuple):
    """The sampled turns of a batch, E of them, each an edge from a state to the next."""

    edge: IntArray
    """(M,) edge of each turn of each trajectory."""
    state: IntArray
    """(E,) state that the edge begins in."""
    before: IntArray
    """(E,) edge that leads to that state; -1: none, it is the first one of a group."""
    levels: list[IntArray]
    """Edges by the number of turns before them."""
    owner: IntArray
    """(E,) trajectory that sampled the turn."""


def _tree(batch: Batch) -> _Tree:
    """Build the trees of a batch from its turns."""
    edge, state = edges(batch)
    first = np.unique(edge, return_index=True)[1]
    depth = batch.turn_index[first]
    parent_edge = np.where(depth > 0, edge[np.maximum(first - 1, 0)], -1)
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
    return _Tree(edge, state, parent_edge, levels, batch.traj[first])


def _values(batch: Batch, tree: _Tree, added: bool) -> tuple[FloatArray, BoolArray]:
    """(E,) value of the action of each edge, and whether any valid episode determines it."""
    total, count = np.zeros(len(tree.state)), np.zeros(len(tree.state))
    ends = np.flatnonzero(batch.is_final_turn)
    ends = ends[batch.stop_reason[batch.traj[ends]] != StopReason.ERROR.value]
    np.add.at(total, tree.edge[ends], batch.returns[batch.traj[ends]])
    np.add.at(count, tree.edge[ends], 1.0)
    ways = np.bincount(tree.state)
    # A continuation added by a fork belongs to another trajectory than the one it was forked from.
    new = tree.owner != tree.owner[tree.before]
    for level in reversed(tree.levels[1:]):
        edges = level[count[level] > 0]
        if added:
            edges = edges[new[edges] | (ways[tree.state[edges]] == 1)]
        np.add.at(total, tree.before[edges], total[edges] / count[edges])
        np.add.at(count, tree.before[edges], 1.0)
    has_value = count > 0
    return total / np.where(has_value, count, 1.0), has_value


def _compared(tree: _Tree, value: FloatArray, has_value: BoolArray, prior: float) -> FloatArray:
    """(E,) advantage of each edge: its value minus the mean of the other actions in its state."""
    size = int(tree.state.max()) + 1
    # Shifted by one of them, so that equal values give exact zeros.
    pivot = np.zeros(size)
    pivot[tree.state[has_value]] = value[has_value]
    shifted = np.where(has_value, value - pivot[tree.state], 0.0)
    others_total = np.bincount(tree.state, shifted, size)[tree.state] - shifted
    count = np.bincount(tree.state, has_value, size)[tree.state] - has_value
    baseline = others_total / np.maximum(count, 1.0) + pivot[tree.state]
    compared = count > 0
    for level in tree.levels[1:]:
        edges = level[compared[tree.before[level]]]
        # If no other action was sampled in the state, only the previous baseline is left.
        share = np.where(compared[edges], prior / (prior + np.maximum(count[edges], 1.0)), 1.0)
        baseline[edges] += share * (baseline[tree.before[edges]] - baseline[edges])
        compared[edges] = True
    return np.where(compared & has_value, value - baseline, 0.0)
