"""When imitation has done enough: the validation gate of the warm start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainers.config.plan import VALID, Plan
from trainers.models.policy import LoadedPolicy
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.rollout_parts import make_engine, make_envs
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.runner import RolloutRunner
from trainers.rollouts.trajectory import rollout_metrics


class Gate:
    """Ends the warm start once the sampled policy solves enough validation tasks.

    It plays on the engine that was chosen for the run. Half of the run's time is the most that the
    warm start may take.

    Attributes:
        engine: What generates.
        success: Success of the last validation.
        reached: Whether that was enough.
    """

    def __init__(self, plan: Plan, folder: RunFolder, policy: LoadedPolicy) -> None:
        config = plan.config.sft
        self._threshold, self._folder, self._horizon = (
            plan.gate_success, folder, plan.full_horizon,
        )  # fmt: skip
        env = plan.make_env()
        count = min(config.gate_tasks, env.tasks.len(VALID))
        self._tasks: Sequence[dict[str, Any]] = [
            {"task_id": task_id} for task_id in env.tasks.panel(VALID, count).ids
        ]
        env.close()
        self._model, self._temperature = policy.model, plan.config.rl.temperature
        self._runner = RolloutRunner(
            make_envs(plan, config.gate_tasks),
            policy.chat,
            make_engine(plan, policy, config.gate_tasks)(policy.model),
            policy.limits,
            opening=policy.opening,
        )
        self.engine = self._runner.engine
        self._seconds = plan.seconds
        self.success, self.reached = 0.0, False

    def __call__(self, step: int) -> bool:
        """Validate after ``step`` steps; True ends the warm start."""
        self.engine.sync(policy_weights(self._model), step)
        played = self._runner.run(
            self._tasks,
            horizon=self._horizon,
            seed=step,
            sampling=Sampling(temperature=self._temperature),
        )
        figures = rollout_metrics(played)
        self.success, score = figures["rollout/success"], figures["rollout/score"]
        self._folder.log(phase=Phase.WARM_START, step=step, success=self.success, score=score)
        self.reached = self.success >= self._threshold
        return self.reached or self._folder.seconds() > self._seconds / 2

    def close(self) -> None:
        """Close the engine and the environments."""
        self.engine.close()
        self._runner.envs.close()
