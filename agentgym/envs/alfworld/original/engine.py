"""The original engine in this process: textworld's ``PddlEnv`` with alfworld's domain and grammar.

The text grammar of a game file is run with ``eval``, so no game brings its own: the grammar is
always the package's, untouched, and a game's sentence is put into the *finished* first observation.
No text of a game or of a policy is ever part of a grammar.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import Any, Protocol

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.original.package import (
    UNNAMED_TASK,
    original_engine,
    package_texts,
    undisturbed,
)
from agentgym.errors import DataError, EnvFailure

LONGEST_COMMAND = 4096
"""Code points of a command that reach the engine."""
REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class EngineReply:
    """The engine's answer to a start or a command."""

    text: str
    """The observation."""
    score: float
    """1.0 if the task is solved now, else 0.0."""
    done: bool
    """Whether the engine holds the game to be over."""
    won: bool
    """Whether the task is solved now."""
    admissible: tuple[str, ...]
    """The admissible commands in the engine's own order, which is sorted."""


class OriginalEngine(Protocol):
    """One running game of the original engine, here or in another process."""

    def start(self, game: Game) -> EngineReply:
        """Begin a game, from its start if it is the one being played."""

    def step(self, command: str) -> EngineReply:
        """Carry out one line."""

    def facts(self) -> str:
        """Return the sorted facts of the present state, one a line."""

    def close(self) -> None:
        """Release the engine; may be called twice."""


_claim = threading.Lock()
_holder: weakref.ref[LocalEngine] | None = None


class EngineBusy(EnvFailure):
    """The engine of this process is in use."""


class LocalEngine:
    """The engine of this process; there is one, and one holder at a time.

    It is free again when its holder is closed or no longer referenced. It is not thread-safe, and
    nothing can stop it in the middle of a command.

    Raises:
        EngineBusy: It is in use.
        DependencyNotInstalled: alfworld is absent.
    """

    def __init__(self) -> None:
        self._game: Game | None = None
        self._state: Any = None
        self._closed = False
        engine = original_engine()
        if not self._claimed():
            raise EngineBusy(
                "expected the ALFWorld engine of this process to be free, but a session uses it; "
                "close that one, or open_original(game), which starts a worker process"
            )
        self._engine = engine

    def start(self, game: Game) -> EngineReply:
        """Begin a game, from its start if it is the one being played.

        Raises:
            DataError: The engine cannot load it: it is not ALFWorld's, or cannot be solved.
        """
        self._check()
        # Compared first, and forgotten until it is done: an interrupted start is begun anew.
        loaded, self._game = self._game == game, None
        try:
            with undisturbed():
                if not loaded:
                    self._engine.load(_game_data(game))
                self._state = self._engine.reset()
        except (Exception, SystemExit) as error:
            raise DataError(
                f"expected a game that ALFWorld's engine can load, got {game.id!r}, which fails "
                f"with {type(error).__name__}: {error}; its problem is not valid PDDL of the "
                "alfred domain, or the engine found that its goal can never be reached"
            ) from error
        self._game = game
        text = self._state.feedback.replace(UNNAMED_TASK, f"Your task is to: {game.goal}")
        return self._reply(text, bool(self._state["won"]))

    def step(self, command: str) -> EngineReply:
        """Carry out one line.

        Raises:
            EnvFailure: The engine failed, or no game has begun.
        """
        self._check(started=True)
        game, self._game = self._game, None
        try:
            with undisturbed():
                self._state, _, is_done = self._engine.step(one_line(command))
        except (Exception, SystemExit) as error:
            raise EnvFailure(
                f"expected ALFWorld's engine to answer {command[:80]!r}, but it failed with "
                f"{type(error).__name__}: {error}; start the game again"
            ) from error
        self._game = game
        return self._reply(self._state.feedback, bool(is_done))

    def facts(self) -> str:
        """Return the sorted facts of the present state, one a line."""
        self._check(started=True)
        return "\n".join(sorted(map(str, self._state["_facts"])))

    def close(self) -> None:
        """Release the engine; may be called twice."""
        global _holder
        with _claim:
            if _holder is not None and _holder() is self:
                _holder = None
        self._closed, self._game, self._state = True, None, None

    def _claimed(self) -> bool:
        """Take the engine if it is free; return whether it is this object's now."""
        global _holder
        with _claim:
            if _holder is not None and _holder() is not None:
                return False
            _holder = weakref.ref(self)
            return True

    def _check(self, *, started: bool = False) -> None:
        """Raise :class:`EnvFailure` if it is closed, or if a game must have begun and has not."""
        if self._closed:
            raise EnvFailure("expected an open session, but it is closed; open another one")
        if started and self._game is None:
            raise EnvFailure("expected a running game, but none has begun or it failed; start one")

    def _reply(self, text: str, done: bool) -> EngineReply:
        """Assemble the engine's answer."""
        won = bool(self._state["won"])
        return EngineReply(text, float(won), done, won, tuple(self._state["admissible_commands"]))


def _game_data(game: Game) -> dict[str, Any]:
    """Return a game as the engine reads it; domain and grammar never come from the game."""
    domain, grammar = package_texts()
    return {"pddl_domain": domain, "grammar": grammar, "pddl_problem": game.problem}


def one_line(command: str) -> str:
    """Return a command that is safe to hand to the engine.

    It is stripped, unprintable characters become U+FFFD, and a long text is cut and marked. Only
    commands that the engine would reject anyway are changed: no admissible command is long or holds
    a control character, and none becomes admissible by this.
    """
    text = command.strip()
    if len(text) > LONGEST_COMMAND:
        text = f"{text[: LONGEST_COMMAND - 3]}..."
    return "".join(c if c.isprintable() else REPLACEMENT for c in text)
