"""The process back end: several environments per worker, one message per worker and step.

A worker that dies or passes a time limit costs one episode, that of the environment it was busy
with. It is replaced, and its other environments are brought back to where they were: by their
last checkpoint and their actions since, or by their reset and all actions (see
:mod:`agentgym.vector.history`). Environments are deterministic, and the last observation is
compared.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

import cloudpickle

from agentgym.errors import EnvFailure
from agentgym.vector.child import Answer, Child, WorkerLost
from agentgym.vector.env_slots import Description, EnvFactory, Failure
from agentgym.vector.history import Called, History
from agentgym.vector.limits import CLOSE_SECONDS, Limits

logger = logging.getLogger(__name__)

IDLE_DEATHS = 3
"""How often in a row a worker may die without an environment to blame."""


@dataclass(slots=True)
class _Batch:
    """What one worker has been asked to do."""

    kind: str
    slots: list[int] = field(default_factory=list)
    args: list[Any] = field(default_factory=list)

    def without(self, slot: int) -> _Batch:
        """Return the batch with one slot left out."""
        kept = [(s, a) for s, a in zip(self.slots, self.args, strict=True) if s != slot]
        return _Batch(self.kind, [s for s, _ in kept], [a for _, a in kept])


class Processes:
    """Environments in worker processes: for engines that are heavy on the CPU, or may crash.

    Slot ``s`` lives in worker ``s % workers``, so that episodes which end early leave the workers
    evenly loaded.

    Args:
        factories: One for each slot; sent with cloudpickle, so lambdas are fine.
        workers: Number of processes.
        limits: Time limits.

    Raises:
        NotSupported: The operating system is not a POSIX system.
        EnvFailure: A worker did not come up.
    """

    def __init__(self, factories: Sequence[EnvFactory], workers: int, limits: Limits) -> None:
        self._limits = limits
        self._factories = [
            cloudpickle.dumps({s: factories[s] for s in range(w, len(factories), workers)})
            for w in range(workers)
        ]
        self._children: list[Child] = []
        self._histories: list[History | None] = [None] * len(factories)
        self._dead: dict[int, Failure] = {}
        self._checkpoints: dict[int, bytes] = {}
        self.lost: set[int] = set()
        self.restarts = 0
        # Not a bound method: it must not keep this object alive.
        self._finalizer = weakref.finalize(self, _close, self._children)
        try:
            for pickled in self._factories:
                self._children.append(Child(pickled, limits))
            self.description: Description = self._children[0].greet()
            for child in self._children[1:]:
                self.description.agree(child.greet())
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [child.pid for child in self._children]

    def run(self, kind: str, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Send each worker its share in one message, then collect the answers as they come."""
        results: dict[int, Any] = {}
        batches: dict[int, _Batch] = {}
        for slot, arg in zip(slots, args, strict=True):
            if kind == "step" and slot in self._dead:
                results[slot] = self._dead[slot]
                continue
            batch = batches.setdefault(slot % len(self._children), _Batch(kind))
            batch.slots.append(slot)
            batch.args.append(arg)
        self._checkpoints.clear()
        try:
            self._exchange(batches, results)
        except BaseException:
            # Interrupted between question and answer: the workers may be anywhere. The next batch
            # finds them dead and brings their environments back to where they were before this one.
            for worker in batches:
                self._children[worker].abort()
            raise
        for slot, arg in zip(slots, args, strict=True):
            results[slot] = self._record(kind, slot, arg, results[slot])
        for slot, snapshot in self._checkpoints.items():
            if (history := self._histories[slot]) is not None:
                history.checkpoint(snapshot)
        return [results[slot] for slot in slots]

    def close(self) -> None:
        """Stop the workers; kills those that do not stop in time."""
        self._finalizer()

    def _exchange(self, batches: dict[int, _Batch], results: dict[int, Any]) -> None:
        """Send every worker its batch and collect the answers."""
        unreachable = [worker for worker, batch in batches.items() if not self._send(worker, batch)]
        for worker in unreachable:
            self._recover(worker, batches[worker], self._children[worker].lost(), results)
        self._collect(set(batches).difference(unreachable), batches, results)

    def _send(self, worker: int, batch: _Batch) -> bool:
        """Send a batch; return whether the worker was there to take it."""
        try:
            self._children[worker].send((batch.kind, batch.slots, batch.args))
        except OSError:
            return False
        return True

    def _collect(
        self, workers: set[int], batches: dict[int, _Batch], results: dict[int, Any]
    ) -> None:
        """Read the answers of workers that were sent a batch, replacing those that fail."""
        waiting = {self._children[worker].connection: worker for worker in workers}
        while waiting:
            children = [self._children[worker] for worker in waiting.values()]
            patience = [p for p in (child.patience() for child in children) if p is not None]
            ready = set(wait(list(waiting), min(patience, default=None)))
            for connection, worker in list(waiting.items()):
                child, batch = self._children[worker], batches[worker]
                try:
                    if connection in ready:
                        answer = child.receive(batch.kind)
                    else:
                        child.check(batch.kind)
                        continue
                except WorkerLost as lost:
                    self._recover(worker, batch, lost, results)
                else:
                    self._take(batch, answer, results)
                del waiting[connection]

    def _take(self, batch: _Batch, answer: Answer, results: dict[int, Any]) -> None:
        """Take what a worker answered."""
        results.update(zip(batch.slots, answer.items, strict=True))
        self._checkpoints.update(answer.checkpoints)

    def _record(self, kind: str, slot: int, arg: Any, result: Any) -> Any:
        """Keep the history that brings the environment back; return what the caller sees."""
        history = self._histories[slot]
        if kind == "reset":
            self._histories[slot] = None
            self._dead.pop(slot, None)
            if isinstance(result, tuple):
                observation, info, origin = result
                self._histories[slot] = History(origin, dict(arg[1] or {}), observation)
                self.lost.discard(slot)
                return observation, info
            if isinstance(result, Failure):
                self._dead[slot] = result
        elif kind == "step":
            if not isinstance(result, tuple):
                self._histories[slot] = None
            elif history is not None:
                history.step(arg, result[0])
        elif isinstance(result, Called):
            if history is not None:
                history.call(arg, result)
            return result.value
        return result

    def _recover(
        self, worker: int, batch: _Batch, lost: WorkerLost, results: dict[int, Any]
    ) -> None:
        """Replace a worker, bring its environments back, and do the batch again without culprits.

        Every pass but an idle death takes one slot out, so it ends.
        """
        idle_deaths = 0
        while True:
            logger.warning("worker %d is replaced: %s (slot %s)", worker, lost, lost.slot)
            if lost.slot is not None:
                self._bury(lost.slot, Failure(lost.reason), batch, results)
                batch = batch.without(lost.slot)
            idle_deaths += lost.slot is None
            if idle_deaths > IDLE_DEATHS:
                return self._give_up(lost.reason, batch, results)
            try:
                self._replace(worker)
                batch = self._restore(worker, batch, results)
                if batch.slots:
                    answer = self._children[worker].exchange(batch.kind, batch.slots, batch.args)
                    self._take(batch, answer, results)
                return
            except WorkerLost as again:
                lost = again
            except EnvFailure as error:
                return self._give_up(str(error), batch, results)

    def _replace(self, worker: int) -> None:
        """Start a new process in the place of a dead one."""
        self.restarts += 1
        self._children[worker].kill()
        self._children[worker] = Child(self._factories[worker], self._limits)
        try:
            self._children[worker].greet()
        except Exception as error:  # Whatever a constructor raises: it worked the first time.
            raise EnvFailure(f"the worker could not be replaced: {error}") from error

    def _restore(self, worker: int, batch: _Batch, results: dict[int, Any]) -> _Batch:
        """Repeat the histories of a worker's environments.

        Returns:
            The batch without the environments that could not be brought back.
        """
        slots = range(worker, len(self._histories), len(self._children))
        histories = {s: h for s in slots if (h := self._histories[s]) is not None}
        self.lost.update(s for s in slots if s not in histories)
        answer = self._children[worker].exchange(
            "replay",
            list(histories),
            [(h.origin.seed, h.options, h.operations) for h in histories.values()],
        )
        for (slot, history), seen in zip(histories.items(), answer.items, strict=True):
            if seen != history.observation:
                why = seen.text if isinstance(seen, Failure) else "repeating its actions differs"
                failure = Failure(f"the worker died and the episode could not be repeated: {why}")
                self._bury(slot, failure, batch, results)
                batch = batch.without(slot)
            elif slot in answer.checkpoints:
                history.checkpoint(answer.checkpoints[slot])
        return batch

    def _give_up(self, reason: str, batch: _Batch, results: dict[int, Any]) -> None:
        """End every episode of a batch; the next batch tries to start the worker again."""
        for slot in batch.slots:
            self._bury(slot, Failure(reason), batch, results)

    def _bury(self, slot: int, failure: Failure, batch: _Batch, results: dict[int, Any]) -> None:
        """End the episode of a slot, now if it is in the batch, else at its next step."""
        self._histories[slot] = None
        self._dead[slot] = failure
        self.lost.add(slot)
        if slot in batch.slots:
            results[slot] = failure


def _close(children: list[Child]) -> None:
    """Stop workers; they get a common deadline."""
    deadline = time.monotonic() + CLOSE_SECONDS
    for child in children:
        child.stop()
    for child in children:
        child.close(deadline)
    children.clear()
