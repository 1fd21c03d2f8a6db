"""The interface of an engine, native or original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

ENGINES = ("native", "inform7")

Fact = tuple[str, ...]
"""A proposition about the world: its name, then the ids of its entities."""

ONE_THING = "One thing at a time, please."
"""Answer to a command that asks for several things at once."""

PREPARE_MEAL = "prepare meal"
"""The command of which TextWorld's rules ask less than its story: any ingredients, however raw."""


@dataclass(frozen=True, slots=True)
class GameTurn:
    """The answer of a game."""

    text: str
    """The answer, without banner and status line."""
    valid: bool
    """Whether something was done that the rules of the game know."""
    score: int
    """Points so far."""
    won: bool
    """Whether the game is won."""
    lost: bool
    """Whether the game is lost."""


class GameSession(Protocol):
    """One running game."""

    @property
    def max_score(self) -> float:
        """Points of a game that is won; infinite where a quest pays again and again."""
        ...

    def start(self) -> str:
        """Begin, or begin anew; returns the objective and the description of the first room."""
        ...

    def act(self, command: str) -> GameTurn:
        """Give the game one command, as ``sanitise.read_command`` leaves it."""
        ...

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that the rules allow in this state, sorted."""
        ...

    def offered(self) -> tuple[str, ...]:
        """Return the admissible commands that the story carries out, too."""
        ...

    def policy(self) -> tuple[str, ...] | None:
        """Return the commands that win from this state; None if nothing does."""
        ...

    def description(self) -> str:
        """Describe the room, as the command ``look`` does, without taking a turn."""
        ...

    def inventory(self) -> str:
        """List what the player carries, without taking a turn."""
        ...

    def state_text(self) -> str:
        """Return a text that is equal for equal states, whatever the way or the engine."""
        ...

    def snapshot(self) -> Any:
        """Return a picklable state."""
        ...

    def restore(self, state: Any) -> None:
        """Return to a state of the same game taken by :meth:`snapshot`."""
        ...

    def close(self) -> None:
        """Free the engine; may be called twice."""
        ...


def describe_state(
    initial: frozenset[Fact], facts: frozenset[Fact], score: int, won: bool, lost: bool
) -> str:
    """Serialise a state, equal for equal states: points, end, and differences from the start."""
    outcome = "won" if won else "lost" if lost else "open"
    changes = [f"+ {' '.join(fact)}" for fact in facts - initial]
    changes += [f"- {' '.join(fact)}" for fact in initial - facts]
    return "\n".join([f"{score} {outcome}", *sorted(changes)])
