"""The joint budget of imitation and reinforcement learning: ``--budget``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from agentgym.errors import ConfigurationError

__all__ = ["Budget", "parse_budget"]


@dataclass(frozen=True)
class Budget:
    """Limits of a whole run; infinity means no limit.

    arXiv 2510.01132 compares ratios of imitation to reinforcement learning in this unit: with 1,000
    episodes at a price of 10, 60 demonstrations leave 400 episodes for the policy.
    """

    turns: float = math.inf
    """Environment turns of demonstrations (times their price) and of training."""
    episodes: float = math.inf
    """Episodes, counted in the same way."""
    tokens: float = math.inf
    """Tokens of training rows, forward and backward, as in ``trainers.phases.equal_compute``; a
    generated token counts half."""
    minutes: float = math.inf
    """Minutes of wall time, as for ``--minutes``."""
    demonstration: float = 1.0
    """Price of a demonstration: the weight of its turns, or of the episode, relative to the
    policy's."""
    imitation: float | None = None
    """Share of each limit that imitation may use, in (0, 1]; None: half of the minutes, and all of
    the others."""

    @property
    def share(self) -> float:
        """Share of turns, episodes and tokens that imitation may use."""
        return 1.0 if self.imitation is None else self.imitation

    @property
    def share_of_time(self) -> float:
        """Share of the minutes that imitation may use."""
        return 0.5 if self.imitation is None else self.imitation


NAMES = tuple(item.name for item in fields(Budget))


def parse_budget(pairs: Sequence[str]) -> Budget:
    """Read a budget from pairs such as ``turns=20000``.

    Raises:
        ConfigurationError: A pair names no limit, or its number is out of range.
    """
    values: dict[str, float] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        value = _number(text)
        largest = 1.0 if name == "imitation" else math.inf
        least = 0.0 if name == "demonstration" else math.nextafter(0.0, 1.0)
        if name not in NAMES or name in values or value is None or not least <= value <= largest:
            raise ConfigurationError(
                f"expected --budget as some of {', '.join(f'{key}=NUMBER' for key in NAMES)}, "
                "each once, with positive numbers and imitation of at most 1, such as "
                f"--budget episodes=1000 demonstration=10 imitation=0.6; got {pair!r}"
            )
        values[name] = value
    return Budget(**values)


def _number(text: str) -> float | None:
    """Return the finite number that a text holds; None if it holds none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
