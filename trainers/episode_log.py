"""Training episodes as records that can be replayed, rescored and opened in a viewer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium

from agentgym.episodes import Recorder
from agentgym.errors import EnvFailure
from agentgym.outcome import StopReason
from trainers.plan import Plan, failures_as_env_failure
from trainers.rollouts.trajectory import LENGTH, Trajectory

logger = logging.getLogger(__name__)

UNFINISHED = (LENGTH, StopReason.ERROR.value)


class EpisodeLog:
    """Plays chosen training episodes again, in an environment that writes them down.

    An environment is deterministic, so the record is that of the training episode; it holds what
    rollouts do not carry along, such as the potential of every state.

    Args:
        plan: The run.
        path: File of the records.
        hooks: Reward hooks of the training environments.
    """

    def __init__(self, plan: Plan, path: Path, hooks: Sequence[Any]) -> None:
        env = gymnasium.make(
            plan.env_id, disable_env_checker=True, **plan.env_kwargs, reward_hooks=list(hooks)
        )
        self._recorder = Recorder(env, path, policy=plan.config.model)

    def write(self, trajectories: Sequence[Trajectory], step: int) -> None:
        """Write down episodes; those that the harness or a failure cut short are left out.

        Args:
            trajectories: The episodes.
            step: Training step, kept as the reset option ``training_step``.
        """
        for trajectory in trajectories:
            if trajectory.stop_reason in UNFINISHED or not trajectory.turns:
                continue
            options = {**trajectory.options, "training_step": step}
            try:
                with failures_as_env_failure():
                    self._recorder.reset(seed=trajectory.seed, options=options)
                    for turn in trajectory.turns:
                        self._recorder.annotate(completion_tokens=len(turn.ids))
                        self._recorder.step(turn.text)
            except EnvFailure as error:
                logger.warning("an episode of step %d was not recorded: %s", step, error)

    def close(self) -> None:
        """Close the environment."""
        self._recorder.close()
