"""Where an episode is continued several times from the very state that it is in.

A group of G episodes begins as ``roots`` episodes. Each may become G / roots: a tree, whose forks
are drawn by a rule. The budget of a tree is dealt out as it grows, so what one episode does never
depends on how far another one has come, and G is never exceeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import Masks
from trainers.algorithms.segments import FloatArray
from trainers.algorithms.trees import is_copy

ForkCredit = Literal["soft", "hard", "tree"]
"""How tokens that several episodes share are trained:

- soft: in each of them, with its advantage and its clip (ARPO's default).
- hard: once, with the mean of their advantages, and weighed by their number (ARPO).
- tree: once, weighed by the probability of coming there if every fork is a fair draw among its
  continuations. The gradient is then that of the policy, however often it was forked where.
"""
LOOKED_AT = 20
"""First tokens of a turn whose entropy counts (ARPO)."""


ForkRule = Callable[[int, float], float]
"""How probable a fork is, by the turns that were played and by how much the entropy of the last one
is above that of the first (:func:`uncertainty`). All that it looks at lies before the state that is
forked, so that it biases nothing."""


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
    """The control for `EntropyRise`: as many forks, at turns that nothing speaks for."""

    rate: float = 0.5
    """Probability at every turn: ``rollout/fork_rate`` of the run it is compared with."""

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
"""What ``--rl.branch`` names."""


@dataclass(frozen=True)
class Branching:
    """How the episodes of a group branch."""

    rule: ForkRule
    """Where."""
    roots: int = 8
    """Episodes of a group that start from its task; the others come of forks."""
    copies: int = 1
    """Most continuations that a fork adds."""
    nested: bool = True
    """Whether what a fork adds may be forked again."""
    refill: bool = True
    """Whether episodes that no fork led to are started from the task, so that there are G."""
    credit: ForkCredit = "soft"
    """How shared tokens are trained."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.roots < 1 or self.copies < 1:
            raise ConfigurationError(
                f"expected at least 1 root and 1 copy, got {self.roots} and {self.copies}"
            )

    @property
    def reads_entropy(self) -> bool:
        """Whether engines have to tell entropies; a rule of one's own may read them."""
        return not isinstance(self.rule, RandomTurns | EveryTurn)

    def leaves(self, group_size: int) -> int:
        """Return the most episodes that a root may become.

        Raises:
            ConfigurationError: There is nothing to branch, or roots are dealt unequally.
        """
        if group_size % self.roots or group_size <= self.roots:
            raise ConfigurationError(
                f"expected --rl.num-generations to be a multiple of the {self.roots} episodes "
                "that a "
                f"group starts with (--rl.branch-roots), and more than that, got {group_size}"
            )
        return group_size // self.roots

    def shares(self, leaves: int, turn: int, rise: float, uniform: float) -> list[int]:
        """Return what becomes of an episode after a turn.

        Args:
            leaves: Episodes that it may still become, itself included.
            turn: Turns that were played.
            rise: See :data:`ForkRule`.
            uniform: A random number in [0, 1).

        Returns:
            For each continuation how many episodes it may become; the first is the episode itself.
        """
        if leaves == 1 or uniform >= self.rule(turn, rise):
            return [leaves]
        added = min(self.copies, leaves - 1)
        if not self.nested:
            return [leaves - added, *[1] * added]
        least, more = divmod(leaves, 1 + added)
        return [least + (number < more) for number in range(1 + added)]


def uncertainty(entropies: FloatArray, vocabulary: int) -> float:
    """Return ARPO's entropy of a turn: of its first tokens, summed, over that of a uniform draw.

    Args:
        entropies: (L,) entropy of each sampled token, in nats.
        vocabulary: Number of tokens to choose from.
    """
    return float(entropies[:LOOKED_AT].sum()) / float(np.log(max(2, vocabulary)))


@dataclass(frozen=True)
class MainEpisodes:
    """Leave what forks added out of the loss: it tells the value of a state, as in VinePPO."""

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop them from ``train``."""
        return Masks(masks.train & ~is_copy(batch), masks.baseline)
