"""Reward corrections that need the whole trajectory: endings, length, flagged turns.

Rewards that the environment can compute itself are reward hooks; these depend on the harness or on
the number of sampled tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.segments import FloatArray, sums
from trainers.algorithms.signals import aux_column

INVALID = "invalid_action"
"""Entry of ``Batch.aux`` that flags turns whose action was invalid."""

Shaper = Callable[[Batch], FloatArray]
"""Maps a batch to (M,) amounts to add to its turn rewards."""


@dataclass(frozen=True)
class EndPenalty:
    """Add an amount to the last turn after certain endings (AgentRL, arXiv 2510.04206)."""

    amount: float = -0.2
    """The amount to add, in units of reward."""
    ends: tuple[StopReason, ...] = (StopReason.HORIZON, StopReason.TOKEN_LIMIT)
    """Endings it applies to."""

    def __call__(self, batch: Batch) -> FloatArray:
        """Return (M,) amounts."""
        hit = np.isin(batch.stop_reason, [end.value for end in self.ends])
        return np.where(batch.is_final_turn & hit[batch.traj], self.amount, 0.0)


@dataclass(frozen=True)
class Overlong:
    """DAPO's soft overlong punishment (arXiv 2503.14476), on the last turn.

    With L the limit and c = share * L: 0 up to L - c action tokens of a trajectory, then linear
    down to -1 at L. The paper has L = 20,480 and c = 4,096, a fifth of it.
    """

    limit: int | None = None
    """Tokens L at which the punishment is -1; None: the token budget, see ``Preset.within``."""
    share: float = 0.2
    """Length of the linear part as a share of the limit, in (0, 1]."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0.0 < self.share <= 1.0 or (self.limit is not None and self.limit < 1):
            raise ConfigurationError(
                "expected a share in (0, 1] and a limit of at least 1 token, got "
                f"share={self.share}, limit={self.limit}"
            )

    def __call__(self, batch: Batch) -> FloatArray:
        """Return (M,) amounts in [-1, 0]."""
        if self.limit is None:
            raise ConfigurationError(
                "expected a limit in tokens for Overlong, got None; fill it in with Preset.within"
            )
        length = sums(batch.traj, batch.turn_length, batch.n_trajectories)
        soft = self.share * self.limit
        punishment = np.clip((self.limit - soft - length) / soft, -1.0, 0.0)
        return np.where(batch.is_final_turn, punishment[batch.traj], 0.0)


@dataclass(frozen=True)
class FlagPenalty:
    """Add an amount to every flagged turn, such as one with an invalid action."""

    name: str = INVALID
    """Entry of ``Batch.aux``, (M,): non-zero for a flagged turn."""
    amount: float = -0.1
    """The amount to add, in units of reward."""

    def __call__(self, batch: Batch) -> FloatArray:
        """Return (M,) amounts."""
        return np.where(aux_column(batch, self.name, "turn") != 0, self.amount, 0.0)


def shape_rewards(batch: Batch, shapers: Sequence[Shaper]) -> Batch:
    """Add shaping to the rewards; every shaper sees the unshaped batch."""
    if not shapers:
        return batch
    added = np.sum([shaper(batch) for shaper in shapers], axis=0)
    return replace(batch, reward=batch.reward + added)
