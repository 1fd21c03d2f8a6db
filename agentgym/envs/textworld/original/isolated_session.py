"""Story files of unknown origin, played in a separate process.

The interpreter is C: a story that is damaged in a way its checksum does not show, or written to do
harm, can end or hang the process that plays it. Stories that this package compiled and verified
are played by ``InformSession`` directly; a user's files are played by the same class in a child
process, which is killed if it does not answer. A request is one line of JSON that names a method of
the session. The answer is one line, too, with everything that the environment reads after a turn,
so that a turn costs one exchange. The child's answers are never evaluated or unpickled.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from agentgym.envs.textworld.original.inform7 import InformSession
from agentgym.envs.textworld.session import GameTurn
from agentgym.errors import DataError, DependencyNotInstalled, EnvFailure, require

SECONDS = 60.0
"""Time that a story has for an answer; TextWorld's own take milliseconds."""

STARTING = 120.0
"""Time limit for a child's imports, which take seconds on a busy machine."""

_TURNS = frozenset(("start", "act", "restore"))
"""Methods after which the state is another one: a :class:`GameView` comes with the answer."""
_ERRORS = {kind.__name__: kind for kind in (DataError, DependencyNotInstalled, EnvFailure)}
_BLOCK = 1 << 16
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from agentgym.envs.textworld.original.isolated_session import serve; serve()"
)


class GameView(NamedTuple):
    """Attributes of a session that are read after a turn."""

    max_score: float
    """Points of a game that is won."""
    admissible: list[str]
    """Commands that the rules allow."""
    offered: list[str]
    """Those that the story itself answers."""
    policy: list[str] | None
    """Commands that win."""
    state: str
    """The state as a text."""
    commands: list[str]
    """The commands so far."""


class StoryProcess:
    """A child process that plays one story at a time; starts when it is first asked."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._end: weakref.finalize[Any, Any] | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call ``open`` or a method of the session in the child; a turn comes with a `GameView`.

        Raises:
            NoAnswer: The child ended or did not answer in time; the next call starts another.
            DataError: The story or its game cannot be played.
            EnvFailure: The session says so.
            DependencyNotInstalled: The ``textworld`` package is absent.
        """
        try:
            child = self._started()
            assert child.stdin is not None
            child.stdin.write(json.dumps([method, *arguments]).encode() + b"\n")
            child.stdin.flush()
            answer = json.loads(_line(child, SECONDS))
        except (OSError, ValueError) as error:
            self.close()
            raise NoAnswer(f"the process of the story file gave no answer: {error}") from error
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        return answer["result"]

    def close(self) -> None:
        """End the child; may be called twice."""
        if self._end is not None:
            self._end()
        self._child = self._end = None

    def _started(self) -> subprocess.Popen[bytes]:
        # A child answers the process that started it; one forked from that needs its own.
        if self._child is not None and (
            self._owner != os.getpid() or self._child.poll() is not None
        ):
            self.close()
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _CHILD, json.dumps(sys.path)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self._owner = os.getpid()
            self._end = weakref.finalize(self, _end, self._child, self._owner)
            _line(self._child, STARTING)
        return self._child


class NoAnswer(EnvFailure):
    """The process of a story gives no answer any more."""


