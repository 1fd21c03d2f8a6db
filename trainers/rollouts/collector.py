"""What happens before the loss: tasks, horizon, weights and episodes of each training step."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentgym.errors import ConfigurationError
from trainers.algorithms import Constant, Gated, Schedule
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.parity import FP32_TOLERANCE, Scorer, probe_parity
from trainers.rollouts.engines.weights import policy_weights
from trainers.rollouts.runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory

__all__ = ["STATE_FILE", "Collector", "RolloutEvent", "TaskSource"]

logger = logging.getLogger(__name__)

STATE_FILE = "multi_turn_state.json"
"""Where a checkpoint keeps the state of schedule and task source."""


class TaskSource(Protocol):
    """Chooses tasks. With ``state_dict``/``load_state_dict`` its state goes into checkpoints."""

    def __call__(self, step: int, count: int, horizon: int) -> Sequence[Mapping[str, Any]]:
        """Reset options of ``count`` tasks for a step (from 1), the same on every process."""
        ...


@dataclass(frozen=True)
class RolloutEvent:
    """One step's episodes, as told to ``on_rollout``."""

    step: int
    """Training step, from 1."""
    horizon: int
    """Turn budget of the step."""
    trajectories: Sequence[Trajectory]
    """Episodes of this process."""
    metrics: Mapping[str, float]
    """Figures over all processes."""


class Collector:
    """Plays the episodes of training steps; all but a gated schedule is a function of the step.

    Attributes:
        runner: Plays the episodes.
        horizon: Turn budget of the present step; 0 before the first.
        stage_switches: (step, horizon) of every change seen by this process.
    """

    def __init__(
        self,
        runner: RolloutRunner,
        policy: Any,
        tasks: TaskSource,
        schedule: Schedule | int,
        *,
        seed: int = 0,
        sampling: Sampling | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            runner: Environments, tokenizer and engine.
            policy: The model being trained, unwrapped; PEFT models as they are.
            tasks: Chooses the tasks of each step.
            schedule: Turn budget by step (from 1), or a constant.
            seed: Seed of the run.
            sampling: Temperature and nucleus of the behaviour policy.
        """
        self.runner = runner
        self.schedule = Constant(schedule) if isinstance(schedule, int) else schedule
        self.horizon = 0
        self.stage_switches: list[tuple[int, int]] = []
        self.sampling = sampling or Sampling()
        self._policy, self._tasks, self._seed = policy, tasks, seed
        self._synced: int | None = None

    def collect(
        self,
        step: int,
        count: int,
        group_size: int,
        rank: int = 0,
        world: int = 1,
        version: int | None = None,
    ) -> list[Trajectory]:
        """Play one process's share of a step.

        Args:
            step: Training step, from 1.
            count: Episodes of this process; groups may straddle processes.
            group_size: Episodes per task.
            rank: Index of the process.
            world: Number of processes.
            version: Number of finished optimiser steps; None: one for every step before this one.

        Returns:
            ``count`` trajectories: numbers ``rank * count`` and up of the step.

        Raises:
            ConfigurationError: The task source returned another number of tasks than asked for.
        """
        self.sync(step - 1 if version is None else version)
        self._set_horizon(step)
        wanted = count * world // group_size
        tasks = list(self._tasks(step, wanted, self.horizon))
        if len(tasks) != wanted or wanted * group_size != count * world:
            raise ConfigurationError(
                f"expected {wanted} tasks for step {step} ({count * world} episodes in groups of "
                f"{group_size}), got {len(tasks)}: return as many as asked for, and let the group "
                "size divide the number of episodes"
            )
        groups = [row // group_size for row in range(rank * count, (rank + 1) * count)]
        base = (self._seed * 1_000_003 + step) * 10_007
        return self.runner.run(
            [tasks[group] for group in groups],
            horizon=self.horizon,
            groups=groups,
            seed=base + rank,
            seeds=[(base + group) % 2**31 for group in groups],
            sampling=self.sampling,
            training_step=step,
        )

    def sync(self, version: int) -> None:
        """Give the engine the present weights, unless it has this version.

        Args:
            version: Number of finished optimiser steps.
        """
        if self._synced == version:
            return
        weights = policy_weights(self._policy)
        self.runner.engine.sync(weights, version)
        # An engine that shares the model leaves the generator unused; nothing was merged then.
        getattr(weights, "close", lambda: None)()
        self._synced = version

    def observe(self, step: int, success: float) -> None:
        """Tell a gated schedule how a step went.

        Args:
            step: The step, from 1.
            success: Its mean success over all processes.
        """
        if isinstance(self.schedule, Gated):
            self.schedule.observe(step, success)

    def probe(
        self,
        trajectories: Sequence[Trajectory],
        exact: bool,
        score: Scorer | None = None,
        prompts: int = 4,
    ) -> float:
        """Compare the engine's log-probabilities with the model's.

        Args:
            trajectories: Their opening prompts are continued.
            exact: Whether a gap above 1e-4 is an error, as for fp32 on both sides; otherwise the
                gap is only reported.
            score: Scores completions as training does; None: one by one, in evaluation mode.
            prompts: How many of them: the shortest and the longest, so that padding has a say.

        Returns:
            The largest gap in nats; 0 without prompts.

        Raises:
            ParityError: The gap is too large.
        """
        contexts = sorted((list(t.turns[0].context) for t in trajectories if t.turns), key=len)
        if not contexts:
            return 0.0
        if len(contexts) > prompts:
            contexts = contexts[: prompts // 2] + contexts[prompts // 2 - prompts :]
        sampling = Sampling(
            8, self.sampling.temperature, stop_ids=self.runner.chat.stop_ids, seed=self._seed
        )
        tolerance = FP32_TOLERANCE if exact else None
        engine = self.runner.engine
        report = probe_parity(
            engine, self._policy, contexts, sampling, tolerance=tolerance, score=score
        )
        return report.max_abs

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state of the parts that have one: a gated schedule, a stateful task source."""
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned; parts without an entry are left alone."""
        for name, part in self._stateful().items():
            if name in state:
                part.load_state_dict(state[name])

    def save(self, folder: Path) -> None:
        """Write the state, if there is any, into a checkpoint's folder, which is made."""
        state = self.state_dict()
        if state:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Restore what ``save`` wrote; a folder without it changes nothing."""
        path = folder / STATE_FILE
        if path.exists():
            self.load_state_dict(json.loads(path.read_text(encoding="utf-8")))

    def _stateful(self) -> dict[str, Any]:
        """The parts with a state, by name."""
        parts = {"horizon": self.schedule, "tasks": self._tasks}
        return {name: part for name, part in parts.items() if hasattr(part, "state_dict")}

    def _set_horizon(self, step: int) -> None:
        """Read the schedule and note a change."""
        horizon = int(self.schedule(step))
        if horizon != self.horizon:
            logger.info("step %d: horizon %d", step, horizon)
            self.stage_switches.append((step, horizon))
        self.horizon = horizon
