"""One environment whose every failure is an ``EnvFailure``, which costs an episode and no run."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from agentgym.errors import AgentGymError, EnvFailure
from agentgym.isolated import IsolatedEnv
from trainers.config.environments import ResolvedEnv
from trainers.config.sections import FilledRollout

logger = logging.getLogger(__name__)


def make_safe_env(env: ResolvedEnv, settings: FilledRollout) -> gymnasium.Env[str, str]:
    """Make the environment in which the expert is watched, where the run's environments live."""
    if settings.backend == "sync":
        return GuardedEnv(env.make_env(expose_oracle=False))
    spec = copy.deepcopy(gymnasium.spec(env.env_id))
    spec.kwargs |= {**env.kwargs, "expose_oracle": False}
    return IsolatedEnv(spec, settings.backend, settings.step_timeout)


class GuardedEnv(gymnasium.Wrapper[str, str, str, str]):
    """Turn whatever an environment raises into :class:`EnvFailure`, as the vector env does.

    Errors of agentgym's own, such as an unknown task, pass through.
    """

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """That of the environment: the guard changes nothing of what is played."""
        return self.env.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode."""
        with failures_as_env_failure():
            return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn."""
        with failures_as_env_failure():
            observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward), terminated, truncated, info


@contextmanager
def failures_as_env_failure() -> Iterator[None]:
    """Raise what an environment raises as an ``EnvFailure``."""
    try:
        yield
    except AgentGymError:
        raise
    except Exception as error:
        logger.warning("an environment failed; its episode is left out", exc_info=error)
        raise EnvFailure(f"{type(error).__name__}: {error}") from error
