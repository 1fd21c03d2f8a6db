"""A game in one of the engines, with the experts beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts import oracle, searching
from agentgym.envs.alfworld.experts.searching import Memory
from agentgym.envs.alfworld.game import Game
from agentgym.envs.alfworld.original.session import ReferenceSession, open_reference

ENGINES = ("native", "alfworld")
EXPERTS = ("shortest", "searching")
HOUSEHOLDS = 256
"""Parsed games that a process keeps."""

household = lru_cache(HOUSEHOLDS)(Household.of)


class Play:
    """A game that is being played.

    The native engine always runs: it knows the state and the experts' plans. With the engine
    ``alfworld`` the original runs beside it, and its answers are the ones that are given.

    Args:
        engine: One of :data:`ENGINES`.
        expert: One of :data:`EXPERTS`.
    """

    def __init__(self, engine: str = "native", expert: str = "shortest") -> None:
        self.engine, self.expert = engine, expert
        self._session: Session | None = None
        self._original: ReferenceSession | None = None
        self._plan: tuple[str, ...] | None = None
        self._known = False
        self._whole: int | None = None
        self._memory = Memory()

    def start(self, game: Game) -> str:
        """Begin a game.

        Returns:
            The engine's first text.

        Raises:
            DataError: The game is malformed.
            EnvFailure: The original engine failed.
        """
        self._session = Session(household(game))
        text = self._session.intro()
        self._known, self._memory = False, Memory()
        self._whole = self.turns_left()
        if self.engine == "native":
            return text
        if self._original is None:
            self._original = open_reference(game)
            return self._original.intro()
        return self._original.start(game)

    @property
    def session(self) -> Session:
        """The native engine's session."""
        assert self._session is not None, "start a game first"
        return self._session

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that do something now, sorted."""
        return self.session.admissible()

    def step(self, command: str) -> tuple[str, bool, bool]:
        """Carry out a command.

        Returns:
            The engine's answer, whether the command was admissible, and whether the task is solved.

        Raises:
            EnvFailure: The original engine failed.
        """
        session, before = self.session, self.session.state
        valid = session.find(command) is not None
        answer, _, won = session.step(command)
        if valid:
            self._memory = searching.remember(self._memory, session, command)
        if session.state is not before:
            self._follow(command.strip())
        if self._original is not None:
            answer, _, won = self._original.step(command)
        return answer, valid, won

    def turns_left(self) -> int | None:
        """Return the length of the shortest expert's plan, or None where there is none."""
        plan = self._current()
        return None if plan is None else len(plan)

    @property
    def progress(self) -> float:
        """Share of the shortest plan that is done: ``1 - left / whole``.

        It is 0 at the start, 1 when the task is solved, and below 0 after a step in the wrong
        direction; the differences of successive values sum to 1 over a solved task.
        """
        left = self.turns_left()
        if not left:
            return 0.0 if left is None else 1.0
        return 1.0 - left / self._whole if self._whole else 0.0

    def expert_command(self) -> str | None:
        """Return what the chosen expert does now, or None if it is at a loss."""
        if self.expert == "searching":
            return searching.next_command(self._memory, self.session)
        plan = self._current()
        return plan[0] if plan else None

    def state_text(self) -> str:
        """Return a text that is equal for equal states of a game."""
        return self.session.state_text()

    def snapshot(self) -> tuple[Any, ...]:
        """Fork the game: return what :meth:`restore` needs, which can be pickled."""
        original = None if self._original is None else self._original.snapshot()
        return self.session.snapshot(), self._memory, self._whole, original

    def restore(self, game: Game, state: tuple[Any, ...]) -> None:
        """Go to the state of a snapshot of the same game."""
        native, self._memory, self._whole, original = state
        self._session = Session(household(game))
        self._session.restore(native)
        self._known = False
        if self.engine == "native":
            return
        if self._original is None:
            self._original = open_reference(game)
        if original is not None:
            self._original.restore(original)

    def close(self) -> None:
        """Give the original engine back, if there is one; may be called twice."""
        if self._original is not None:
            self._original.close()
            self._original = None

    def _current(self) -> tuple[str, ...] | None:
        """Return the shortest expert's plan, computed when it is first asked for."""
        if not self._known:
            self._plan, self._known = oracle.plan(self.session), True
        return self._plan

    def _follow(self, command: str) -> None:
        """Keep the plan up to date: its next command shortens it, any other makes it void."""
        if self._known and self._plan and self._plan[0] == command:
            self._plan = self._plan[1:]
        else:
            self._known = False
