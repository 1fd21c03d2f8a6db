"""Play held-out tasks with a policy outside of reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.models.loaded_policy import LoadedPolicy
from trainers.phases.rollout_setup import make_runner
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.trajectory import Trajectory

__all__ = ["HeldOutPlayer"]


class HeldOutPlayer:
    """Play tasks with the current weights of a policy, on the run's engine.

    Args:
        run: The run.
        policy: The policy.
        slots: Maximum number of concurrent episodes in this process.
        together: Whether every process of the run plays its share of the tasks.
        on_tokens: Called with the number of tokens of each sampled turn of this process.
    """

    def __init__(
        self,
        run: ResolvedRun,
        policy: LoadedPolicy,
        slots: int,
        *,
        together: bool,
        on_tokens: Callable[[int], None] = lambda tokens: None,
    ) -> None:
        self._run, self._model, self._together = run, policy.model, together
        self._runner = make_runner(run, policy, max(1, slots))
        self._runner.on_tokens = on_tokens
        self.engine = self._runner.engine

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        seed: int,
        *,
        version: int = 0,
        greedy: bool = False,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play an episode of every task.

        Args:
            tasks: Reset options, one per task, with the turns of the episode.
            seed: Seed of environments and sampling.
            version: Version of the weights, such as the number of training steps.
            greedy: Take the most probable token instead of sampling.
            on_episode: Called for each episode of this process as it ends.

        Returns:
            The episodes, in the order of the tasks; with ``together`` of all processes.
        """
        from trainers.rollouts.engines.policy_weights import policy_weights  # imports torch

        # An engine that shares the model ignores the stream, but drops its cache.
        self.engine.sync(policy_weights(self._model), version)
        config = self._run.config
        share = processes.share(len(tasks)) if self._together else range(len(tasks))
        trajectories = self._runner.run(
            [tasks[index] for index in share],
            groups=share,
            first_episode=share.start,
            seed=seed,
            sampling=Sampling(temperature=config.temperature, top_p=config.top_p, greedy=greedy),
            on_episode=on_episode,
        )
        self.engine.rest()  # Training usually follows.
        if not self._together:
            return trajectories
        return processes.gather(
            trajectories, f"the end of the held-out episodes of weights {version}"
        )

    def close(self) -> None:
        """Close the engine and the environments."""
        self.engine.close()
        self._runner.envs.close()
