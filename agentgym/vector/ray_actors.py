"""The back end ``ray``: workers on the machines of a Ray cluster, one per actor.

An actor does not run environments itself: it starts a worker process of the process back end and
forwards messages. So the actor survives an environment that crashes, hangs or blocks the
interpreter and can report it, and time limits use the clock of its machine. The driver treats an
actor like any worker: if it dies (killed, or its machine lost), it is replaced, and its episodes
are restored as :mod:`agentgym.vector.process` describes.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from types import ModuleType
from typing import Any, NamedTuple

from agentgym.errors import EnvFailure, require
from agentgym.support.text_lines import first_line
from agentgym.vector.env_slots import EnvFactory
from agentgym.vector.handle import START_SECONDS, WorkerHandle, WorkerLost
from agentgym.vector.process import Processes, ProcessHandle
from agentgym.vector.requests import CLOSE_SECONDS, SlotOperation, SlotRequest, TimeLimits
from agentgym.vector.worker import Control, WorkerSetup

REASON_LENGTH = 300
"""Maximum number of characters of Ray's message about a dead actor."""


class LostWorker(NamedTuple):
    """The answer of an actor after its worker process died or was killed."""

    slot: int | None
    """Slot whose environment was running, or None."""
    reason: str
    """Description of the failure."""


class EnvActor:
    """The actor: starts a worker process on its machine, and forwards messages.

    Args:
        factories: Pickled mapping from slot to factory.
        limits: Time limits of the environments.
    """

    def __init__(self, factories: bytes, limits: TimeLimits) -> None:
        self._worker = ProcessHandle(factories, limits)

    def pid(self) -> int:
        """Return the id of the worker process."""
        return self._worker.pid

    def greeting(self) -> bytes | LostWorker:
        """Return the worker's first message, sent without a request."""
        try:
            self._worker.connection.poll(START_SECONDS)
            return self._worker.read()
        except WorkerLost as loss:
            return LostWorker(loss.slot, loss.reason)

    def answer(self, message: bytes, operation: SlotOperation) -> bytes | LostWorker:
        """Forward a message and return the worker's answer, both pickled."""
        try:
            try:
                self._worker.send_bytes(message)
            except OSError:
                raise self._worker.report_loss() from None
            self._worker.wait(operation)
            return self._worker.read()
        except WorkerLost as loss:
            return LostWorker(loss.slot, loss.reason)

    def stop(self) -> None:
        """Close the environments."""
        self._worker.stop()
        self._worker.close(time.monotonic() + CLOSE_SECONDS)


class ActorHandle(WorkerHandle):
    """The driver's handle of an actor.

    Args:
        factories: Pickled mapping from slot to factory.
        limits: Time limits, enforced on the actor's machine.
    """

    def __init__(self, factories: bytes, limits: TimeLimits) -> None:
        self._ray = require("ray", "ray")
        self._owner = os.getpid()
        self._killed = False
        # An actor that requests no resources needs a free CPU to be placed, but none to run. So
        # there can be more actors than CPUs, as for other pools of workers.
        options = {"scheduling_strategy": "SPREAD", "max_restarts": 0}
        self._actor = self._ray.remote(**options)(EnvActor).remote(factories, limits)
        self._answers: deque[Any] = deque()
        # Ray calls back on its own thread. A pipe forwards this, because the driver waits for the
        # pipes of all workers at once.
        self.connection, self._arrivals = Pipe(duplex=False)
        self._expect(self._actor.greeting.remote())

    @property
    def pid(self) -> int:
        """Id of the worker process beside the actor, on the actor's machine."""
        return int(self._ray.get(self._actor.pid.remote()))

    def send(self, message: WorkerSetup | SlotRequest[Any, Any] | Control) -> None:
        """Send one message; see :meth:`WorkerHandle.send`.

        The death of an actor is noticed only when its answer is read.
        """
        if self._killed:
            raise BrokenPipeError("the actor was killed")
        operation = message.operation if isinstance(message, SlotRequest) else SlotOperation.CALL
        pickled = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._expect(self._actor.answer.remote(pickled, operation))

    def read(self) -> bytes:
        """Return the next answer; see :meth:`WorkerHandle.read`."""
        try:
            self.connection.recv_bytes()
            answer = self._ray.get(self._answers.popleft())
        except (self._ray.exceptions.RayError, EOFError, OSError) as error:
            raise self.report_loss(_died(error)) from None
        if isinstance(answer, LostWorker):
            self.kill()
            raise WorkerLost(answer.slot, answer.reason)
        data: bytes = answer
        return data

    def patience(self) -> float | None:
        """Return None: the actor enforces time limits and reports them in its answer."""
        return None

    def check(self, operation: SlotOperation) -> None:
        """Do nothing, see :meth:`patience`."""

    def stop(self) -> None:
        """Ask the actor to close its environments."""
        if self._usable:
            self._answers.append(self._actor.stop.remote())

    def close(self, deadline: float) -> None:
        """Wait for a stopped actor; kill it at the monotonic time ``deadline``."""
        if self._usable and self._answers:
            with suppress(self._ray.exceptions.RayError):
                patience = max(0.01, deadline - time.monotonic())
                self._ray.wait([self._answers[-1]], timeout=patience)
        self.kill()

    def kill(self) -> None:
        """Kill the actor, and with it its worker process; may be called twice."""
        if self._usable:
            # The actor's worker process ends by itself when the actor is gone.
            self._ray.kill(self._actor)
            self._killed = True
            self._answers.clear()
            self.connection.close()

    def abort(self) -> None:
        """Kill the actor without blaming an environment."""
        self.kill()

    def report_loss(self, reason: str | None = None) -> WorkerLost:
        """Kill remaining processes; no environment is blamed for the end of an actor."""
        self.kill()
        return WorkerLost(None, reason or "the worker died (its actor was killed)")

    @property
    def _usable(self) -> bool:
        """Whether the actor may be called: not in a fork, nor after the end of the Ray session."""
        # Any call to Ray after its shutdown would start a new local Ray.
        owned = os.getpid() == self._owner and not self._killed
        return owned and bool(self._ray.is_initialized())

    def _expect(self, answer: Any) -> None:
        """Register a pending answer, and signal its arrival through the pipe."""
        self._answers.append(answer)
        arrivals = self._arrivals

        def arrived(_: Any) -> None:
            with suppress(OSError):  # the pipe is closed if the actor was killed in the meantime
                arrivals.send_bytes(b"")

        answer.future().add_done_callback(arrived)


