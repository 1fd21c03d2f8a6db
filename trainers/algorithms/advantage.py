"""Advantages: a weighted sum of centred and scaled signals.

A ``Term`` names a signal, what to subtract and what to divide by. Because the two keys are
separate, GRPO, Dr.GRPO, RLOO, REINFORCE++(-baseline), GiGPO, MT-GRPO, iStar, ERPO, AgentRL's task
normalisation and masked GAE are the same few lines with different arguments (see ``presets``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch, Level
from trainers.algorithms.segments import (
    BoolArray,
    FloatArray,
    IntArray,
    Segments,
    centred,
    dense,
    spread,
    sums,
)
from trainers.algorithms.signals import SignalFn, TurnSelector, select_turns
from trainers.algorithms.trees import tree_of

Key = Literal["group", "tree", "state", "turn_index", "turn_index_padded", "family", "batch"]
"""The elements that an element is compared with.

- group: trajectories (turns, tokens) of the same task instance.
- tree: trajectories of the group that were forked from one episode (Tree-GRPO, arXiv 2509.21240).
- state: turns of the group that acted on the same observation (anchor states, GiGPO).
- turn_index: turns of the group at the same position, among members that have not ended. Biased
  when the policy decides when to stop: it removes the reward for taking another turn.
- turn_index_padded: the same, with 0 for members that have ended. Unbiased for a return-to-go with
  leave-one-out, because a member's baseline then cannot depend on its own actions.
- family: all of the task family. batch: everything.
"""


@dataclass(frozen=True)
class Term:
    """One addend of the advantage: ``weight * (x - mean_center) / (std_scale + eps)``.

    An element without others to compare with (a singleton group) gets 0, and so does an element
    with a scale of exactly 0.
    """

    signal: SignalFn
    """The values x, from ``signals``."""
    center: Key | None = None
    """Elements over which the subtracted mean is taken; None subtracts nothing."""
    scale: Key | None = None
    """Elements over which the divisor, a standard deviation, is taken; None does not divide."""
    leave_one_out: bool = False
    """Whether the mean leaves out the element itself: n / (n - 1) times the centred value."""
    weight: float = 1.0
    """Factor of the term."""
    where: TurnSelector | None = None
    """Turns that receive the term; None means all. Others do not enter turn-level statistics."""
    ddof: int = 1
    """Delta degrees of freedom of the standard deviation."""
    eps: float = 1e-6
    """Added to the standard deviation."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_keys(self.center, self.scale)
        if self.leave_one_out and self.center is None:
            raise ConfigurationError(
                "expected a center for leave_one_out, got None; set center='group'"
            )


@dataclass(frozen=True)
class Whiten:
    """A second normalisation, over the action tokens of the summed advantage."""

    center: Key | None = "batch"
    """Tokens over which the subtracted mean is taken."""
    scale: Key | None = "batch"
    """Tokens over which the divisor, a standard deviation, is taken."""
    ddof: int = 1
    """Delta degrees of freedom of the standard deviation."""
    eps: float = 1e-6
    """Added to the standard deviation."""

    def __post_init__(self) -> None:
        """Check the keys."""
        _check_keys(self.center, self.scale)


def advantage(
    batch: Batch,
    terms: Sequence[Term],
    post: Whiten | None = None,
    *,
    train: BoolArray | None = None,
    baseline: BoolArray | None = None,
) -> FloatArray:
    """Advantage of every action token: ``A_k = post(sum_terms weight * y_k)``.

    Without a mask, all trajectories count.

    Args:
        batch: The batch.
        terms: Addends; turn and trajectory values are copied to their tokens.
        post: Normalisation over tokens, as in REINFORCE++ (arXiv 2501.03262, key "batch") and
            AgentRL (arXiv 2510.04206, key "family").
        train: (N,) trajectories in the loss: their tokens enter the statistics of ``post``.
        baseline: (N,) trajectories that enter means and deviations of the terms. The others are
            still compared with these; the loss has to mask them.

    Returns:
        (K,) advantages.

    Raises:
        ConfigurationError: There are no terms, a mask has the wrong length, or a key does not fit
            the level of its signal.
    """
    if not terms:
        raise ConfigurationError(
            "expected at least one term, got none; give Term(EpisodeReturn(), 'group')"
        )
    members = _mask_weights(batch, "baseline", baseline)
    total = np.zeros(batch.n_tokens)
    for term in terms:
        total += term.weight * _term_values(batch, term, members)
    if post is not None:
        weight = _mask_weights(batch, "train", train)
        total = _standardised(batch, total, "token", post, weight)
    return total


