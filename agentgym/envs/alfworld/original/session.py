"""Games in the original engine, with the interface of the native one.

It is slow (tens of milliseconds a step, up to seconds a start) and not thread-safe, and serves as
the reference for the native engine. :func:`open_original` is the way in.
"""

from __future__ import annotations

from collections.abc import Callable

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.original.engine import (
    EngineBusy,
    EngineReply,
    LocalEngine,
    OriginalEngine,
    one_line,
)
from agentgym.envs.alfworld.original.process import LIMIT_SECONDS, WorkerEngine
from agentgym.errors import EnvFailure


def open_original(
    game: Game, *, worker: bool | None = None, limit: float = LIMIT_SECONDS
) -> OriginalSession:
    """Play a game in the original engine.

    A process has one such engine. The first session has it, and further ones get a worker process
    each, until it is free again. Close sessions that are no longer needed; to play another game in
    the same engine, call :meth:`OriginalSession.start`, which spares a worker's start.

    Args:
        game: The game.
        worker: True: always in a worker, which can be killed when it hangs and cannot disturb
            other threads. False: never. None: where the engine of this process is in use.
        limit: Longest time in seconds that a worker may take for one start or one command.

    Raises:
        EngineBusy: The engine is in use, and ``worker`` is False.
        EnvFailure: The engine failed.
        DataError: The engine cannot load the game.
        DependencyNotInstalled: alfworld is absent.
        NotSupported: A worker is needed, and Windows has no pipes that it could inherit.
    """
    if worker:
        return OriginalSession(game, WorkerEngine(limit))
    try:
        engine: OriginalEngine = LocalEngine()
    except EngineBusy:
        if worker is False:
            raise
        engine = WorkerEngine(limit)
    return OriginalSession(game, engine)


class OriginalSession:
    """A game in the original engine, with the face of the native ``HouseholdSession``.

    It can be forked, at a price: a snapshot is the game and its commands, and going back to it
    plays them again (a start of 0.2 to 5 s and 13 to 120 ms a command).

    Args:
        game: The game.
        engine: Where it runs; this process's own engine where it is left out.

    Raises the errors of :func:`open_original`.
    """

    def __init__(self, game: Game, engine: OriginalEngine | None = None) -> None:
        self._engine = LocalEngine() if engine is None else engine
        self._commands: list[str] = []
        self._reply: EngineReply | None = None
        try:
            self._intro = self.start(game)
        except BaseException:
            self._engine.close()
            raise

    def start(self, game: Game) -> str:
        """Begin another game, or the same from its start, and return the first observation.

        Raises:
            DataError: The engine cannot load the game.
            EnvFailure: The engine failed; starting once more may help.
        """
        self.game = game
        self._commands = []
        self._intro = self._ask(lambda: self._engine.start(game)).text
        return self._intro

    def intro(self) -> str:
        """Return the first observation, with banner and task; begin anew if anything happened."""
        return self.start(self.game) if self._commands or self._reply is None else self._intro

    def step(self, command: str) -> tuple[str, float, bool]:
        """Execute a command of the policy; an inadmissible one does nothing.

        Returns:
            Observation, score (1.0 if the task is solved now, else 0.0) and whether it is over.

        Raises:
            EnvFailure: The engine failed, or the session is closed.
        """
        command = one_line(command)
        changes = command in self.admissible()
        reply = self._ask(lambda: self._engine.step(command))
        if changes:
            self._commands.append(command)
        return reply.text, reply.score, reply.done

    def admissible(self) -> tuple[str, ...]:
        """Return the admissible commands in the engine's own order, which is sorted."""
        return self._last().admissible

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return self._last().done

    @property
    def won(self) -> bool:
        """Whether the task is solved now."""
        return self._last().won

    def state_text(self) -> str:
        """Return the facts of the present state, equal for equal states."""
        self._last()
        return self._engine.facts()

    def snapshot(self) -> tuple[Game, tuple[str, ...]]:
        """Fork the game: return a picklable snapshot for :meth:`restore`."""
        self._last()
        return self.game, tuple(self._commands)

    def restore(self, state: tuple[Game, tuple[str, ...]]) -> None:
        """Go to the state of a snapshot by playing its commands.

        Those that are already played are kept if the present game is at an earlier point.

        Raises:
            DataError: The engine cannot load the game.
            EnvFailure: The engine failed.
        """
        game, commands = state
        previous = tuple(self._commands)
        if self._reply is None or game != self.game or commands[: len(previous)] != previous:
            self.start(game)
        for command in commands[len(self._commands) :]:
            self.step(command)

    def close(self) -> None:
        """Release the engine; may be called twice."""
        self._reply = None
        self._engine.close()

    def __enter__(self) -> OriginalSession:
        """Return the session."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Copy and pickle as game and commands, to be played again in an engine that is free."""
        return _reopen, (self.game, tuple(self._commands))

    def _ask(self, question: Callable[[], EngineReply]) -> EngineReply:
        """Send a command to the engine; if it fails, its last answer is unknown."""
        self._reply = None
        self._reply = question()
        return self._reply

    def _last(self) -> EngineReply:
        """Return the engine's last answer."""
        if self._reply is None:
            raise EnvFailure("expected a running game, but it is closed or failed; start one")
        return self._reply


def _reopen(game: Game, commands: tuple[str, ...]) -> OriginalSession:
    """Open a session at a point of a game."""
    session = open_original(game)
    try:
        session.restore((game, commands))
    except BaseException:
        session.close()
        raise
    return session
