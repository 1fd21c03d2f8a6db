"""The sandboxes of a server: a limited number, each with a lease and one request at a time."""

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
    """Maximum limits that clients can request for a sandbox."""

    memory: int = 8 << 30
    """Memory, in bytes."""
    processes: int = 1024
    """Number of processes and threads."""
    disk: int = 4 << 30
    """Total bytes that can be written."""
    files: int = 200_000
    """Number of new files and folders."""
    seconds: float = 3600.0
    """Timeout of a command, in seconds."""
    open_files: ClassVar[int] = 1 << 16
    output: ClassVar[int] = 1 << 28
    kept_output: ClassVar[int] = 1 << 26
    """The server itself uses this memory: process 1 keeps that much output in memory."""

    def __post_init__(self) -> None:
        """Validate the bounds.

        Raises:
            ConfigurationError: A bound is not a positive number.
        """
        for name in ("memory", "processes", "disk", "files"):
            options.integer(getattr(self, name), f"max_{name}", 1, None)
        check_timeout(self.seconds)

    def check_limits(self, limits: SandboxLimits) -> None:
        """Check requested limits.

        Raises:
            ConfigurationError: A limit exceeds its bound.
        """
        flags = {bound.name for bound in fields(self)}
        for name in (*flags, "open_files", "output", "kept_output"):
            limit, ceiling = getattr(limits, name, 0), getattr(self, name)
            if limit > ceiling:
                raise ConfigurationError(
                    f"expected limits of at most {ceiling:,} for {name}, got {limit:,}; ask for "
                    "less" + f", or start the server with a larger --max-{name}" * (name in flags)
                )

    def check_seconds(self, timeout: float) -> None:
        """Check a requested timeout.

        Raises:
            ConfigurationError: It exceeds the bound, or is invalid.
        """
        if check_timeout(timeout) > self.seconds:
            raise ConfigurationError(
                f"expected a timeout of at most {self.seconds:g} seconds, got {timeout:g}; ask for "
                "less, or start the server with a larger --max-seconds"
            )


