"""Fully asynchronous rollouts: generation waits neither for training nor for the slowest episode.

Groups of episodes start in the order of the tasks, and as many play at a time as there are slots.
An update takes the first complete groups, those that started first before others; the others play
on, with the new weights from their next turn (partial rollouts, as in AReaL, arXiv 2505.24298, and
verl's fully asynchronous trainer). Every turn has the log-probabilities and the version of the
policy that sampled it, and importance weights correct each token for its own policy.

Staleness is bounded by turn: with ``pi_s`` the policy after step s, a turn that ``pi_v`` sampled
trains at step s if

    s - 1 - v <= N,

and is left out of the loss otherwise, while its reward counts. So that few turns get that old,
groups are planned only ``ceil(N / 2)`` steps ahead of training.

No task is starved: every planned group trains exactly once, so a run of S steps trains the S n
groups that the synchronous run trains, in another order. Only the last updates wait for the last
groups. A checkpoint holds the planned groups that have not trained; a resumed run plays them first.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from agentgym.errors import DataError
from trainers.grpo.step_part import StepContext, StepPart
from trainers.methods.async_rollouts.continuous import ContinuousRollout, PlannedGroup
from trainers.methods.async_rollouts.settings import check_own_weights, steps_planned
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan, seed_of_step
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["PENDING_FILE", "FullyAsync"]

PENDING_FILE = "pending_groups.json"
"""File of a checkpoint with the planned groups that have not trained."""
DROP_SECONDS = 60.0
"""Longest wait for a thread that is dropped, which it notices between turns."""


class FullyAsync(StepPart):
    """Play episodes without end in a separate thread, and train the first complete groups.

    Args:
        context: Parts of the trainer that it uses.
        staleness: Largest age of a turn that trains, N, in steps, at least 1.

    Attributes:
        waited: Seconds that training waited for the last groups.
    """

    plays = True

    def __init__(self, context: StepContext, staleness: int) -> None:
        self.waited = 0.0
        self.staleness = staleness
        self.lag = steps_planned(staleness)
        self._context = context
        self._runner: RolloutRunner
        self._weights: EngineWeights
        self._rollout: ContinuousRollout | None = None
        self._thread: threading.Thread | None = None
        self._pending: list[PlannedGroup] = []
        self._planned = self._update = 0
        self._sampling = Sampling()

    def use_runner(self, runner: RolloutRunner, weights: EngineWeights) -> None:
        """Take the runner and engine that play the episodes.

        Raises:
            ConfigurationError: The engine generates with the weights that are trained.
        """
        check_own_weights(runner.engine, self._context.policy, self.staleness)
        self._runner, self._weights = runner, weights
        runner.recovery = weights

    # -- for a training step -----------------------------------------------------------------------

    def play(
        self, step: int, plans: Callable[[int], StepPlan]
    ) -> tuple[StepPlan, list[Trajectory]]:
        """Plan further groups, send the weights, and return the first complete groups.

        Args:
            step: Training step.
            plans: Returns the plan of a step.

        Raises:
            Exception: The error that occurred while the episodes were played.
        """
        known = len(self._pending) if self._rollout is not None else 0
        last = max(step, self._context.last_step())
        for planned in range(max(self._planned + 1, step), min(step + self.lag, last) + 1):
            self._plan(plans(planned))
        rollout = self._hand_over()
        rollout.add(self._pending[known:])
        start = time.perf_counter()
        while (taken := rollout.take(self._update)) is None:
            self._send_again(rollout)
        self.waited = time.perf_counter() - start
        # Episodes played meanwhile cost the step only the wait.
        self._context.times.move("rest", "generation", self.waited)
        self._pending = [group for group in self._pending if group not in taken]
        horizon = max(group.horizon for group in taken)
        return StepPlan(step, horizon, {}), self._episodes(step, taken)

    def _plan(self, plan: StepPlan) -> None:
        """Note the groups of a plan, to be played after those planned before."""
        arguments, size = dict(plan.arguments), plan.group_size
        self._sampling = arguments.pop("sampling")
        episodes = self._runner.episodes_of(**arguments)
        first = 1 + max((group.place for group in self._pending), default=-1)
        self._pending += [
            PlannedGroup(first + place, plan.horizon, plan.seed, episodes[begin : begin + size])
            for place, begin in enumerate(range(0, len(episodes), size))
        ]
        self._planned, self._update = plan.step, len(episodes) // size

    def _hand_over(self) -> ContinuousRollout:
        """Send the current weights, and return the rollout, which is started if there is none."""
        if self._rollout is None:
            self._weights.send()
            self._rollout = rollout = ContinuousRollout(self._runner, self._sampling)
            # A daemon: an environment that hangs must not keep the interpreter alive.
            self._thread = threading.Thread(
                target=rollout.play, name="agentgym-rollouts", daemon=True
            )
            self._thread.start()
        elif self._rollout.failure is not None:
            self._send_again(self._rollout)
        # An engine that reads the policy itself has to read it before it is trained on.
        elif getattr(self._runner.engine, "reads_policy", False) or self._weights.due:
            self._weights.send()
        elif (copies := self._weights.copy()) is not None:
            self._rollout.load(copies, self._weights.version())
        self._rollout.go_on()
        return self._rollout

    def _send_again(self, rollout: ContinuousRollout) -> None:
        """Send the current weights to an engine that failed.

        Raises:
            EngineFailure: It failed too often.
        """
        error = rollout.failure
        if error is None:
            return
        self._weights.count_failure(error)
        copies = self._weights.copy()
        assert copies is not None, "after a failure nothing counts as sent"
        rollout.load(copies, self._weights.version())
        if getattr(self._runner.engine, "reads_policy", False):
            rollout.pause()  # Until it has read the policy.
            rollout.go_on()

    def _episodes(self, step: int, taken: Sequence[PlannedGroup]) -> list[Trajectory]:
        """Number the episodes of an update, and leave out turns that are too old."""
        for place, group in enumerate(taken):
            for number, episode in enumerate(group.members, place * len(group.members)):
                episode.group, episode.number = place, number
                for turn in episode.turns:
                    turn.trains = self._age(step, turn) <= self.staleness
        return [episode for group in taken for episode in group.members]

    def _age(self, step: int, turn: SampledTurn) -> float:
        """Return the steps from the policy that sampled a turn to the one that a step trains."""
        return step - 1 - turn.version / self._context.updates

    def figures(self, episodes: Sequence[Trajectory]) -> dict[str, float]:
        """Return metrics of an update for the log."""
        step = self._context.trained_steps() + 1
        turns = [turn for episode in episodes for turn in episode.turns]
        ages = [self._age(step, turn) for turn in turns if turn.trains]
        mixed = [len({turn.version for turn in episode.turns}) > 1 for episode in episodes]
        return {
            "sampling/staleness": sum(ages) / max(1, len(ages)),
            "sampling/staleness_max": max(ages, default=0.0),
            "sampling/too_old": sum(not turn.trains for turn in turns) / max(1, len(turns)),
            "rollout/partial": sum(mixed) / max(1, len(mixed)),
            "rollout/waited_seconds": self.waited,
        }

    # -- engine and environments -------------------------------------------------------------------

    def wait_for_engine(self) -> None:
        """Wait until the turns under way are sampled; no other begins before :meth:`go_on`."""
        if self._rollout is not None:
            self._rollout.pause()
            while self._rollout.failure is not None:
                self._send_again(self._rollout)
                self._rollout.pause()

    def wait_for_envs(self) -> None:
        """Wait until the episodes under way have ended; no other begins before :meth:`go_on`."""
        while self._rollout is not None and not self._rollout.finish_episodes():
            self._send_again(self._rollout)

    def go_on(self) -> None:
        """Play on."""
        if self._rollout is not None:
            self._rollout.go_on()

    def end_training(self) -> None:
        """Give up the episodes under way."""
        thread, rollout = self._thread, self._rollout
        self._thread = self._rollout = None
        if thread is not None and rollout is not None:
            rollout.drop()
            thread.join(DROP_SECONDS)
        self._pending, self._planned = [], 0
        self._weights.forget()  # They may have been on their way.

    # -- checkpoints -------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the groups that are planned and have not trained."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "run_seed": self._context.seed(),
            "planned": self._planned,
            "update": self._update,
            "sampling": asdict(self._sampling),
            "groups": [group.state() for group in self._pending],
        }
        (folder / PENDING_FILE).write_text(json.dumps(state))

    def load(self, folder: Path) -> None:
        """Read them; they are played from their beginning, by the policy of the checkpoint.

        Raises:
            DataError: They are not there.
        """
        try:
            state = json.loads((folder / PENDING_FILE).read_text())
        except (OSError, ValueError) as error:
            raise DataError(
                f"expected {PENDING_FILE}, the groups that have not trained, in {folder}; resume "
                "from a checkpoint that has it, or start the run again"
            ) from error
        self._planned, self._update = state["planned"], state["update"]
        self._sampling = Sampling(**state["sampling"])
        # A rollback may have changed the seed of the run since they were planned.
        seed = self._context.seed()
        reseeded = seed_of_step(seed, 0) - seed_of_step(state.get("run_seed", seed), 0)
        self._pending = [
            PlannedGroup.of(place, group, reseeded) for place, group in enumerate(state["groups"])
        ]
