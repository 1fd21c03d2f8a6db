"""What experts have in common: a plan up to the win, kept while it is followed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agentgym.envs.alfworld.engine.actions import HouseholdAction
from agentgym.envs.alfworld.engine.session import HouseholdSession


class Expert(ABC):
    """A demonstrator; its plan is found when it is asked for, and kept while it is followed."""

    def __init__(self) -> None:
        self._plan: tuple[str, ...] | None = None
        self._planned = False

    def plan(self, session: HouseholdSession) -> tuple[str, ...] | None:
        """Return the commands from the present state to the win; None if there are none."""
        if not self._planned:
            self._plan, self._planned = self._find(session), True
        return self._plan

    def observe(
        self, session: HouseholdSession, action: HouseholdAction, command: str, changed: bool
    ) -> None:
        """Take note of a command that was carried out, and of whether it changed the state."""
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
    def _find(self, session: HouseholdSession) -> tuple[str, ...] | None:
        """Work the plan out."""

    @abstractmethod
    def _stale(self, session: HouseholdSession, action: HouseholdAction, changed: bool) -> bool:
        """Return whether the expert may now do something else than before an action."""
