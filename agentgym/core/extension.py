"""What any environment of text can be played with besides its own rules: `Extension`.

An extension adds actions, called orders, or changes how an episode goes on. It stands between the
policy and the family: it sees each native action first, and each of the family's answers last. It
is chosen by an argument of the environment, so records, forks, evaluation and training know it.
The extensions there are: notes (`agentgym.core.notes`), planner and workers
(`agentgym.core.delegation`), and further tries (`agentgym.core.tries`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple

from agentgym.actions import ActionSpec
from agentgym.core.outcome import Outcome, bounded

LONGEST = 1000
"""Most characters of the words of an order."""


class Order(NamedTuple):
    """An action that is none of the environment."""

    name: str
    """Its first word."""
    text: str
    """Its further words, in one line of at most `LONGEST` characters; empty if there are none."""


def read_order(native: str, names: Collection[str]) -> Order | None:
    """Return the order that a native action is; None if it is an action of the environment.

    The whole action has to begin with the word: inside of a command to a shell it is none.

    Args:
        native: The action.
        names: First words of orders.
    """
    word, *rest = native.split(maxsplit=1) or [""]
    if word.lower() not in names:
        return None
    text = " ".join(rest[0].split()) if rest else ""
    return Order(word.lower(), bounded(text, LONGEST, brackets=False))


class Turn(NamedTuple):
    """What answers a turn of a policy."""

    act: Callable[[], Outcome]
    """Has the environment answer it."""
    idle: Callable[[str, bool], Outcome]
    """Reports a turn in which the environment does nothing, from what the policy is told and
    whether its action was valid."""
    restart: Callable[[], str]
    """Begins the same task anew, in the same world; returns the first observation."""


class Extension:
    """Something that an environment is played with.

    A subclass overrides what it changes. What it remembers of an episode stands in the private
    attributes that `remembers` names, which hold plain values.
    """

    argument: ClassVar[str] = ""
    """The argument of an environment that asks for it."""
    specs: ClassVar[tuple[ActionSpec, ...]] = ()
    """Its orders."""
    remembers: ClassVar[tuple[str, ...]] = ()
    """Names of private attributes, without their underscore."""

    @property
    def info(self) -> Mapping[str, Any]:
        """What it adds to the info dict of each turn."""
        return {}

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode, of at most so many turns."""
        return

    def open(self, observation: str) -> str:
        """Begin the first or a further try; return what its first observation becomes."""
        return observation

    def play(self, native: str, turn: Turn) -> Outcome:
        """Take one turn."""
        return turn.act()

    def idled(self, outcome: Outcome) -> Outcome:
        """Take a turn that an extension before it answered; return what becomes of the answer."""
        return outcome

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return what info and hooks are told of the engine's state and of its expert's plan."""
        return state, self.turns(plan)

    def turns(self, plan: int | None) -> int | None:
        """Return in how many turns from now a plan of so many actions is played."""
        return plan

    def turns_left(self, turns: int) -> int:
        """Return how many turns a try has left in an episode that has so many left."""
        return turns

    def horizon(self, turns: int) -> int:
        """Return the turn budget of an episode in which each try has so many."""
        return turns

    def expert(self, action: str) -> str:
        """Return what is done where the environment's expert would take an action."""
        return action

    def snapshot(self) -> Mapping[str, Any]:
        """Return what it remembers of the episode, as plain values."""
        return {name: getattr(self, f"_{name}") for name in self.remembers}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name in self.remembers:
            setattr(self, f"_{name}", state[name])
