"""The boxes of a sandbox server: a bounded number, each with a lease, each asked one at a time."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from agentgym.core import options
from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import (
    Sandbox,
    SandboxConfig,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
    check_timeout,
)
from agentgym.sandbox.remote.messages import encode, read_config
from agentgym.sandbox.remote.operations import OPERATIONS, failure
from agentgym.sandbox.remote.trees import Trees

Maker = Callable[[SandboxConfig], Sandbox]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseBounds:
    """What clients may ask for, for each sandbox; more is refused."""

    memory: int = 8 << 30
    """Bytes of memory."""
    processes: int = 1024
    """Processes and threads at a time."""
    disk: int = 4 << 30
    """Bytes that can be written in all."""
    files: int = 200_000
    """Files and folders that can be made."""
    seconds: float = 3600.0
    """Seconds that a command may take."""
    open_files: ClassVar[int] = 1 << 16
    output: ClassVar[int] = 1 << 28
    kept_output: ClassVar[int] = 1 << 26
    """Of these the server pays: process 1 keeps so much of an output in memory."""

    def __post_init__(self) -> None:
        """Refuse what bounds nothing.

        Raises:
            ConfigurationError: A bound is no positive number.
        """
        for name in ("memory", "processes", "disk", "files"):
            options.integer(getattr(self, name), f"max_{name}", 1, None)
        check_timeout(self.seconds)

    def check_limits(self, limits: SandboxLimits) -> None:
        """Refuse limits above these.

        Raises:
            ConfigurationError: One is.
        """
        flags = {bound.name for bound in fields(self)}
        for name in (*flags, "open_files", "output", "kept_output"):
            limit, most = getattr(limits, name, 0), getattr(self, name)
            if limit > most:
                raise ConfigurationError(
                    f"expected limits of at most {most:,} for {name}, got {limit:,}; ask for less"
                    + f", or start the server with a larger --max-{name}" * (name in flags)
                )

    def check_seconds(self, timeout: float) -> None:
        """Refuse a time-out above this.

        Raises:
            ConfigurationError: It is, or it is none.
        """
        if check_timeout(timeout) > self.seconds:
            raise ConfigurationError(
                f"expected a timeout of at most {self.seconds:g} seconds, got {timeout:g}; ask for "
                "less, or start the server with a larger --max-seconds"
            )


class LeasedBoxes:
    """Makes, asks and ends boxes for clients that may vanish at any time; safe for threads.

    Args:
        make: Makes a sandbox, not started.
        most: How many there may be.
        lease: Seconds after which a box is closed whose client has said nothing. A command that
            runs then ends first, at the latest by its own timeout.
        visible: Folders of this machine below which clients may make folders visible.
        bounds: What clients may ask for.
    """

    def __init__(
        self,
        make: Maker,
        *,
        most: int,
        lease: float,
        visible: Sequence[Path] = (),
        bounds: LeaseBounds = LeaseBounds(),
    ) -> None:
        self.lease = lease
        self.trees = Trees()
        self._make = make
        self._most = most
        self._bounds = bounds
        self._visible = tuple(path.resolve() for path in visible)
        self._boxes: dict[str, Box] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads = ThreadPoolExecutor(2 * most + 2, "boxes")  # to ask and to close
        threading.Thread(target=self._expire, name="leases", daemon=True).start()

    def create(self, name: str, config: Any) -> Future[bytes]:
        """Make and start a box, unless there is one of this name; answers as the table says."""
        with self._lock:
            box = self._boxes.get(name)
            if box is None:
                if len(self._boxes) >= self._most:
                    raise SandboxUnavailable(
                        f"expected at most {self._most} sandboxes at a time, which the server has; "
                        "use fewer environments, or start the server with a larger --max-sandboxes"
                    )
                # Listed before it is started: it counts at once, and a repeated request finds it.
                box = self._boxes[name] = Box(self.lease)
        return box.ask(0, lambda: self._start(name, box, config), self._threads)

    def operate(
        self, name: str, operation: str, arguments: Mapping[str, Any], body: bytes
    ) -> Future[bytes]:
        """Carry out an operation of a box, once for each number.

        Raises:
            SandboxLost: There is no such box.
            ConfigurationError: The number is not the next one, or there is no such operation.
        """
        box = self._boxes.get(name)
        if box is None:
            raise SandboxLost("expected a sandbox of this server, got one that it has closed")
        parameters = dict(arguments)
        number = parameters.pop("number", None)
        if operation == "close":
            return box.end(lambda: self._close(name, box), self._threads)
        if operation not in OPERATIONS:
            raise ConfigurationError(
                f"expected an operation among {', '.join(OPERATIONS)}, got {operation!r:.60}"
            )

        def work() -> bytes:
            if operation == "exec":
                self._bounds.check_seconds(parameters["timeout"])
            return OPERATIONS[operation](box.running(), parameters, body)

        return box.ask(number, work, self._threads)

    def renew(self, names: Sequence[str]) -> list[str]:
        """Renew the leases of boxes, and return those that are not there."""
        now = time.monotonic()
        for name in names:
            if name in self._boxes:
                self._boxes[name].expires = now + self.lease
        return [name for name in names if name not in self._boxes]

    def __len__(self) -> int:
        """Return how many boxes there are."""
        return len(self._boxes)

    def close(self) -> None:
        """End all boxes."""
        self._ended.set()
        for name, box in list(self._boxes.items()):
            self._close(name, box)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.trees.close()

    def _start(self, name: str, box: Box, config: Any) -> bytes:
        """Start a box; it is forgotten if that fails, so that the client may try again."""
        try:
            digest = config.get("tree") if isinstance(config, dict) else None
            tree = self.trees.hold(digest) if digest else None
            if digest and tree is None:
                self._forget(name)
                return encode({"missing": digest})
            # Before anything may fail: whatever closes the box lets go of its tree.
            box.release = lambda: self.trees.release(digest) if digest else None
            read = read_config(config, tree)
            self._bounds.check_limits(read.limits)
            self._check_visible(read)
            box.sandbox = self._make(read)
            box.sandbox.start()
            return encode({"capabilities": sorted(box.sandbox.capabilities), "lease": self.lease})
        except BaseException:
            self._close(name, box)
            raise

    def _check_visible(self, config: SandboxConfig) -> None:
        """Refuse to show folders of this machine that its user did not release."""
        for path in (*config.visible, *config.mounts.values()):
            folder = path.resolve()
            if not any(folder.is_relative_to(allowed) for allowed in self._visible):
                raise ConfigurationError(
                    f"expected visible folders below {', '.join(map(str, self._visible))} of the "
                    f"server's machine, got {path}; start the server with --visible {path}"
                )
            if not folder.exists():
                raise ConfigurationError(
                    f"expected {path} on the server's machine, where it is not; copy it there, or "
                    "name an image that holds what is needed"
                )

    def _close(self, name: str, box: Box) -> bytes:
        """End a box and forget it."""
        self._forget(name)
        box.close()
        return encode({})

    def _forget(self, name: str) -> None:
        with self._lock:
            self._boxes.pop(name, None)

    def _expire(self) -> None:
        """Close the boxes whose leases have run out."""
        while not self._ended.wait(min(5.0, self.lease / 4)):
            now = time.monotonic()
            for name, box in list(self._boxes.items()):
                if box.expires < now and not box.busy:
                    _log.warning("closing the sandbox %.8s, whose client has fallen silent", name)
                    with contextlib.suppress(Exception):
                        self._close(name, box)


class Box:
    """One box of the server.

    Args:
        lease: Seconds until it may be closed, if nothing is heard of its client.
    """

    def __init__(self, lease: float) -> None:
        self.sandbox: Sandbox | None = None
        self.expires = time.monotonic() + lease
        self.release: Callable[[], None] = lambda: None
        self._lease = lease
        # The creation is request 0, so that it may be repeated like any other.
        self._number = -1
        self._answer: Future[bytes] = Future()
        self._end: Future[bytes] | None = None
        self._asking = threading.Lock()
        self._working = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether it is carrying something out."""
        return self._working.locked()

    def ask(
        self, number: Any, work: Callable[[], bytes], threads: ThreadPoolExecutor
    ) -> Future[bytes]:
        """Return the answer to a request: of this one, or of the same one when it came before.

        Raises:
            ConfigurationError: The number is neither that of the last request nor the next one.
        """
        with self._asking:
            self.expires = time.monotonic() + self._lease
            if number == self._number:
                return self._answer
            if number != self._number + 1 or isinstance(number, bool):
                raise ConfigurationError(
                    f"expected the request of number {self._number + 1}, got {number!r:.40}; a "
                    "sandbox has one user, who numbers the requests"
                )
            self._number += 1
            self._answer = self.do(work, threads)
            return self._answer

    def end(self, work: Callable[[], bytes], threads: ThreadPoolExecutor) -> Future[bytes]:
        """Carry out the closing, once: each that waits for a long command would hold a thread."""
        with self._asking:
            if self._end is None:
                self._end = self.do(work, threads)
            return self._end

    def do(self, work: Callable[[], bytes], threads: ThreadPoolExecutor) -> Future[bytes]:
        """Carry something out, after what came before."""
        return threads.submit(self._work, work)

    def running(self) -> Sandbox:
        """Return the sandbox."""
        assert self.sandbox is not None
        return self.sandbox

    def close(self) -> None:
        """End it, and let go of what it used."""
        try:
            if self.sandbox is not None:
                self.sandbox.close()
        finally:
            # Once, though a client and the end of its lease may both close it.
            release, self.release = self.release, lambda: None
            release()

    def _work(self, work: Callable[[], bytes]) -> bytes:
        """Carry a request out, after those before it."""
        with self._working:
            try:
                return work()
            except Exception as error:
                return failure(error)
            finally:
                self.expires = time.monotonic() + self._lease
