"""Learning signals: the value of a trajectory, turn or token before any baseline.

Each signal is a small frozen dataclass called with a ``Batch``; it returns values and their level.
Truncated episodes are not bootstrapped: the value after the end is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch, Level
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.segments import BoolArray, FloatArray, reverse_scan, sums

TurnSelector = Literal["final", "non_final"] | Callable[[Batch], BoolArray]
"""Turns that a part applies to: the last of each trajectory, all but the last, or an (M,) mask."""


class Signal(NamedTuple):
    """A function of the batch that returns values and their level."""

    values: FloatArray
    """(N,), (M,) or (K,) values."""
    level: Level
    """Level of the values."""


SignalFn = Callable[[Batch], Signal]


@runtime_checkable
class FigureSignal(Protocol):
    """A signal that also reports figures for the log."""

    def figures(self, batch: Batch, train: BoolArray) -> dict[str, float]:
        """Return figures by name of a batch and the (K,) mask of the tokens in the loss."""
        ...


@dataclass(frozen=True)
class EpisodeReturn:
    """The return of a trajectory, ``R_i = sum_t r_it``; trajectory level."""

    where: TurnSelector | None = None
    """Turns whose rewards count; None means all, "final" the reward of the last step alone."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (N,) returns."""
        if self.where is None:
            return Signal(batch.returns, "trajectory")
        counted = np.where(select_turns(batch, self.where), batch.reward, 0.0)
        return Signal(sums(batch.traj, counted, batch.n_trajectories), "trajectory")


@dataclass(frozen=True)
class Solved:
    """Whether a trajectory solved its task, 1 or 0; trajectory level.

    With no baseline and one update per batch the loss is the cross-entropy of the policy's own
    solved episodes: expert iteration, or rejection sampling.
    """

    def __call__(self, batch: Batch) -> Signal:
        """Return (N,) zeros and ones."""
        solved = batch.stop_reason == StopReason.SUCCESS.value
        return Signal(solved.astype(np.float64), "trajectory")


@dataclass(frozen=True)
class StepReward:
    """The reward of a turn, ``r_it``; turn level."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) rewards."""
        return Signal(batch.reward, "turn")


@dataclass(frozen=True)
class RewardToGo:
    """Discounted return-to-go of a turn, ``G_it = sum_{s >= t} gamma^(s - t) r_is``; turn level."""

    gamma: float = 1.0
    """Discount of one turn, in [0, 1]."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) returns-to-go."""
        carry = np.where(batch.is_final_turn, 0.0, self.gamma)
        return Signal(reverse_scan(batch.reward, carry), "turn")


@dataclass(frozen=True)
class KLToGo:
    """Sum of log-ratios to a reference policy from a token onwards; token level.

    ``D_k = sum_{j >= k} (log pi_old(j) - log pi_ref(j))``. A term with weight -beta is the k1 KL
    penalty in the reward of REINFORCE++ (arXiv 2501.03262) for gamma = lambda = 1.
    """

    needs: ClassVar[tuple[Need, ...]] = (REFERENCE,)
    """What a run must provide."""
    name: str = "logp_ref"
    """Entry of ``Batch.aux``, (K,): the reference policy's log-probability of each token."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (K,) sums."""
        ratio = batch.logp_old - aux_column(batch, self.name, "token")
        last = batch.is_turn_end & batch.is_final_turn[batch.turn]
        return Signal(reverse_scan(ratio, np.where(last, 0.0, 1.0)), "token")


def select_turns(batch: Batch, where: TurnSelector) -> BoolArray:
    """Return the (M,) mask of the turns that a selector picks."""
    if where == "final":
        return batch.is_final_turn
    if where == "non_final":
        return ~batch.is_final_turn
    if not callable(where):
        raise ConfigurationError(
            f"expected 'final', 'non_final' or a function of the batch, got {where!r}"
        )
    mask = np.asarray(where(batch), dtype=bool)
    if mask.shape != (batch.n_turns,):
        raise ConfigurationError(
            f"expected a mask with one entry for each of {batch.n_turns} turns, got {mask.shape}"
        )
    return mask


def aux_column(batch: Batch, name: str, level: Level) -> FloatArray:
    """Return an entry of ``Batch.aux`` with one value per turn (M,) or token (K,).

    Raises:
        ConfigurationError: The entry is missing or belongs to the other level.
    """
    size = batch.n_turns if level == "turn" else batch.n_tokens
    if name not in batch.aux or len(batch.aux[name]) != size:
        lengths = {key: len(array) for key, array in batch.aux.items()}
        raise ConfigurationError(
            f"expected aux[{name!r}] with one value for each of {size} {level}s, "
            f"got entries of lengths {lengths}; fill it before computing the advantage"
        )
    return batch.aux[name]
