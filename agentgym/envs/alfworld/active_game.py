"""A game in one of the engines, with the experts beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.game import Game
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.refusals import refusal
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.engine.state import State
from agentgym.envs.alfworld.experts.lines import LINES, Line, ShortestLine
from agentgym.envs.alfworld.original.session import ReferenceSession, open_reference
from agentgym.errors import ConfigurationError

ENGINES = ("native", "alfworld")
HOUSEHOLDS = 256
"""Parsed games that a process keeps."""

household = lru_cache(HOUSEHOLDS)(Household.of)


class Fork(NamedTuple):
    """A game at one point, as :meth:`Play.snapshot` returns it."""

    engine: str
    """Where it was played."""
    expert: str
    """Whose line of play was followed."""
    state: State
    """State of the native engine."""
    whole: int | None
    """Length of the shortest plan from the start."""
    lines: tuple[dict[str, Any], ...]
    """What the experts knew."""
    original: Any
    """What the original engine needs; None without it."""


class Play:
    """A game that is being played.

    The native engine always runs: it knows the state and the experts' plans. With the engine
    ``alfworld`` the original runs beside it, and its answers are the ones that are given.

    Args:
        engine: One of :data:`ENGINES`.
        expert: One of :data:`~agentgym.envs.alfworld.experts.lines.EXPERTS`.
    """

    def __init__(self, engine: str = "native", expert: str = "shortest") -> None:
        self.engine, self.expert = engine, expert
        self._session: Session | None = None
        self._original: ReferenceSession | None = None
        self._whole: int | None = None
        self._begin()

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
        self._begin()
        plan = self._shortest.commands(self._session)
        self._whole = None if plan is None else len(plan)
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
        action = session.find(command)
        answer, _, won = session.act(action)
        if action is not None:
            moved = session.state is not before
            for line in self._lines:
                line.after(session, action, command.strip(), moved)
        if self._original is not None:
            answer, _, won = self._original.step(command)
        return answer, action is not None, won

    def refusal(self, command: str) -> str:
        """Say why a command that is not admissible does nothing, from what the player can see."""
        return refusal(self.session, command)

    def turns_left(self) -> int | None:
        """Return how many turns the chosen expert needs from here, or None if it is at a loss."""
        commands = self._expert.commands(self.session)
        return None if commands is None else len(commands)

    @property
    def progress(self) -> float:
        """Share of the shortest plan that is done: ``1 - left / whole``, whoever the expert is.

        It is 0 at the start, 1 when the task is solved, and below 0 after a step in the wrong
        direction; the differences of successive values sum to 1 over a solved task.
        """
        plan = self._shortest.commands(self.session)
        if not plan:
            return 0.0 if plan is None else 1.0
        return 1.0 - len(plan) / self._whole if self._whole else 0.0

    def expert_command(self) -> str | None:
        """Return what the chosen expert does now, or None if it is at a loss."""
        commands = self._expert.commands(self.session)
        return commands[0] if commands else None

    def state_text(self) -> str:
        """Return a text that is equal for equal states of a game."""
        return self.session.state_text()

    def snapshot(self) -> Fork:
        """Fork the game: return what :meth:`restore` needs, which can be pickled."""
        original = None if self._original is None else self._original.snapshot()
        lines = tuple(line.snapshot() for line in self._lines)
        state = self.session.snapshot()
        return Fork(self.engine, self.expert, state, self._whole, lines, original)

    def restore(self, game: Game, fork: Fork) -> None:
        """Go to the state of a snapshot of the same game.

        Raises:
            ConfigurationError: The snapshot is of another engine, expert or game; nothing has
                changed then.
            EnvFailure: The original engine failed.
        """
        house = household(game)
        self._check(house, fork)
        if self.engine != "native":
            if self._original is None:
                self._original = open_reference(game)
            self._original.restore(fork.original)
        self._session = Session(house)
        self._session.restore(fork.state)
        self._whole = fork.whole
        self._begin()
        for line, known in zip(self._lines, fork.lines, strict=True):
            line.restore(known)

    def close(self) -> None:
        """Give the original engine back, if there is one; may be called twice."""
        if self._original is not None:
            self._original.close()
            self._original = None

    def _begin(self) -> None:
        """Let the experts know nothing."""
        self._shortest = ShortestLine()
        self._expert: Line = self._shortest
        self._lines: tuple[Line, ...] = (self._shortest,)
        if self.expert != "shortest":
            self._expert = LINES[self.expert]()
            self._lines = (self._shortest, self._expert)

    def _check(self, house: Household, fork: Any) -> None:
        """Refuse what :meth:`snapshot` has not returned for this kind of play and this game."""
        wanted = f"a snapshot of engine={self.engine!r} with expert={self.expert!r}"
        if not isinstance(fork, Fork):
            raise ConfigurationError(f"expected {wanted}, got {type(fork).__name__}")
        if (fork.engine, fork.expert) != (self.engine, self.expert):
            raise ConfigurationError(
                f"expected {wanted}, got one of engine={fork.engine!r} with expert="
                f"{fork.expert!r}; restore it in an environment made like the one it was taken from"
            )
        if len(fork.state.contents) != len(house.places):
            raise ConfigurationError(
                f"expected a snapshot of the game {house.game.id}, got one of a room with "
                f"{len(fork.state.contents)} receptacles instead of {len(house.places)}"
            )
