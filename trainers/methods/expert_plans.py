"""Plans of an environment's expert: training-time information that no policy reads."""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium

from agentgym.core.oracle import OraclePolicy
from agentgym.errors import EnvFailure, NotSupported, PolicyFailure
from agentgym.support.caching import BoundedCache
from trainers.config.resolve import ResolvedRun
from trainers.config.safe_env import make_safe_env
from trainers.rollouts.trajectory import Trajectory

__all__ = ["ExpertPlans"]

KEPT = 4096
"""Plans that are remembered."""
MOST_TURNS = 100
"""Most actions of a plan."""


class ExpertPlans:
    """The actions by which the expert solves the task of an episode, from its start.

    Args:
        envs: An environment of each family, like those in which episodes are played.
    """

    def __init__(self, envs: Mapping[str, gymnasium.Env[str, str]]) -> None:
        self._envs = envs
        self._plans: BoundedCache[tuple[str, str, int | None], list[str]] = BoundedCache(KEPT)

    @classmethod
    def of_run(cls, run: ResolvedRun) -> ExpertPlans:
        """Return the plans of the experts of a run's environments."""
        return cls({env.name: make_safe_env(env, run.config) for env in run.envs})

    def __call__(self, episode: Trajectory) -> str:
        """Return the plan as a text, one action after another; empty if the environment fails."""
        return "\n".join(self.actions(episode))

    def actions(self, episode: Trajectory) -> list[str]:
        """Return the actions of the plan."""
        key = episode.family, episode.task_id, episode.seed
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans.put(key, _plan(self._envs[episode.family], episode))
        return plan

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs.values():
            env.close()


def _plan(env: gymnasium.Env[str, str], episode: Trajectory) -> list[str]:
    """Play the expert from the start of an episode, however few turns that had."""
    options = {**episode.options, "horizon": MOST_TURNS}
    expert, actions = OraclePolicy(env), []
    try:
        observation, info = env.reset(seed=episode.seed, options=options)
        finished = False
        while not finished:
            actions.append(expert.act(observation, info))
            observation, _, terminated, truncated, info = env.step(actions[-1])
            finished = terminated or truncated
    except (EnvFailure, PolicyFailure):
        return []
    except NotSupported:  # The expert knows no way on from here: the plan ends.
        return actions
    return actions