def _term_values(batch: Batch, term: Term, members: FloatArray) -> FloatArray:
    """(K,) values of one term, before its weight."""
    values, level = term.signal(batch)
    if term.where is None:
        return batch.to_tokens(_standardised(batch, values, level, term, members), level)
    turns = select_turns(batch, term.where)
    if level == "trajectory":
        y = batch.to_tokens(_standardised(batch, values, level, term, members), level)
        return np.where(turns[batch.turn], y, 0.0)
    rows = np.flatnonzero(turns if level == "turn" else turns[batch.turn])
    y = np.zeros(len(values))
    y[rows] = _standardised(batch, values, level, term, members, rows)
    return batch.to_tokens(y, level)


def _standardised(
    batch: Batch,
    x: FloatArray,
    level: Level,
    settings: Term | Whiten,
    members: FloatArray,
    rows: IntArray | None = None,
) -> FloatArray:
    """Centre and scale the values of a level, or only the given rows of them."""
    rows = np.arange(len(x)) if rows is None else rows
    x = x[rows]
    y = x
    if settings.center is not None:
        seg = _segments(batch, settings.center, level, members, rows)
        loo = isinstance(settings, Term) and settings.leave_one_out
        y = centred(x, seg, leave_one_out=loo)
    if settings.scale is not None:
        seg = _segments(batch, settings.scale, level, members, rows)
        deviation = spread(x, seg, ddof=settings.ddof)
        y = np.where(deviation > 0, y / np.where(deviation > 0, deviation + settings.eps, 1.0), 0.0)
    return y


def _segments(
    batch: Batch, name: Key, level: Level, members: FloatArray, rows: IntArray
) -> Segments:
    """Comparison sets of the given rows of a level under a key."""
    traj = batch.traj_at(level)[rows]
    weight = members[traj]
    key = _key(batch, name, level)[rows]
    size = int(key.max(initial=-1)) + 1
    zeros = np.zeros(size)
    if name == "turn_index_padded":
        # Number of members that have ended before each (group, turn): all, minus those that play
        # it.
        group = dense(batch.group)
        zeros[key] = sums(group, members, int(group.max()) + 1)[group[traj]]
        zeros -= sums(key, weight, size)
    return Segments(key, weight, zeros)


def _key(batch: Batch, name: Key, level: Level) -> IntArray:
    """Comparison set of each element of a level: (N,), (M,) or (K,) dense ids."""
    traj = batch.traj_at(level)
    if name == "batch":
        return np.zeros(len(traj), dtype=np.int64)
    if name == "tree":
        return tree_of(batch)[traj]
    if name in ("group", "family"):
        return dense(batch.group if name == "group" else batch.family)[traj]
    if level == "trajectory" or (name == "turn_index_padded" and level == "token"):
        raise ConfigurationError(
            f"expected a turn-level signal for key {name!r}, got a {level}-level one; "
            "use RewardToGo, StepReward or another key"
        )
    within = batch.state if name == "state" else batch.turn_index
    key = dense(batch.group[batch.traj], within)
    return key if level == "turn" else key[batch.turn]


def _mask_weights(batch: Batch, name: str, mask: BoolArray | None) -> FloatArray:
    """(N,) weights 0 or 1 of a trajectory mask."""
    if mask is None:
        return np.ones(batch.n_trajectories)
    if np.shape(mask) != (batch.n_trajectories,):
        raise ConfigurationError(
            f"expected {name} to have one entry for each of {batch.n_trajectories} trajectories, "
            f"got shape {np.shape(mask)}; pass the mask a filter returned for this batch"
        )
    return np.asarray(mask, dtype=bool).astype(np.float64)


def _check_keys(*keys: str | None) -> None:
    """Raise ConfigurationError for a key that does not exist."""
    for key in keys:
        if key is not None and key not in get_args(Key):
            raise ConfigurationError(f"expected a key of {get_args(Key)} or None, got {key!r}")
