"""Asynchronous rollouts: batches are played ahead of their training.

With staleness N, a thread plays the batch of step s + N while the batch of step s trains, as AReaL
(arXiv 2505.24298) and AgentRL (arXiv 2510.04206) do. The lag is fixed and does not depend on
timing: with ``pi_s`` the policy after step s and ``start`` the step after which the training began
or was resumed,

    mu_s = pi_max(start, s - 1 - N)

plays the batch of step s, whichever side is faster. The other side waits, so the same settings give
the same result. The update corrects for the lag with the truncated importance weights
``min(pi_{s-1} / mu_s, C)`` of ``trainers.algorithms.loss.behaviour_weights``; its ratio and clip
still refer to ``pi_{s-1}`` (AReaL's decoupled objective).

The thread only plays. The training thread chooses tasks, reads the trained weights and does
everything that involves all processes of a run.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from trainers.grpo.checkpoint import Stateful, state_of
from trainers.grpo.step_part import StepContext, StepPart
from trainers.methods.async_rollouts.settings import check_own_weights
from trainers.rollouts.engines.engine_weights import EngineWeights, Weights
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan
from trainers.rollouts.task_feed import LearningTaskSource
from trainers.rollouts.trajectory import Trajectory

__all__ = ["DROP_SECONDS", "RolloutProducer"]

DROP_SECONDS = 60.0
"""Longest wait for a cancelled rollout, which checks for cancellation only between turns."""


@dataclass(frozen=True)
class _TasksBefore:
    """A task source in a checkpoint: as it was before it chose for steps that are not trained yet.

    A resumed run plays them anew, so they are chosen again.
    """

    source: Stateful
    """The task source."""
    state: Mapping[str, Any]
    """Its state then."""

    def state_dict(self) -> dict[str, Any]:
        """Return that state."""
        return dict(self.state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the source."""
        self.source.load_state_dict(state)


@dataclass(frozen=True)
class _Batch:
    """A planned batch and the episodes that come of it."""

    tasks_before: Mapping[str, Any] | None
    """State of the task source before the choice, if choosing may change it."""
    plan: StepPlan
    version: int
    weights: Weights | None
    episodes: Future[list[Trajectory]] = field(default_factory=Future)