class IsolatedSession:
    """One game in the interpreter of another process; a ``GameSession``.

    Args:
        story: Path of the story (``.z8``); its ``.json`` lies beside it.
        process: Plays it, and no other at the same time.

    Raises:
        DataError: The story or the game beside it is damaged, or the interpreter ends on it.
        DependencyNotInstalled: The ``textworld`` package is absent.
    """

    def __init__(self, story: str | Path, process: StoryProcess) -> None:
        self._story = Path(story).absolute()
        self._process: StoryProcess | None = process
        self._view = GameView(0.0, [], [], None, "", [])
        self._ask_first("open", str(self._story))

    @property
    def max_score(self) -> float:
        """Points of a game that is won; infinite where a quest pays again and again."""
        return self._view.max_score

    def start(self) -> str:
        """Begin, or begin anew."""
        self._ask_first("open", str(self._story))
        return str(self._turn(self._ask_first("start")))

    def act(self, command: str) -> GameTurn:
        """Give the game one command."""
        return GameTurn(*self._turn(self._ask("act", command)))

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that the rules allow in this state, sorted."""
        return tuple(self._view.admissible)

    def offered(self) -> tuple[str, ...]:
        """Return the admissible commands that the story carries out, too."""
        return tuple(self._view.offered)

    def policy(self) -> tuple[str, ...] | None:
        """Return the commands that win from this state; None if nothing does."""
        return None if self._view.policy is None else tuple(self._view.policy)

    def description(self) -> str:
        """Describe the room without taking a turn."""
        return str(self._ask("description"))

    def inventory(self) -> str:
        """List what the player carries without taking a turn."""
        return str(self._ask("inventory"))

    def state_text(self) -> str:
        """Return a text that is equal for equal states."""
        return self._view.state

    def snapshot(self) -> tuple[str, ...]:
        """Return the commands so far."""
        return tuple(self._view.commands)

    def restore(self, state: tuple[str, ...]) -> None:
        """Return to a state of the same game by playing it again."""
        self._ask_first("open", str(self._story))
        self._turn(self._ask("restore", list(state)))

    def close(self) -> None:
        """Leave the game; its process can play another."""
        self._process = None

    def _turn(self, answer: Any) -> Any:
        """Store the attributes that come with the answer to a turn."""
        result, view = answer
        self._view = GameView(*view)
        return result

    def _ask(self, method: str, *arguments: Any) -> Any:
        if self._process is None:
            raise EnvFailure("expected a running game, but its session is closed; open another")
        return self._process.ask(method, *arguments)

    def _ask_first(self, method: str, *arguments: Any) -> Any:
        """Send a request that any intact story answers."""
        try:
            return self._ask(method, *arguments)
        except EnvFailure as error:
            raise DataError(
                f"expected a story file in {self._story} that the interpreter can begin, but "
                f"{error}; compile it again with tw-make, or remove it, and it is compiled from "
                "the .json beside it"
            ) from error


def serve() -> None:
    """Play stories for the process that started this one, until it closes the pipe."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for terminal in (0, 1):  # the interpreter's own input and output must not mix with messages
        os.dup2(nothing, terminal)
    with suppress(DependencyNotInstalled):  # which the first story says
        require("textworld", "textworld")
    server = _StoryServer()
    _reply(replies, {})
    for request in requests:
        method, *arguments = json.loads(request)
        answer: dict[str, Any]
        try:
            answer = {"result": server.call(method, arguments)}
        except tuple(_ERRORS.values()) as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        except Exception as error:  # of TextWorld's tracker, which takes a story at its word
            answer = {"error": EnvFailure.__name__, "message": f"{type(error).__name__}: {error}"}
        _reply(replies, answer)


def _reply(replies: BinaryIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()


class _StoryServer:
    """The child's side: the session of the story that is open."""

    def __init__(self) -> None:
        self._story = ""
        self._session: InformSession | None = None

    def call(self, method: str, arguments: list[Any]) -> Any:
        """Carry out a request of :meth:`StoryProcess.ask`."""
        if method == "open":
            self._open_story(*arguments)
            return None
        if self._session is None:
            raise EnvFailure("expected a story to be open; reset the environment")
        result = getattr(self._session, method)(*arguments)
        if isinstance(result, GameTurn):
            result = [getattr(result, name) for name in GameTurn.__slots__]
        return (result, self._view(self._session)) if method in _TURNS else result

    def _open_story(self, story: str) -> None:
        """Open a story, unless it is open; only a sound one replaces another."""
        if story != self._story:
            session = InformSession(story)
            if self._session is not None:
                self._session.close()
            self._story, self._session = story, session

    @staticmethod
    def _view(session: InformSession) -> GameView:
        policy = session.policy()
        return GameView(
            session.max_score, list(session.admissible()), list(session.offered()),
            None if policy is None else list(policy), session.state_text(),
            list(session.snapshot()),
        )  # fmt: skip


def _line(child: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Read one line of a child, however long it is, within a time."""
    assert child.stdout is not None
    source, parts, deadline = child.stdout.fileno(), list[bytes](), time.monotonic() + seconds
    while not parts or not parts[-1].endswith(b"\n"):
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0 or not _readable(source, seconds_left):
            raise OSError(f"it took more than {seconds:g} seconds")
        parts.append(os.read(source, _BLOCK))
        if not parts[-1]:
            raise OSError(f"it ended with status {child.wait()}")
    return b"".join(parts)


def _readable(source: int, seconds: float) -> bool:
    """Wait for bytes; unlike ``select.select`` this takes descriptors above 1,023."""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _end(child: subprocess.Popen[bytes], owner: int) -> None:
    """End a child and wait for it, so that neither it nor its pipes are left."""
    if os.getpid() != owner:
        return
    child.kill()
    with child:  # closes the pipes and waits
        pass
