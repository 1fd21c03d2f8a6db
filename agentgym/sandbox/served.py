"""Base class of the sandboxes in which the server ``pid1.py`` runs."""

from __future__ import annotations

import atexit
import io
import logging
import os
import sys
import tarfile
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from agentgym.errors import NotSupported
from agentgym.sandbox.base import (
    ENVIRONMENT,
    ExecResult,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLost,
    check_timeout,
)
from agentgym.sandbox.channel import Channel, packed, unpacked

if TYPE_CHECKING:
    from typing_extensions import Self

HOME = "/home/agent"
"""The home folder of commands."""
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
PLACES = ("/tmp", HOME, "/dev/shm")
"""Folders that commands can write to, besides ``workdir``."""
PATIENCE = 60.0
"""Seconds by which an answer may be late, for example on an overloaded machine, before the sandbox
counts as dead."""
LAST_WAIT = 10.0
"""Seconds to wait for a sandbox to end by itself before it is killed."""
CHANGED_FILE = 4 << 20
CHANGED_TOTAL = 32 << 20
"""Maximum size in bytes of a file, and of all files, that ``changes`` returns."""

Answer = TypeVar("Answer")

_log = logging.getLogger(__name__)

_running: WeakSet[ServedSandbox] = WeakSet()
# More concurrent starts than CPUs would only delay all of them.
_starts = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))