class RolloutProducer(StepPart):
    """Play batches one after the other in a separate thread.

    While it plays, only this thread may use runner, engine and environments.

    Args:
        context: Parts of the trainer that it uses.
        staleness: Steps to play ahead, N, at least 1.

    Attributes:
        waited: Seconds that training waited for the last batch.
    """

    plays = True

    def __init__(self, context: StepContext, staleness: int) -> None:
        self.waited = 0.0
        self.lag = staleness
        self._context = context
        self._runner: RolloutRunner
        self._weights: EngineWeights
        self._ahead: deque[_Batch] = deque()
        self._queue: SimpleQueue[_Batch | None] = SimpleQueue()
        self._dropped = threading.Event()
        self._thread: threading.Thread | None = None

    def use_runner(self, runner: RolloutRunner, weights: EngineWeights) -> None:
        """Take the runner and engine that play the episodes.

        Raises:
            ConfigurationError: The engine generates with the weights that are trained.
        """
        check_own_weights(runner.engine, self._context.policy, self.lag)
        self._runner, self._weights = runner, weights

    # -- for a training step -----------------------------------------------------------------------

    def play(
        self, step: int, plans: Callable[[int], StepPlan]
    ) -> tuple[StepPlan, list[Trajectory]]:
        """Return the episodes of a step, and start to play the step N later.

        The first call, and the first after :meth:`end_training`, start all steps up to that one.

        Args:
            step: Training step; the successor of the last call's step, if there was one.
            plans: Returns the plan of a step.

        Raises:
            Exception: The error that occurred while the episodes were played.
        """
        last = self._context.last_step()
        # Taken first: an idle engine gets weights without a copy of them.
        played_batch = self._take() if self._ahead else None
        # With nothing ahead begin at this step, or at the next if this one was just taken.
        begin = self._ahead[-1].plan.step + 1 if self._ahead else step + (played_batch is not None)
        for ahead in range(begin, max(step, min(step + self.lag, last)) + 1):
            self._submit(ahead, plans)
        played_batch = played_batch or self._take()
        assert played_batch[0].step == step, (
            "batches are trained in the order in which they are played"
        )
        # Episodes played meanwhile cost the step only the wait.
        self._context.times.move("rest", "generation", self.waited)
        return played_batch

    def figures(self, episodes: Sequence[Trajectory]) -> dict[str, float]:
        """Return metrics of a batch for the log."""
        step, updates = self._context.trained_steps(), self._context.updates
        turns = [turn for episode in episodes for turn in episode.turns if not turn.stale]
        ages = [step - turn.version / updates for turn in turns]
        return {
            "sampling/staleness": sum(ages) / max(1, len(ages)),
            "rollout/waited_seconds": self.waited,
        }

    def saved_tasks(self, tasks: object) -> object:
        """Return a task source as a checkpoint saves it, without choices for future steps."""
        tasks_before = self._ahead[0].tasks_before if self._ahead else None
        if tasks_before is None or not isinstance(tasks, Stateful):
            return tasks
        return _TasksBefore(tasks, tasks_before)

    # -- the thread --------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether all submitted batches have been played."""
        return all(batch.episodes.done() for batch in self._ahead)

    def _submit(self, step: int, plans: Callable[[int], StepPlan]) -> None:
        """Play a batch after those submitted before, with the current weights."""
        if self._thread is None:
            # A daemon: an environment that hangs must not keep the interpreter alive.
            self._thread = threading.Thread(
                target=_work,
                args=(self._runner, self._queue, self._dropped),
                name="agentgym-rollouts",
                daemon=True,
            )
            self._thread.start()
        tasks = self._context.tasks
        # Choosing tasks changes a source that draws as it goes; a learning one changes with
        # results.
        changes = not isinstance(tasks, LearningTaskSource)
        old_tasks = copy.deepcopy(state_of({"tasks": tasks}).get("tasks")) if changes else None
        batch = _Batch(old_tasks, plans(step), *self._hand_over())
        self._ahead.append(batch)
        self._queue.put(batch)

    def _hand_over(self) -> tuple[int, Weights | None]:
        """Send the current weights to an idle engine, or copy them for a busy one.

        Returns:
            Their version, and the copies unless the engine has or will receive the weights.
        """
        # An engine that reads the policy itself has to read it before it is trained on.
        reads = getattr(self._runner.engine, "reads_policy", False)
        if self.idle or reads or self._weights.due:
            self._weights.send()
        return self._weights.version(), self._weights.copy()

    def _take(self) -> tuple[StepPlan, list[Trajectory]]:
        """Return the first batch that was submitted and not taken; waits for it."""
        start = time.perf_counter()
        episodes = self._ahead[0].episodes.result()
        self.waited = time.perf_counter() - start
        return self._ahead.popleft().plan, episodes

    def wait_for_engine(self) -> None:
        """Wait until all submitted batches have been played; :meth:`play` raises errors."""
        wait([batch.episodes for batch in self._ahead])

    def end_training(self) -> None:
        """Discard batches that were submitted and not returned."""
        thread, self._thread = self._thread, None
        self._dropped.set()
        self._queue.put(None)
        if thread is not None:
            thread.join(DROP_SECONDS)
        self._ahead.clear()
        # One that hangs keeps the old ones, and finds out by them when it comes back.
        self._queue, self._dropped = SimpleQueue(), threading.Event()
        self._weights.forget()  # They may have been on their way.


def _work(
    runner: RolloutRunner, queue: SimpleQueue[_Batch | None], dropped: threading.Event
) -> None:
    """Play one batch after the other; after an error nothing more is played."""
    problem: BaseException | None = None
    while (batch := queue.get()) is not None:
        try:
            if problem is not None:
                raise problem
            if batch.weights is not None:
                runner.engine.sync(batch.weights, batch.version)
                batch.weights.clear()  # The engine has them: no need for two copies.
            plan, cancelled = batch.plan, dropped.is_set
            episodes = runner.run(**plan.arguments, parts=plan.parts, cancelled=cancelled)
            batch.episodes.set_result(episodes)
        except BaseException as error:  # The thread that trains raises it.
            problem = error
            batch.episodes.set_exception(error)
        del batch  # The queue may be empty for long.
