"""The process back end: several environments per worker, one message per worker and request.

A worker that dies or exceeds a time limit costs one episode: the one it was running. The worker is
replaced, and its other environments are restored: from their last checkpoint and the actions since,
or from their reset and all actions (see :mod:`agentgym.vector.history`). Environments are
deterministic, and the last observation is compared.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

import cloudpickle

from agentgym.errors import EnvFailure, NotSupported
from agentgym.vector.env_slots import EnvFactory
from agentgym.vector.handle import WorkerHandle, WorkerLost
from agentgym.vector.history import Checkpoint, History, Replays
from agentgym.vector.requests import (
    CLOSE_SECONDS,
    Began,
    CallResult,
    SlotFailure,
    SlotOperation,
    SlotRequest,
    TimeLimits,
)
from agentgym.vector.worker import Control, SharedStatus, WorkerAnswer, WorkerSetup

logger = logging.getLogger(__name__)

IDLE_DEATHS = 3
"""Maximum number of consecutive deaths of a worker without an environment to blame, such as those
of a worker that starts."""


class ProcessHandle(WorkerHandle):
    """The parent's handle of a worker process: a fresh interpreter at the other end of a pipe.

    Args:
        factories: Pickled mapping from slot to factory.
        limits: Time limits, measured by the worker's clock and enforced by :meth:`check`.

    Raises:
        NotSupported: The operating system has no pipes that a child can inherit (Windows).
        EnvFailure: The interpreter did not start.
    """

    def __init__(self, factories: bytes, limits: TimeLimits) -> None:
        if os.name != "posix":
            raise NotSupported(
                'expected a POSIX system for backend="process"; use backend="thread" here'
            )
        self._limits = limits
        self._owner = os.getpid()
        self._killed = False
        self.connection, worker_end = Pipe()
        # Nothing is written to this pipe: its end closes with this process, which the worker sees.
        lifeline, self._lifeline = Pipe(duplex=False)
        with worker_end, lifeline, tempfile.TemporaryFile() as file:
            file.truncate(SharedStatus.SIZE)
            self._status = SharedStatus(file.fileno())
            self._status.rest()
            passed = (worker_end.fileno(), file.fileno(), lifeline.fileno())
            self._process = subprocess.Popen(
                _command(*passed), pass_fds=passed, stdin=subprocess.DEVNULL, start_new_session=True
            )
        try:
            self.send(WorkerSetup(limits, factories))
        except OSError as error:
            self.kill()
            raise EnvFailure(f"expected a worker process to start, but: {error}") from error

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def send(self, message: WorkerSetup | SlotRequest[Any, Any] | Control) -> None:
        """Send one message; see :meth:`WorkerHandle.send`."""
        self.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def send_bytes(self, message: bytes) -> None:
        """Send one pickled message.

        Raises:
            OSError: The worker is dead.
        """
        self.connection.send_bytes(message)

    def read(self) -> bytes:
        """Return the next answer; see :meth:`WorkerHandle.read`."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self.report_loss() from None

    def patience(self) -> float | None:
        """Return how long to wait before the next :meth:`check`; None: no check is needed."""
        limits = [limit for limit in (self._limits.step, self._limits.reset) if limit is not None]
        if not limits:
            return None
        return max(0.001, min(self._status.deadline - time.monotonic() + 0.001, *limits, 1.0))

    def check(self, operation: SlotOperation) -> None:
        """Kill the worker if its environment is overdue.

        Raises:
            WorkerLost: The environment was overdue.
        """
        if time.monotonic() > self._status.deadline:
            raise self.report_loss(self._limits.overdue(operation))

    def stop(self) -> None:
        """Ask the worker to close its environments and end."""
        if os.getpid() == self._owner:
            with suppress(OSError):
                self.send(Control.STOP)

    def close(self, deadline: float) -> None:
        """Wait for a stopped worker; kill it at the monotonic time ``deadline``."""
        if os.getpid() == self._owner:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.01, deadline - time.monotonic()))
        self.kill()

    def kill(self) -> None:
        """Kill the worker and its child processes, and reap it; may be called twice."""
        if self._killed or os.getpid() != self._owner:
            # After the first kill another process may have the id; a fork does not own the worker.
            return
        self._killed = True
        with suppress(ProcessLookupError, PermissionError):
            # The whole group, because environments may start programs.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.connection.close()
        self._lifeline.close()

    def abort(self) -> None:
        """Kill the worker without blaming an environment."""
        self.kill()
        self._status.rest()

    def report_loss(self, reason: str | None = None) -> WorkerLost:
        """Kill remaining processes, and return which environment was running."""
        if reason is None:
            with suppress(subprocess.TimeoutExpired):
                # The pipe closes shortly before the exit status is available.
                self._process.wait(1.0)
        code = self._process.poll()
        self.kill()
        return WorkerLost(self._status.slot, reason or f"the worker died (status {code})")