class ServedSandbox(Sandbox):
    """A sandbox with a server inside; subclasses define how to start and end it.

    Args:
        config: Initial content and permissions.
    """

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__(config)
        self._channel: Channel | None = None
        self._maker = 0
        self._spare: Spare | None = None

    @abstractmethod
    def _launch(self) -> Channel:
        """Start a new sandbox and return the channel to its server."""

    @abstractmethod
    def _dispose(self) -> None:
        """Wait for the end of the processes that :meth:`_launch` started, and free resources.

        The channel is already closed, so the processes end by themselves.
        """

    @abstractmethod
    def _rlimits(self) -> dict[str, int]:
        """Return the limits of each process, by the name of the resource without ``RLIMIT_``."""

    def _twin(self) -> Self | None:
        """Return an equal sandbox that is not started, or None if a spare one is not supported."""
        return None

    def _holds_memory(self) -> bool:
        """Return whether the memory of all processes together is limited from outside."""
        return "memory" in self.capabilities

    def _fails(self) -> bool:
        """Return whether the engine below the sandbox has failed, which ended the sandbox."""
        return False

    @property
    def workdir(self) -> str:
        """Working folder of commands, as they see it."""
        return self.config.workdir

    @property
    def places(self) -> tuple[str, ...]:
        """Writable folders, which snapshots contain, besides :attr:`workdir`."""
        return (*PLACES, *self.config.writable)

    @property
    def home(self) -> str:
        """The home folder of commands."""
        return HOME

    def start(self) -> Self:
        """Start the sandbox, if it is not running."""
        if self._channel is None:
            with _starts:
                self._channel = self._launch()
                self._maker = os.getpid()
                _running.add(self)
                try:
                    self._channel.call("configure", seconds=PATIENCE, **self._settings())
                except BaseException:
                    self.close()
                    raise
        return self

    def _settings(self) -> dict[str, Any]:
        """Return the settings for the server inside."""
        programs = (*self.config.path, f"{sys.base_prefix}/bin", *SYSTEM_PATH)
        environment = {
            **ENVIRONMENT,
            "PATH": ":".join(dict.fromkeys(programs)),
            "HOME": self.home,
            **self.config.environment,
        }
        return {
            "workdir": self.workdir,
            "places": [self.workdir, *self.places],
            "environment": environment,
            "rlimits": self._rlimits(),
            "memory": 0 if self._holds_memory() else self.config.limits.memory,
            "background": self.config.background,
            "output": self.config.limits.output,
            "kept_output": self.config.limits.kept_output,
        }

    def exec(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command line and wait for its end."""
        return self._ask(
            "exec",
            _exec_result,
            seconds=check_timeout(timeout) + PATIENCE,
            command=command,
            timeout=timeout,
            cwd=cwd or "",
            env=dict(env or {}),
        )

    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        """Return the beginning of a regular file."""
        try:
            return unpacked(self._call("read", path=path, max_bytes=max_bytes)["content"])
        except OSError as error:
            raise FileNotFoundError(f"expected a file at {path!r} to read, got: {error}") from error

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file; folders above it are made."""
        self._call("write", path=path, content=packed(content), mode=mode)

    def changes(self) -> dict[str, bytes | None]:
        """Return the files that differ from ``tree``; files over 4 MiB are left out."""
        files = self._ask(
            "changes", _changed_files, file_bytes=CHANGED_FILE, total_bytes=CHANGED_TOTAL
        )
        return {path: files[path] for path in sorted(files) if not self._is_same(path, files[path])}

    def _is_same(self, path: str, content: bytes | None) -> bool:
        """Return whether a file has the same content as in the tree: it was only touched."""
        tree = self.config.tree
        if tree is None or content is None or ".." in path.split("/"):
            return False
        original = tree / path
        try:
            # A link in the tree may lead outside: compare only paths without links.
            if os.path.realpath(original) != os.path.join(os.path.realpath(tree), path):
                return False
            return original.is_file() and original.read_bytes() == content
        except OSError:
            return False

    def reset(self) -> None:
        """Return to the state after the start, by replacing the sandbox with a new one.

        Cleaning the old one would not be cheaper, and could never be as thorough: nothing that a
        command did reaches the new one.
        """
        spare, self._spare = self._spare, None
        fresh = None if spare is None else spare.take()
        if fresh is None:
            self.close()
            self.start()
            return
        # Swap the states: the two objects only differ in their running processes.
        self.__dict__, fresh.__dict__ = fresh.__dict__, self.__dict__
        _running.add(self)
        threading.Thread(target=fresh.close, name="ending a sandbox", daemon=True).start()

    def snapshot(self) -> bytes:
        """Return everything that was written.

        A snapshot will probably be restored, so this starts a spare sandbox in the background, for
        which :meth:`restore` then need not wait.
        """
        running = self.exec("true").running if self.config.background else 0
        if running:
            raise NotSupported(
                f"expected nothing in the background when a snapshot is taken, got {running} "
                "processes, which no snapshot holds; end them, or replay the episode"
            )
        state = self._ask("snapshot", lambda answer: bytes(answer["body"]), seconds=2 * PATIENCE)
        self._start_spare()
        return state

    def restore(self, state: bytes) -> None:
        """Return to a state taken by :meth:`snapshot`."""
        self.reset()
        self._call("restore", seconds=2 * PATIENCE, body=state)
        self._start_spare()

    def _start_spare(self) -> None:
        """Start a spare sandbox in the background, if there is none."""
        twin = self._twin() if self._spare is None else None
        if twin is not None:
            self._spare = Spare(twin)

    def close(self) -> None:
        """Close the sandbox; may be called twice."""
        # Unset it first: an error below may call close() again, and so does `__del__`.
        channel, self._channel = self._channel, None
        spare, self._spare = self._spare, None
        _running.discard(self)
        if spare is not None:
            spare.drop()
        if channel is not None:
            channel.close()
            if self._maker == os.getpid():  # a fork only closes its copy of the channel
                self._dispose()

    def __del__(self) -> None:
        """Close a sandbox that was not closed."""
        with suppress(Exception):
            self.close()

    def _ask(
        self, operation: str, read_answer: Callable[[dict[str, Any]], Answer], **fields: Any
    ) -> Answer:
        """Send a request that an intact server always answers, and parse the answer.

        A command may run as the server's user and change the server's files in an image. So a
        failed or unreadable answer ends the sandbox, but must not do any other harm.
        """
        try:
            return read_answer(self._call(operation, **fields))
        except (OSError, EOFError, ValueError, LookupError, TypeError, tarfile.TarError) as error:
            self.close()
            raise SandboxDied(
                f"expected an answer to {operation!r}, got {type(error).__name__}: {error!s:.200}; "
                "reset the sandbox"
            ) from error

    def _call(self, operation: str, *, seconds: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        """Send a request to the server inside."""
        if self._channel is None:
            raise SandboxLost("expected a sandbox that runs, got a closed one; call start or reset")
        if self._maker != os.getpid():
            raise SandboxLost(
                "expected the process that started the sandbox, got a fork of it; start one in the "
                "process that uses it"
            )
        try:
            return self._channel.call(operation, seconds=seconds, **fields)
        except SandboxDied as error:
            if self._fails():
                raise SandboxLost(str(error)) from error
            raise


class Spare:
    """A sandbox that is started in the background.

    Args:
        sandbox: The sandbox; not used otherwise until it is taken.
    """

    def __init__(self, sandbox: ServedSandbox) -> None:
        self._sandbox, self._maker = sandbox, os.getpid()
        self._lock = threading.Lock()
        self._dropped = self._started = False
        self._thread = threading.Thread(target=self._start, name="a spare sandbox", daemon=True)
        self._thread.start()

    def take(self) -> ServedSandbox | None:
        """Wait for its start and return it; None if it failed to start."""
        if self._maker != os.getpid():  # no thread survives a fork
            return None
        self._thread.join()
        return self._sandbox if self._started else None

    def drop(self) -> None:
        """Close it, now or as soon as it runs."""
        if self._maker != os.getpid():
            return
        with self._lock:
            self._dropped = True
        if not self._thread.is_alive():
            self._sandbox.close()

    def _start(self) -> None:
        try:
            self._sandbox.start()
            self._started = True
        except Exception as error:  # starting one when it is needed will raise the error
            _log.debug("no spare sandbox: %s", error)
        with self._lock:
            dropped = self._dropped
        if dropped:
            self._sandbox.close()


def _exec_result(answer: dict[str, Any]) -> ExecResult:
    """Convert the server's answer to the result of a command."""
    return ExecResult(
        exit_code=int(answer["exit_code"]),
        output=unpacked(answer["output"]),
        truncated=int(answer["truncated"]),
        timed_out=bool(answer["timed_out"]),
        flooded=bool(answer["flooded"]),
        killed=int(answer["killed"]),
        seconds=float(answer["seconds"]),
        exhausted=bool(answer["exhausted"]),
        running=int(answer["running"]),
    )


def _changed_files(answer: dict[str, Any]) -> dict[str, bytes | None]:
    """Return the files of an answer to ``changes``, and None for those that are deleted."""
    files: dict[str, bytes | None] = {str(path): None for path in answer["deleted"]}
    if "body" not in answer:
        return files
    with tarfile.open(fileobj=io.BytesIO(answer["body"]), mode="r:") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and not member.issparse():  # could claim any size
                files[member.name] = content.read()
    return files


@atexit.register
def _close_all() -> None:
    """Close the sandboxes that are still running."""
    for sandbox in list(_running):
        sandbox.close()
