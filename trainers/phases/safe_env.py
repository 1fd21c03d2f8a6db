"""One environment whose every failure is an ``EnvFailure``, which costs an episode and no run."""

from __future__ import annotations

import copy

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.vector.isolated import IsolatedEnv
from trainers.config.resolved_environments import ResolvedEnv
from trainers.config.sections import FilledRollout


def make_safe_env(env: ResolvedEnv, settings: FilledRollout) -> gymnasium.Env[str, str]:
    """Make the environment in which the expert is watched, where the run's environments live."""
    if settings.backend == "sync":
        return GuardedEnv(env.make_env(expose_oracle=False))
    spec = copy.deepcopy(gymnasium.spec(env.env_id))
    spec.kwargs |= {**env.kwargs, "expose_oracle": False}
    return IsolatedEnv(spec, settings.backend, settings.step_timeout)
