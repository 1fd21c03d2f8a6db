"""Reward corrections that need the whole trajectory: endings, length, flagged turns.

Rewards the environment can compute by itself are hooks of the environment; these depend on what the
harness did or on how many tokens were sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainers.algorithms.batch import Batch, EndReason
from trainers.algorithms.segments import FloatArray, sums
from trainers.algorithms.signals import aux_column

Shaper = Callable[[Batch], FloatArray]
"""Maps a batch to (M,) amounts that are added to its turn rewards."""


@dataclass(frozen=True)
class EndPenalty:
    """Adds an amount to the last turn of certain endings (AgentRL, arXiv 2510.04206)."""

    amount: float = -0.2
    """What is added, in units of reward."""
    ends: tuple[EndReason, ...] = (EndReason.HORIZON, EndReason.LENGTH, EndReason.INVALID)
    """Endings it applies to."""

    def __call__(self, batch: Batch) -> FloatArray:
        """Returns (M,) amounts."""
        hit = np.isin(batch.end, [int(end) for end in self.ends])
        return np.where(batch.is_final_turn & hit[batch.traj], self.amount, 0.0)


@dataclass(frozen=True)
class Overlong:
    """DAPO's soft overlong punishment (arXiv 2503.14476), on the last turn.

    0 up to `limit - cache` action tokens of a trajectory, then linear down to -1 at `limit`.
    """

    limit: int = 20480
    """Tokens at which the punishment is -1."""
    cache: int = 4096
    """Length of the linear part, in tokens."""

    def __call__(self, batch: Batch) -> FloatArray:
        """Returns (M,) amounts in [-1, 0]."""
        length = sums(batch.traj, batch.turn_length, batch.n_trajectories)
        punishment = np.clip((self.limit - self.cache - length) / self.cache, -1.0, 0.0)
        return np.where(batch.is_final_turn, punishment[batch.traj], 0.0)


@dataclass(frozen=True)
class FlagPenalty:
    """Adds an amount to every flagged turn, such as one with an invalid action."""

    name: str = "invalid_action"
    """Entry of `Batch.aux`, (M,): non-zero for a flagged turn."""
    amount: float = -0.1
    """What is added, in units of reward."""

    def __call__(self, batch: Batch) -> FloatArray:
        """Returns (M,) amounts.

        Raises:
            ValueError: The batch lacks the flags.
        """
        return np.where(aux_column(batch, self.name, "turn") != 0, self.amount, 0.0)


def shape_rewards(batch: Batch, shapers: Sequence[Shaper]) -> Batch:
    """Adds shaping to the rewards; every shaper sees the unshaped batch.

    Args:
        batch: The batch.
        shapers: What to add.

    Returns:
        The batch with new rewards, or the same batch without shapers.
    """
    if not shapers:
        return batch
    added = np.sum([shaper(batch) for shaper in shapers], axis=0)
    return replace(batch, reward=batch.reward + added)
