"""The parent's handle of a worker of any kind: messages to it, and its answers.

The protocol is the same for every kind of worker: requests and answers are pickled (see
:mod:`agentgym.vector.worker`), with one answer per request, in order. A kind of worker defines how
bytes are sent and how it is killed.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from multiprocessing.connection import Connection
from typing import Any

from agentgym.errors import EnvFailure
from agentgym.vector.env_slots import Description
from agentgym.vector.requests import Mistake, SlotOperation, SlotRequest
from agentgym.vector.worker import Control, WorkerAnswer, WorkerSetup, unreadable

START_SECONDS = 120.0


class WorkerLost(Exception):
    """A worker died or was killed.

    Attributes:
        slot: The slot that it was running; None if it was idle.
        reason: Description of the cause.
    """

    def __init__(self, slot: int | None, reason: str) -> None:
        super().__init__(reason)
        self.slot = slot
        self.reason = reason


class WorkerHandle(ABC):
    """A worker that holds the environments of some slots.

    Attributes:
        connection: Becomes readable when an answer arrives or the worker dies.
    """

    connection: Connection

    # -- implemented by each kind of worker --------------------------------------------------------

    @property
    @abstractmethod
    def pid(self) -> int:
        """Id of the process that runs the environments, on its machine."""

    @abstractmethod
    def send(self, message: WorkerSetup | SlotRequest[Any, Any] | Control) -> None:
        """Send one message.

        Raises:
            OSError: The worker is dead.
        """

    @abstractmethod
    def read(self) -> bytes:
        """Wait for the next answer and return it unchanged.

        Raises:
            WorkerLost: The worker is dead.
        """

    @abstractmethod
    def patience(self) -> float | None:
        """Return how long to wait before the next :meth:`check`; None: no check is needed."""

    @abstractmethod
    def check(self, operation: SlotOperation) -> None:
        """Kill the worker if its environment is overdue.

        Raises:
            WorkerLost: The environment was overdue.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ask the worker to close its environments and end."""

    @abstractmethod
    def close(self, deadline: float) -> None:
        """Wait for a stopped worker; kill it at the monotonic time ``deadline``."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the worker and its child processes; may be called twice."""

    @abstractmethod
    def abort(self) -> None:
        """Kill the worker without blaming an environment."""

    @abstractmethod
    def report_loss(self, reason: str | None = None) -> WorkerLost:
        """Kill remaining processes, and return which environment was running."""

    # -- common to all kinds -----------------------------------------------------------------------

    def wait_ready(self) -> Description:
        """Wait until the environments are made, and return their description.

        Raises:
            EnvFailure: The worker died or was not ready in time.
            Exception: An exception of a constructor.
        """
        try:
            ready = self.connection.poll(START_SECONDS)
            greeting = self.receive(SlotOperation.CALL).results[0] if ready else None
        except WorkerLost as loss:
            raise EnvFailure(f"expected a worker to start, but: {loss}") from loss
        if isinstance(greeting, Description):
            return greeting
        self.kill()
        if isinstance(greeting, Mistake):
            raise greeting.error
        raise EnvFailure(f"expected a worker to make its environments within {START_SECONDS:g} s")

    def receive(self, operation: SlotOperation) -> WorkerAnswer:
        """Return the answer to the last request, for that operation; it must have arrived.

        Raises:
            WorkerLost: The worker is dead.
        """
        data = self.read()
        try:
            answer: WorkerAnswer = pickle.loads(data)
        except Exception:  # user-defined values may raise anything when they are unpickled
            return self._piecewise(operation)
        return answer

    def wait(self, operation: SlotOperation) -> None:
        """Wait for the answer to a request, within the time limits.

        Raises:
            WorkerLost: The worker died or exceeded a limit.
        """
        while not self.connection.poll(self.patience()):
            self.check(operation)

    def exchange(self, request: SlotRequest[Any, Any]) -> WorkerAnswer:
        """Send one request and wait for the answer, within the time limits.

        Raises:
            WorkerLost: The worker died or exceeded a limit.
        """
        try:
            self.send(request)
        except OSError:
            raise self.report_loss() from None
        self.wait(request.operation)
        return self.receive(request.operation)

    def _piecewise(self, operation: SlotOperation) -> WorkerAnswer:
        """Request the last answer again, pickled by slot, so that only bad results are lost."""
        try:
            self.send(Control.RESEND)
        except OSError:
            raise self.report_loss() from None
        results = []
        for pickled in pickle.loads(self.read()):
            try:
                results.append(pickle.loads(pickled))
            except Exception as problem:
                results.append(unreadable(operation, problem))
        return WorkerAnswer(results, {})