def _command(pipe: int, status: int, lifeline: int) -> list[str]:
    """Return the command line of a worker that finds the same modules as this process."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from agentgym.vector.worker import main; "
        f"main({pipe}, {status}, {lifeline}, {os.getpid()})"
    )
    return [sys.executable, "-c", code]


@dataclass(slots=True)
class _Results:
    """Answers to one worker's share of a request, from the worker or from its replacements."""

    by_slot: dict[int, Any] = field(default_factory=dict)
    """Result of each slot."""
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)
    """Checkpoints of the states after the results."""

    def take(self, request: SlotRequest[Any, Any], answer: WorkerAnswer) -> None:
        """Add a worker's answer to a part of the share."""
        self.by_slot.update(zip(request.slots, answer.results, strict=True))
        self.checkpoints.update(answer.checkpoints)


class Processes:
    """Environments in worker processes: for engines that use much CPU time or may crash.

    Slot ``s`` runs in worker ``s % workers``, so that workers stay evenly loaded when episodes end
    early.

    Args:
        factories: One for each slot; sent with cloudpickle, so lambdas are allowed.
        workers: Number of processes.
        limits: Time limits.
        start: Starts a worker, of any kind, from its pickled factories.

    Raises:
        NotSupported: The operating system is not a POSIX system.
        EnvFailure: A worker did not start.
    """

    concurrent = True

    def __init__(
        self,
        factories: Sequence[EnvFactory],
        workers: int,
        limits: TimeLimits,
        start: Callable[[bytes, TimeLimits], WorkerHandle] = ProcessHandle,
    ) -> None:
        self._limits, self._start = limits, start
        self._factories = [
            cloudpickle.dumps({s: factories[s] for s in range(w, len(factories), workers)})
            for w in range(workers)
        ]
        self._workers: list[WorkerHandle] = []
        self._histories: list[History | None] = [None] * len(factories)
        self._dead: dict[int, SlotFailure] = {}
        self._queues: list[list[SlotRequest[Any, Any]]] = [[] for _ in range(workers)]
        self._shares: dict[int, SlotRequest[Any, Any]] = {}
        self._answered: dict[int, _Results] = {}
        self._unreachable: set[int] = set()
        self._results: list[tuple[int, Any]] = []
        self.lost_slots: set[int] = set()
        self.restarts = 0
        # Not a bound method: it must not keep this object alive.
        self._finalizer = weakref.finalize(self, _close, self._workers)
        try:
            for pickled in self._factories:
                self._workers.append(start(pickled, limits))
            self.description = self._workers[0].wait_ready()
            for worker in self._workers[1:]:
                self.description = self.description.joined(worker.wait_ready())
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.pid for worker in self._workers]

    def send(self, request: SlotRequest[Any, Any]) -> None:
        """Send each worker its share in one message; a busy worker gets it after its answer."""
        for number, share in request.split(len(self._workers)).items():
            self._queues[number].append(share)
            self._post(number)

    def receive(
        self, timeout: float | None = None, wait_for_all: bool = False
    ) -> list[tuple[int, Any]]:
        """Return the answers of workers; failed workers are replaced."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while self._shares:
            self._collect(until, wait_for_all)
            self._settle()
            if not wait_for_all or time.monotonic() >= until:
                break
        results, self._results = self._results, []
        return results

    def abandon(self) -> None:
        """Kill the workers with a pending request, as their state is unknown.

        The next request restores their environments to the state before the pending one.
        """
        for number in self._shares:
            self._workers[number].abort()
        self._shares.clear()
        self._answered.clear()
        self._unreachable.clear()
        self._results.clear()
        for queue in self._queues:
            queue.clear()

    def close(self) -> None:
        """Stop the workers; kill those that do not stop in time."""
        self._finalizer()

    def _post(self, number: int) -> None:
        """Send an idle worker the next share of its queue, joined with others of the same kind."""
        queue = self._queues[number]
        while queue and number not in self._shares:
            share = queue.pop(0)
            # Join only requests of one kind: a message is one operation.
            while queue and type(queue[0]) is type(share):
                share = share.joined(queue.pop(0))
            if self._dead and share.operation is SlotOperation.STEP:
                self._results += [(s, self._dead[s]) for s in share.slots if s in self._dead]
                share = share.only(set(share.slots).difference(self._dead))
            if share.slots:
                self._shares[number] = share
                try:
                    self._workers[number].send(share)
                except OSError:
                    self._unreachable.add(number)

    def _collect(self, until: float, wait_for_all: bool) -> None:
        """Read answers, replacing workers that fail: of the first worker or of every one.

        Nothing is recorded yet, so an interrupt here has no effect on the episodes.
        """
        # Recover unreachable workers here, not in send(), so that the others already work.
        while self._unreachable:
            number = self._unreachable.pop()
            self._recover(number, self._workers[number].report_loss())
        waiting = {self._workers[n].connection: n for n in self._shares if n not in self._answered}
        while waiting:
            enough = not wait_for_all and (self._answered or self._results)
            # With at least one answer, do not wait for more, but take what has arrived.
            seconds_left = 0.0 if enough else max(0.0, until - time.monotonic())
            patience = [self._workers[number].patience() for number in waiting.values()]
            limits = [p for p in (*patience, seconds_left) if p is not None and p != float("inf")]
            ready = set(wait(list(waiting), min(limits, default=None)))
            for connection, number in list(waiting.items()):
                worker, share = self._workers[number], self._shares[number]
                try:
                    if connection in ready:
                        results = _Results()
                        results.take(share, worker.receive(share.operation))
                        self._answered[number] = results
                    else:
                        worker.check(share.operation)
                        continue
                except WorkerLost as loss:
                    self._recover(number, loss)
                del waiting[connection]
            if not seconds_left or (self._answered and not wait_for_all):
                return

    def _settle(self) -> None:
        """Record the collected answers, and send the workers their next shares."""
        for number, results in list(self._answered.items()):
            share = self._shares[number]
            for slot, arg in zip(share.slots, share.args, strict=True):
                result = results.by_slot[slot]
                self._record(share, slot, arg, result)
                self._results.append((slot, result))
            for slot, checkpoint in results.checkpoints.items():
                if (history := self._histories[slot]) is not None:
                    history.checkpoint(checkpoint)
            del self._answered[number], self._shares[number]
            self._post(number)

    def _record(self, request: SlotRequest[Any, Any], slot: int, arg: Any, result: Any) -> None:
        """Update the history from which a lost environment is restored."""
        history = self._histories[slot]
        if request.operation is SlotOperation.STEP:
            if isinstance(result, SlotFailure):
                self._histories[slot] = None
            elif history is not None:
                history.step(arg, result[0])
        elif request.operation is SlotOperation.RESET:
            self._histories[slot] = None
            self._dead.pop(slot, None)
            if isinstance(result, Began):
                assert result.origin is not None, "workers tell how their resets can be repeated"
                self._histories[slot] = History(result.origin, result.observation)
                self.lost_slots.discard(slot)
            elif isinstance(result, SlotFailure):
                self._dead[slot] = result
        elif isinstance(result, CallResult) and history is not None:
            history.call(arg, result)

    def _recover(self, number: int, loss: WorkerLost) -> None:
        """Replace a worker, restore its environments, and repeat its share without failing slots.

        The loop terminates: every pass removes one slot from the share, except deaths while idle or
        starting, whose number is limited.
        """
        share, results = self._shares[number], _Results()
        self._answered[number] = results
        idle_deaths = 0
        while True:
            logger.warning("worker %d is replaced: %s (slot %s)", number, loss, loss.slot)
            if loss.slot is None:
                idle_deaths += 1
            else:
                share = self._end_episode(loss.slot, SlotFailure(loss.reason), share, results)
            if idle_deaths > IDLE_DEATHS:
                return self._give_up(loss.reason, share, results)
            try:
                self._replace(number)
                share = self._replay(number, share, results)
                if share.slots:
                    results.take(share, self._workers[number].exchange(share))
                return
            except WorkerLost as next_loss:
                loss = next_loss
            except EnvFailure as error:
                return self._give_up(str(error), share, results)

    def _replace(self, number: int) -> None:
        """Start a new worker in place of a dead one."""
        self.restarts += 1
        self._workers[number].kill()
        self._workers[number] = self._start(self._factories[number], self._limits)
        try:
            self._workers[number].wait_ready()
        except EnvFailure as error:  # It died again, or hangs.
            raise WorkerLost(None, f"the worker could not be replaced: {error}") from error
        except Exception as error:  # a constructor that worked before may fail now
            raise EnvFailure(f"the worker could not be replaced: {error}") from error

    def _replay(
        self, number: int, share: SlotRequest[Any, Any], results: _Results
    ) -> SlotRequest[Any, Any]:
        """Restore the environments of a lost worker in its replacement.

        Returns:
            The share without the slots whose environments could not be restored.
        """
        # All environments of the worker, not only those in the share.
        slots = range(number, len(self._histories), len(self._workers))
        histories = {s: h for s in slots if (h := self._histories[s]) is not None}
        self.lost_slots.update(s for s in slots if s not in histories)
        answer = self._workers[number].exchange(Replays(list(histories), list(histories.values())))
        for (slot, history), observation in zip(histories.items(), answer.results, strict=True):
            if observation != history.observation:
                why = (
                    observation.text
                    if isinstance(observation, SlotFailure)
                    else "repeating its actions differs"
                )
                failure = SlotFailure(
                    f"the worker died and the episode could not be repeated: {why}"
                )
                share = self._end_episode(slot, failure, share, results)
            elif slot in answer.checkpoints:
                history.checkpoint(answer.checkpoints[slot])
        return share

    def _give_up(self, reason: str, share: SlotRequest[Any, Any], results: _Results) -> None:
        """End every episode of a share; the next request tries to start the worker again."""
        for slot in share.slots:
            self._end_episode(slot, SlotFailure(reason), share, results)

    def _end_episode(
        self, slot: int, failure: SlotFailure, share: SlotRequest[Any, Any], results: _Results
    ) -> SlotRequest[Any, Any]:
        """End the episode of a slot, now if it is in the share, else at its next step.

        Returns:
            The share without the slot.
        """
        self._histories[slot] = None
        self._dead[slot] = failure
        self.lost_slots.add(slot)
        if slot not in share.slots:
            return share
        results.by_slot[slot] = failure
        return share.only(set(share.slots) - {slot})


def _close(workers: list[WorkerHandle]) -> None:
    """Stop workers; they get a common deadline."""
    deadline = time.monotonic() + CLOSE_SECONDS
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.close(deadline)
    workers.clear()
