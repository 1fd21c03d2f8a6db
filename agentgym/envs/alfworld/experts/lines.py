"""What an expert will do from here on, kept up to date while a game is played."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from agentgym.envs.alfworld.engine.actions import Action
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts.oracle import plan
from agentgym.envs.alfworld.experts.searching import Memory, line_of_play, remember


class Line(ABC):
    """An expert's commands up to the win: found when asked for, kept while they are followed."""

    def __init__(self) -> None:
        self._commands: tuple[str, ...] | None = None
        self._known = False

    def commands(self, session: Session) -> tuple[str, ...] | None:
        """Return what the expert does from the present state; None if it is at a loss."""
        if not self._known:
            self._commands, self._known = self._find(session), True
        return self._commands

    def after(self, session: Session, action: Action, command: str, moved: bool) -> None:
        """Take note of a command that was carried out.

        Args:
            session: The session after it.
            action: The action.
            command: The command, without white space around it.
            moved: Whether it changed the state.
        """
        changed = self._changed(session, action, moved)
        if self._known and self._commands and self._commands[0] == command:
            self._commands = self._commands[1:]
        elif changed:
            self._known = False

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of all that is known; its values never change."""
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to what was known at a snapshot."""
        vars(self).update(state)

    @abstractmethod
    def _find(self, session: Session) -> tuple[str, ...] | None:
        """Work the commands out."""

    @abstractmethod
    def _changed(self, session: Session, action: Action, moved: bool) -> bool:
        """Return whether the expert may now do something else than before an action."""


class ShortestLine(Line):
    """The line of the expert that knows where everything is."""

    def _find(self, session: Session) -> tuple[str, ...] | None:
        return plan(session)

    def _changed(self, session: Session, action: Action, moved: bool) -> bool:
        return moved


class SearchingLine(Line):
    """The line of the expert that has to search."""

    def __init__(self) -> None:
        super().__init__()
        self._memory = Memory()

    def _find(self, session: Session) -> tuple[str, ...] | None:
        return line_of_play(session.household, session.state, self._memory)

    def _changed(self, session: Session, action: Action, moved: bool) -> bool:
        before = self._memory
        self._memory = remember(before, session.household, session.state, action)
        return moved or self._memory is not before


LINES: Mapping[str, Callable[[], Line]] = {"shortest": ShortestLine, "searching": SearchingLine}
"""Name of an expert -> what makes its line of play at the start of a game."""
EXPERTS = tuple(LINES)
"""Names of the experts."""
