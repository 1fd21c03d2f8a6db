"""The difficulty of generated problems: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.core.options import choice, integer, preset
from agentgym.envs.mathpython.generator import algebra, arithmetic, numbers
from agentgym.envs.mathpython.problem import Problem
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream

KINDS: Mapping[str, Callable[[Stream, int], Problem]] = {
    "boxes": arithmetic.boxes,
    "steps": arithmetic.steps,
    "remainder": numbers.remainder,
    "divisors": numbers.divisors,
    "primes": numbers.primes,
    "congruence": numbers.congruence,
    "multiples": numbers.multiples,
    "coins": numbers.coins,
    "linear": algebra.linear,
    "coefficient": algebra.coefficient,
    "roots": algebra.roots,
}
"""Kind of a problem -> the function that draws one of a level."""
HIGHEST = 4
"""Highest level."""
LONGEST_CYCLE = 1000


@dataclass(frozen=True)
class GeneratorConfig:
    """The mix of generated problems.

    Give a variant of a preset another name: the name is part of every random draw.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    name: str
    """Name of the preset; part of every draw, and of ids."""
    mix: tuple[tuple[str, int, int], ...]
    """Problems in a cycle: kind, level (from 1), and their number per cycle."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned unchanged.

        Raises:
            ConfigurationError: It is neither.
        """
        if isinstance(difficulty, cls):
            return difficulty
        return preset(difficulty, "difficulty", DIFFICULTIES)

    def __post_init__(self) -> None:
        """Validate, and turn lists into tuples."""
        if not self.name.isascii() or not self.name.replace("-", "").isalnum():
            raise ConfigurationError(
                f"expected name of a difficulty to be letters and digits, got {self.name!r:.80}"
            )
        object.__setattr__(self, "mix", _triples(self.mix))
        for kind, level, count in self.mix:
            choice(kind, "kind of problem in mix", KINDS)
            integer(level, f"level of {kind} problems in mix", 1, HIGHEST)
            integer(count, f"number of {kind} problems in mix", 1, LONGEST_CYCLE)
        if not self.mix:
            raise ConfigurationError("expected mix to hold problems, got none: (('steps', 1, 1),)")

    @property
    def cycle(self) -> tuple[tuple[str, int], ...]:
        """Kind and level of the problems of one cycle, with equal ones far apart."""
        places = [
            ((2 * copy + 1) * 1_000_000 // (2 * count), number, (kind, level))
            for number, (kind, level, count) in enumerate(self.mix)
            for copy in range(count)
        ]
        return tuple(problem for _, _, problem in sorted(places))


def _triples(mix: Sequence[Sequence[Any]]) -> tuple[tuple[str, int, int], ...]:
    try:
        return tuple((kind, level, count) for kind, level, count in mix)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"expected mix of a difficulty to be a list of (kind, level, count), got {mix!r:.200}"
        ) from None


EASY = GeneratorConfig("easy", (("boxes", 1, 2), ("boxes", 2, 2)))
MEDIUM = GeneratorConfig(
    "medium",
    tuple((kind, level, 2 if level == 1 else 1) for level in (1, 2) for kind in KINDS),
)
HARD = GeneratorConfig("hard", tuple((kind, level, 1) for level in (3, 4) for kind in KINDS))
DIFFICULTIES = {config.name: config for config in (EASY, MEDIUM, HARD)}