class LeasedBoxes:
    """Makes, uses and closes sandboxes for clients that may vanish at any time; thread-safe.

    Args:
        make: Makes a sandbox without starting it.
        max_boxes: Maximum number of sandboxes.
        lease: Seconds without a sign of the client after which its sandbox is closed. A running
            command ends first, at the latest by its own timeout.
        visible: Folders of this machine; clients can make these and folders below them visible.
        bounds: Maximum limits that clients can request.
    """

    def __init__(
        self,
        make: Maker,
        *,
        max_boxes: int,
        lease: float,
        visible: Sequence[Path] = (),
        bounds: LeaseBounds = LeaseBounds(),
    ) -> None:
        self.lease = lease
        self.trees = Trees()
        self._make = make
        self._max_boxes = max_boxes
        self._bounds = bounds
        self._visible = tuple(path.resolve() for path in visible)
        self._boxes: dict[str, Box] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._threads = ThreadPoolExecutor(2 * max_boxes + 2, "boxes")  # to ask and to close
        threading.Thread(target=self._expire, name="leases", daemon=True).start()

    def create(self, name: str, config: Any) -> Future[bytes]:
        """Make and start a sandbox, unless one with this name exists; see `messages`."""
        with self._lock:
            box = self._boxes.get(name)
            if box is None:
                if len(self._boxes) >= self._max_boxes:
                    raise SandboxUnavailable(
                        f"expected at most {self._max_boxes} sandboxes at a time, which the "
                        "server has; use fewer environments, or start the server with a larger "
                        "--max-sandboxes"
                    )
                # Registered before the start, so that it counts, and a retried request finds it.
                box = self._boxes[name] = Box(self.lease)
        return box.ask(0, lambda: self._start(name, box, config), self._threads)

    def operate(
        self, name: str, operation: str, arguments: Mapping[str, Any], body: bytes
    ) -> Future[bytes]:
        """Execute an operation of a sandbox, once for each request number.

        Raises:
            SandboxLost: There is no such sandbox.
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
        """Renew the leases of sandboxes, and return the names that do not exist."""
        current_time = time.monotonic()
        for name in names:
            if name in self._boxes:
                self._boxes[name].expires = current_time + self.lease
        return [name for name in names if name not in self._boxes]

    def __len__(self) -> int:
        """Return the number of sandboxes."""
        return len(self._boxes)

    def close(self) -> None:
        """Close all sandboxes."""
        self._stopped.set()
        for name, box in list(self._boxes.items()):
            self._close(name, box)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.trees.close()

    def _start(self, name: str, box: Box, config: Any) -> bytes:
        """Start a sandbox; after a failure it is removed, so that the client can try again."""
        try:
            digest = config.get("tree") if isinstance(config, dict) else None
            tree = self.trees.hold(digest) if digest else None
            if digest and tree is None:
                self._forget(name)
                return encode({"missing": digest})
            # Set before anything can fail, so that closing the sandbox releases its tree.
            box.release = lambda: self.trees.release(digest) if digest else None
            checked_config = read_config(config, tree)
            self._bounds.check_limits(checked_config.limits)
            self._check_visible(checked_config)
            box.sandbox = self._make(checked_config)
            box.sandbox.start()
            return encode({"capabilities": sorted(box.sandbox.capabilities), "lease": self.lease})
        except BaseException:
            self._close(name, box)
            raise

    def _check_visible(self, config: SandboxConfig) -> None:
        """Raise if a client requests folders that the server's user did not allow."""
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
        """Close and remove a sandbox."""
        self._forget(name)
        box.close()
        return encode({})

    def _forget(self, name: str) -> None:
        with self._lock:
            self._boxes.pop(name, None)

    def _expire(self) -> None:
        """Close sandboxes with expired leases, until the server ends."""
        while not self._stopped.wait(min(5.0, self.lease / 4)):
            current_time = time.monotonic()
            for name, box in list(self._boxes.items()):
                if box.expires < current_time and not box.busy:
                    _log.warning("closing the sandbox %.8s, whose client has fallen silent", name)
                    with contextlib.suppress(Exception):
                        self._close(name, box)


class Box:
    """One sandbox of the server, with its lease and its last answer.

    Args:
        lease: Seconds until it may be closed, if its client does not renew the lease.
    """

    def __init__(self, lease: float) -> None:
        self.sandbox: Sandbox | None = None
        self.expires = time.monotonic() + lease
        self.release: Callable[[], None] = lambda: None
        self._lease = lease
        # The creation is request 0, so that it can be retried like any other request.
        self._number = -1
        self._answer: Future[bytes] = Future()
        self._end: Future[bytes] | None = None
        self._asking = threading.Lock()
        self._working = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether an operation is running."""
        return self._working.locked()

    def ask(
        self, number: Any, work: Callable[[], bytes], threads: ThreadPoolExecutor
    ) -> Future[bytes]:
        """Execute a request, or return the earlier answer if this is a retry.

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
        """Execute the closing once; repeated requests share its future, and block no threads."""
        with self._asking:
            if self._end is None:
                self._end = self.do(work, threads)
            return self._end

    def do(self, work: Callable[[], bytes], threads: ThreadPoolExecutor) -> Future[bytes]:
        """Execute work in a thread, after earlier work."""
        return threads.submit(self._work, work)

    def running(self) -> Sandbox:
        """Return the sandbox."""
        assert self.sandbox is not None
        return self.sandbox

    def close(self) -> None:
        """Close the sandbox, and release its tree."""
        try:
            if self.sandbox is not None:
                self.sandbox.close()
        finally:
            # Only once, although both a client and the end of its lease may close it.
            release, self.release = self.release, lambda: None
            release()

    def _work(self, work: Callable[[], bytes]) -> bytes:
        """Execute a request after earlier ones."""
        with self._working:
            try:
                return work()
            except Exception as error:
                return failure(error)
            finally:
                self.expires = time.monotonic() + self._lease
