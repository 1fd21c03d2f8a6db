"""The experts while a game is played: what each will do from here on, up to the win."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.envs.alfworld.engine.actions import Action
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts.oracle import plan
from agentgym.envs.alfworld.experts.searching import Memory, remember, searching_plan

PLANS_VERSION = 3
"""Raise it when an expert's play changes, so that lengths in the cache folder are found anew."""


class Expert(ABC):
    """A demonstrator; its plan is found when it is asked for, and kept while it is followed."""

    def __init__(self) -> None:
        self._plan: tuple[str, ...] | None = None
        self._planned = False

    def plan(self, session: Session) -> tuple[str, ...] | None:
        """Return the commands from the present state to the win; None if there are none."""
        if not self._planned:
            self._plan, self._planned = self._find(session), True
        return self._plan

    def observe(self, session: Session, action: Action, command: str, changed: bool) -> None:
        """Take note of a command that was carried out.

        Args:
            session: The session after it.
            action: The action.
            command: The command, without white space around it.
            changed: Whether it changed the state.
        """
        stale = self._stale(session, action, changed)
        # Who follows a plan needs no new one, whatever the command changed.
        if self._planned and self._plan and self._plan[0] == command:
            self._plan = self._plan[1:]
        elif stale:
            self._planned = False

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of all that is known; its values never change."""
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to what was known at a snapshot."""
        vars(self).update(state)

    @abstractmethod
    def _find(self, session: Session) -> tuple[str, ...] | None:
        """Work the plan out."""

    @abstractmethod
    def _stale(self, session: Session, action: Action, changed: bool) -> bool:
        """Return whether the expert may now do something else than before an action."""


class ShortestExpert(Expert):
    """The oracle, which knows where everything is and takes the fewest turns."""

    def _find(self, session: Session) -> tuple[str, ...] | None:
        return plan(session)

    def _stale(self, session: Session, action: Action, changed: bool) -> bool:
        return changed


class SearchingExpert(Expert):
    """The expert that has to look for things, as a policy must."""

    def __init__(self) -> None:
        super().__init__()
        self._memory = Memory()

    def _find(self, session: Session) -> tuple[str, ...] | None:
        return searching_plan(session.household, session.state, self._memory)

    def _stale(self, session: Session, action: Action, changed: bool) -> bool:
        before = self._memory
        self._memory = remember(before, session.household, session.state, action)
        return changed or self._memory is not before


EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "shortest": ShortestExpert,
    "searching": SearchingExpert,
}
"""Name of an expert -> what makes it at the start of a game."""


def plan_length(household: Household, expert: str = "shortest") -> int | None:
    """Return the number of turns that an expert needs from the start; None if it cannot win."""
    commands = EXPERTS[expert]().plan(Session(household))
    return None if commands is None else len(commands)
