"""Optional features of every text environment: `Extension`.

An extension adds actions, called orders, or changes the course of an episode. It sits between
policy and family, like a wrapper: it receives each native action before the family, and each
outcome after it. An argument of the environment enables it, so that it also works in records,
forks, evaluation and training.
The extensions are notes (`agentgym.core.notes`), summaries (`agentgym.core.summaries`), planner and
workers (`agentgym.core.delegation`), and tries (`agentgym.core.tries`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple

from agentgym.actions import ActionSpec
from agentgym.core.outcome import Outcome, bounded

LONGEST = 1000
"""Maximum number of characters of an order's text."""


class Order(NamedTuple):
    """An action of an extension."""

    name: str
    """Its first word."""
    text: str
    """The text after its name, in one line of at most `LONGEST` characters; may be empty."""


_BLANK = re.compile(r"\{[a-z_]{1,32}\}")
"""A blank for the text of an order in error messages (`agentgym.actions.blank_forms`)."""


def read_order(native: str, names: Collection[str]) -> Order | None:
    """Read a native action as an order; None if it is an action of the environment.

    The action must begin with the name of an order; elsewhere, as in a shell command, it does not
    count.

    Args:
        native: The action.
        names: First words of orders.
    """
    word, *arguments = native.split(maxsplit=1) or [""]
    if word.lower() not in names:
        return None
    text = " ".join(arguments[0].split()) if arguments else ""
    if _BLANK.fullmatch(text):  # the model copied the form from an error message
        text = ""
    return Order(word.lower(), bounded(text, LONGEST, brackets=False))


class TurnAnswers(NamedTuple):
    """The ways in which an extension can answer a policy's turn."""

    act: Callable[[], Outcome]
    """Passes the action to the environment."""
    idle: Callable[[str, bool], Outcome]
    """Takes a turn without acting in the environment. Arguments: the observation, and whether the
    action was valid."""
    restart: Callable[[], str]
    """Restarts the same task in the same world; returns the first observation."""


class Extension:
    """Base class of extensions.

    A subclass overrides the methods that it changes. Its state in an episode consists of plain
    values in the private attributes named in `remembers`.
    """

    argument: ClassVar[str] = ""
    """The argument of an environment that enables it."""
    specs: ClassVar[tuple[ActionSpec, ...]] = ()
    """Its orders."""
    remembers: ClassVar[tuple[str, ...]] = ()
    """Names of private attributes, without their underscore."""

    @property
    def info(self) -> Mapping[str, Any]:
        """Entries that it adds to the info dict of each turn."""
        return {}

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode with a turn budget."""
        return

    def open(self, observation: str) -> str:
        """Begin the first or a further try; return its changed first observation."""
        return observation

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Take one turn."""
        return turn.act()

    def idled(self, outcome: Outcome) -> Outcome:
        """Handle a turn that an earlier extension answered; return the changed outcome."""
        return outcome

    def state(self, state: str) -> str:
        """Extend the environment's state text, so that texts are equal only for equal states."""
        return state

    def turns(self, plan: int | None) -> int | None:
        """Return the number of turns, counted from now, that a plan of ``plan`` actions takes."""
        return plan

    def turns_left(self, turns: int) -> int:
        """Return the turns left in the try, given the turns left in the episode."""
        return turns

    def horizon(self, turns: int) -> int:
        """Return the turn budget of an episode, given the turn budget of a try."""
        return turns

    def expert(self, action: str) -> str:
        """Return the expert's action with this extension, given its action in the environment."""
        return action

    def snapshot(self) -> Mapping[str, Any]:
        """Return its state in the episode as plain values."""
        return {name: getattr(self, f"_{name}") for name in self.remembers}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a snapshot."""
        for name in self.remembers:
            setattr(self, f"_{name}", state[name])