def _died(error: BaseException) -> str:
    """Describe in one line why an actor died."""
    message = first_line(str(error)) or type(error).__name__
    return f"the worker died ({message[:REASON_LENGTH]})"


class Actors(Processes):
    """Environments in Ray actors: for more environments than one machine can run.

    Args:
        factories: One for each slot.
        workers: Number of actors, spread over the machines; None: one per CPU of the cluster, and
            at most one per slot.
        limits: Time limits.

    Raises:
        DependencyNotInstalled: Ray is not installed.
        EnvFailure: The cluster cannot be reached, or an actor did not start.
    """

    def __init__(
        self, factories: Sequence[EnvFactory], workers: int | None, limits: TimeLimits
    ) -> None:
        _session.enter()
        # Finalizers run in reverse order at exit: created before the finalizer that closes the
        # actors, this one runs after it.
        self._leave = weakref.finalize(self, _session.leave)
        try:
            count = min(workers or cluster_cpus(), len(factories))
            super().__init__(factories, count, limits, ActorHandle)
        except BaseException:
            self._leave()
            raise

    def close(self) -> None:
        """Close the environments and end the actors, and Ray if it was started for them."""
        super().close()
        self._leave()


@contextmanager
def connected() -> Iterator[None]:
    """Stay connected to Ray, so that successive vector environments share it.

    Raises:
        DependencyNotInstalled: Ray is not installed.
        EnvFailure: The cluster cannot be reached.
    """
    _session.enter()
    try:
        yield
    finally:
        _session.leave()


def cluster_cpus() -> int:
    """Return the number of CPUs of the cluster this process is connected to."""
    return max(1, int(require("ray", "ray").cluster_resources().get("CPU", 1)))


class _Session:
    """The reference-counted connection of this process to Ray.

    An existing connection is used and left open. Otherwise the first user connects to the cluster
    at ``RAY_ADDRESS`` (``auto``: the cluster that was started on this machine), or starts a local
    Ray. The last user disconnects, which ends a local Ray.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._owner: int | None = None

    def enter(self) -> None:
        """Add a user; connect if there is no connection."""
        ray = require("ray", "ray")
        with self._lock:
            if not ray.is_initialized():
                _connect(ray)
                self._owner = os.getpid()
            self._users += 1

    def leave(self) -> None:
        """Remove a user; disconnect if it was the last one and `enter` made the connection."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._owner == os.getpid():
                self._owner = None
                ray = require("ray", "ray")
                if ray.is_initialized():
                    ray.shutdown()


_session = _Session()


def _connect(ray: ModuleType) -> None:
    """Connect to Ray, and restore the SIGTERM handler, which ``ray.init`` replaces."""
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        # Without an address Ray would join the last cluster on this machine, even a dead one.
        address = os.environ.get("RAY_ADDRESS", "local")
        local = {"include_dashboard": False} if address == "local" else {}
        ray.init(address, logging_level=logging.WARNING, **local)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        cluster = os.environ.get("RAY_ADDRESS", "this machine")
        raise EnvFailure(f"expected to reach Ray at {cluster}, but: {error}") from error
    finally:
        if in_main and handler is not None:
            signal.signal(signal.SIGTERM, handler)
