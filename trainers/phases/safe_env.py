"""One environment whose every failure is an ``EnvFailure``, which costs an episode and no run."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.vector.isolated import IsolatedEnv
from trainers.config.resolved_environments import ResolvedEnv
from trainers.config.sections import FilledRollout


def make_safe_env(
    env: ResolvedEnv, settings: FilledRollout, **extra: Any
) -> gymnasium.Env[str, str]:
    """Make one environment where the run's environments live, such as the expert is watched in.

    Args:
        env: The environment.
        settings: Where it lives.
        **extra: Further keyword arguments.
    """
    extra = {"expose_oracle": False, **extra}
    if settings.backend == "sync":
        return GuardedEnv(env.make_env(**extra))
    spec = copy.deepcopy(gymnasium.spec(env.env_id))
    spec.kwargs |= {**env.kwargs, **extra}
    return IsolatedEnv(spec, settings.backend, settings.step_timeout)
