"""What settings of all challenges share: knobs that check themselves, and a canonical name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

from agentgym.errors import ConfigurationError


def whole(default: int, low: int, high: int) -> Any:
    """Declare a knob that is a whole number from ``low`` to ``high``."""
    return field(default=default, metadata={"low": low, "high": high})


def one_of(default: Any, *choices: Any) -> Any:
    """Declare a knob with a few values."""
    return field(default=default, metadata={"choices": choices})


@dataclass(frozen=True)
class Settings(ABC):
    """What decides a game besides its seed; one subclass for each challenge."""

    challenge: ClassVar[str] = ""
    """Name of the challenge."""

    def __post_init__(self) -> None:
        """Check every knob.

        Raises:
            ConfigurationError: A knob has the wrong type or is out of range.
        """
        for knob in fields(self):
            check(self.challenge, knob, getattr(self, knob.name))

    @property
    @abstractmethod
    def rooms(self) -> int:
        """Number of rooms of each game."""

    @property
    @abstractmethod
    def turns(self) -> int:
        """About how many commands a long plan has among the games of the setting."""

    @property
    def horizon(self) -> int:
        """Turn budget that suits the setting: three times the plan, at least 8.

        The Practitioner's Guide plays w2-o3-q4 with 8 to 12 turns and w4-o6-q8 with 24; this gives
        12 and 24.
        """
        return max(8, 3 * self.turns)

    def key(self) -> str:
        """Return the setting's canonical name, which :func:`settings` accepts."""
        changed = (
            f"{knob.name}={word(getattr(self, knob.name))}"
            for knob in fields(self)
            if getattr(self, knob.name) != knob.default
        )
        return ",".join((self.challenge, *changed))


def word(value: Any) -> str:
    """Write a knob's value as names of settings have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(challenge: str, knob: Field[Any], value: Any) -> None:
    """Check one knob against its declaration.

    Raises:
        ConfigurationError: It has the wrong type or is out of range.
    """
    kind, rules = type(knob.default), knob.metadata
    if "choices" in rules:
        good = type(value) is kind and value in rules["choices"]
        wanted = "one of " + ", ".join(map(repr, rules["choices"]))
    elif kind is bool:
        good, wanted = isinstance(value, bool), "True or False"
    else:
        good = type(value) is int and rules["low"] <= value <= rules["high"]
        wanted = f"a whole number from {rules['low']} to {rules['high']}"
    if not good:
        raise ConfigurationError(
            f"expected {knob.name} of challenge {challenge!r} to be {wanted}; got {value!r}"
        )
