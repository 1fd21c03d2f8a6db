"""The joint budget of imitation and reinforcement learning: ``--budget``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from agentgym.errors import ConfigurationError

__all__ = ["Budget", "parse_budget"]


@dataclass(frozen=True)
class Budget:
    """Limits of a whole run; what is not limited is infinite.

    With a price of 10 and 1,000 episodes this is the unit in which arXiv 2510.01132 asks for the
    ratio of imitation to reinforcement: 60 demonstrations leave 400 episodes of its own.
    """

    turns: float = math.inf
    """Environment turns: those of the demonstrations, at their price, and those of training."""
    episodes: float = math.inf
    """Episodes, counted alike."""
    tokens: float = math.inf
    """Tokens of training rows, forward and backward, by the rule of
    ``trainers.phases.equal_compute``; to play a token counts half."""
    minutes: float = math.inf
    """Wall time, as ``--minutes``."""
    demonstration: float = 1.0
    """Price of a demonstration: how much a turn or an episode of one counts."""
    imitation: float | None = None
    """Share of each limit that imitation may take, in (0, 1]; None: half of the minutes, and of the
    others whatever its own settings ask for."""

    @property
    def share(self) -> float:
        """Share of turns, episodes and tokens that imitation may take."""
        return 1.0 if self.imitation is None else self.imitation

    @property
    def share_of_time(self) -> float:
        """Share of the minutes that imitation may take."""
        return 0.5 if self.imitation is None else self.imitation


NAMES = tuple(item.name for item in fields(Budget))


def parse_budget(pairs: Sequence[str]) -> Budget:
    """Read a budget from pairs such as ``turns=20000``.

    Raises:
        ConfigurationError: A pair is none of a budget, or its number is out of range.
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
    """Read a finite number; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
