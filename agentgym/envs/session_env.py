"""Environments with sessions that cannot be pickled, as they hold a database, sandbox or cache."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol, TypeVar

import numpy as np

from agentgym.core.env import TextEnv
from agentgym.core.tasks import Task

__all__ = ["ClosableSession", "OpenedSessionEnv", "SavedSession", "SessionEnv"]


class SavedSession(Protocol):
    """A session that supports snapshots."""

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""
        ...


class ClosableSession(SavedSession, Protocol):
    """A session that must be closed."""

    def restore(self, state: Any) -> None:
        """Return to a state of the same task."""
        ...

    def close(self) -> None:
        """Release all resources; may be called twice."""
        ...


Saved = TypeVar("Saved", bound=SavedSession)
Closable = TypeVar("Closable", bound=ClosableSession)


class SessionEnv(TextEnv[Saved]):
    """An environment that is pickled with a snapshot in place of its session."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the session, and take its state."""
        state = dict(self.__dict__)
        session = state.pop("_session")
        state["session_state"] = None if session is None else session.snapshot()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue the session."""
        session_state = state.pop("session_state")
        self.__dict__.update(state)
        self._session = None
        self._find_again()
        if session_state is not None:
            self._resume(session_state)

    def _find_again(self) -> None:
        """Restore data that the family left out of pickles because every process has it."""

    def _resume(self, state: Any) -> None:
        """Restore a session's state; override it if snapshots contain more."""
        self._restore(state)


class OpenedSessionEnv(SessionEnv[Closable]):
    """An environment that opens a session for each episode and closes the previous one."""

    def close(self) -> None:
        """Close the session; may be called twice."""
        self._running = False
        self._leave()
        super().close()

    @abstractmethod
    def _open_session(self, task: Task) -> Closable:
        """Open the session of a task."""

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._leave()
        self._session = self._open_session(task)
        return task.goal

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        fresh = self._open_session(self.task)
        try:
            fresh.restore(state)
        except BaseException:
            fresh.close()
            raise
        self._leave()
        self._session = fresh

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
