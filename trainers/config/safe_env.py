"""An environment that reports every failure as ``EnvFailure``, which ends only the episode."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.vector.isolated import IsolatedEnv
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.schema import TrainConfig


def make_safe_env(env: ResolvedEnv, config: TrainConfig, **extra: Any) -> gymnasium.Env[str, str]:
    """Make one environment on the run's backend, for example for demonstrations.

    Args:
        env: The environment.
        config: The settings of the run, with its backend.
        **extra: Further keyword arguments.
    """
    extra = {"expose_oracle": False, **extra}
    if config.backend == "sync":
        return GuardedEnv(env.make_env(**extra))
    spec = copy.deepcopy(gymnasium.spec(env.env_id))
    spec.kwargs |= {**env.kwargs, **extra}
    return IsolatedEnv(spec, config.backend, config.step_timeout)
