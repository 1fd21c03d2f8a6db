"""Branching: continue an episode several times from its current state.

A group of G episodes begins as ``roots`` episodes. Each may grow into a tree of G / roots episodes,
and a rule decides where it forks. The budget of a tree is divided as it grows, so an episode never
depends on the progress of another, and G is never exceeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import Masks
from trainers.algorithms.needs import Need
from trainers.algorithms.preset import Column, Preset
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray
from trainers.methods.forks.trees import fork_weights, is_copy, merge_shared

BRANCHING = Need("branching", "environments with snapshots, to fork a rollout mid-way", "forks")
ForkCredit = Literal["soft", "hard", "tree"]
"""How tokens that several episodes share are trained:

- soft: once per episode, with the advantage and clip of that episode (ARPO's default).
- hard: once, with the mean of their advantages, weighted by their number (ARPO).
- tree: once, weighted by the probability of reaching it when every fork draws uniformly among its
  continuations. The gradient is then the policy gradient, wherever and however often episodes were
  forked.
"""
LOOKED_AT = 20
"""Number of first tokens of a turn whose entropy counts (ARPO)."""


ForkRule = Callable[[int, float], float]
"""Probability of a fork, given the number of turns played and the rise of entropy from the first to
the last turn (:func:`uncertainty`). It depends only on what precedes the forked state, so it adds
no bias."""


@dataclass(frozen=True)
class EntropyRise:
    """ARPO (arXiv 2507.19849): ``P = clip(base + weight * dH, 0, 1)``, dH the rise of entropy."""

    base: float = 0.5
    """Probability without a rise."""
    weight: float = 0.2
    """Probability gained by a rise of 1."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0.0 <= self.base <= 1.0 and math.isfinite(self.weight)):
            raise ConfigurationError(
                f"expected a base in [0, 1] and a weight, got {self.base} and {self.weight}"
            )

    def __call__(self, turn: int, rise: float) -> float:
        """Return a probability."""
        return min(1.0, max(0.0, self.base + self.weight * rise))


@dataclass(frozen=True)
class RandomTurns:
    """The control for `EntropyRise`: as many forks, at random turns."""

    rate: float = 0.5
    """Probability at every turn: ``rollout/fork_rate`` of the run that it is compared with."""

    def __post_init__(self) -> None:
        """Check the number."""
        if not 0.0 <= self.rate <= 1.0:
            raise ConfigurationError(f"expected a rate in [0, 1], got {self.rate}")

    def __call__(self, turn: int, rise: float) -> float:
        """Return a probability."""
        return self.rate


@dataclass(frozen=True)
class EveryTurn:
    """A fork at every n-th turn."""

    n: int = 1
    """Turns between two forks."""

    def __post_init__(self) -> None:
        """Check the number."""
        if self.n < 1:
            raise ConfigurationError(f"expected a fork every n turns, n from 1, got {self.n}")

    def __call__(self, turn: int, rise: float) -> float:
        """Return a probability."""
        return float(turn % self.n == 0)


FORK_RULES: Mapping[str, type[EntropyRise | RandomTurns | EveryTurn]] = MappingProxyType(
    {"entropy": EntropyRise, "random": RandomTurns, "uniform": EveryTurn}
)
"""Values of ``--forks.rule``."""


@dataclass(frozen=True)
class Branching:
    """How the episodes of a group branch."""

    needs: ClassVar[tuple[Need, ...]] = (BRANCHING,)
    """Requirements of a run."""
    rule: ForkRule
    """Where."""
    roots: int = 8
    """Episodes of a group that start from its task; forks add the others."""
    copies: int = 1
    """Maximum number of continuations that a fork adds."""
    nested: bool = True
    """Whether added continuations may be forked again."""
    refill: bool = True
    """Whether places that no fork fills are filled by episodes from the start of the task, so that
    the group has G."""
    credit: ForkCredit = "soft"
    """How shared tokens are trained."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.roots < 1 or self.copies < 1:
            raise ConfigurationError(
                f"expected at least 1 root and 1 copy, got {self.roots} and {self.copies}"
            )

    @property
    def trains_once(self) -> bool:
        """Whether tokens that episodes share are trained once."""
        return self.credit != "soft"

    def weigh(self, batch: Batch, train: BoolArray) -> FloatArray:
        """Return the (N,) weights of trajectories, of which those in (N,) ``train`` train."""
        return fork_weights(batch, train) if self.credit == "tree" else np.ones(len(train))

    def merge(
        self, columns: Mapping[str, Column], train: BoolArray, once: IntArray
    ) -> tuple[dict[str, Column], BoolArray]:
        """Return columns with each shared token once, see :func:`.merge_shared`."""
        return merge_shared(columns, train, once)

    @property
    def reads_entropy(self) -> bool:
        """Whether engines must report entropies; custom rules may read them."""
        return not isinstance(self.rule, RandomTurns | EveryTurn)

    def leaves(self, group_size: int) -> int:
        """Return the maximum number of episodes that a root may become.

        Raises:
            ConfigurationError: There is nothing to branch, or the group size is not a multiple of
                the roots.
        """
        if group_size % self.roots or group_size <= self.roots:
            raise ConfigurationError(
                f"expected --rl.num-generations to be a multiple of the {self.roots} episodes "
                "that a "
                f"group starts with (--forks.roots), and more than that, got {group_size}"
            )
        return group_size // self.roots

    def shares(self, leaves: int, turn: int, rise: float, uniform: float) -> list[int]:
        """Decide whether an episode is forked after a turn, and divide its budget.

        Args:
            leaves: Episodes that it may still become, including itself.
            turn: Turns that were played.
            rise: See :data:`ForkRule`.
            uniform: A random number in [0, 1).

        Returns:
            For each continuation the number of episodes it may become; the first continuation is
            the episode itself.
        """
        if leaves == 1 or uniform >= self.rule(turn, rise):
            return [leaves]
        added = min(self.copies, leaves - 1)
        if not self.nested:
            return [leaves - added, *[1] * added]
        least, more = divmod(leaves, 1 + added)
        return [least + (number < more) for number in range(1 + added)]


def branching_of(preset: Preset) -> Branching | None:
    """Return how the episodes of a preset branch."""
    return preset.branching if isinstance(preset.branching, Branching) else None


def uncertainty(entropies: FloatArray, vocabulary: int) -> float:
    """Return ARPO's entropy of a turn: summed over its first tokens, relative to a uniform draw.

    Args:
        entropies: (L,) entropy of each sampled token, in nats.
        vocabulary: Number of tokens to choose from.
    """
    return float(entropies[:LOOKED_AT].sum()) / float(np.log(max(2, vocabulary)))


@dataclass(frozen=True)
class MainEpisodes:
    """Leave added continuations out of the loss: they only estimate values, as in VinePPO."""

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop added continuations from ``train``."""
        return Masks(masks.train & ~is_copy(batch), masks.baseline)
