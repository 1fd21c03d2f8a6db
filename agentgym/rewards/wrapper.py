"""A wrapper that adds reward hooks to a text environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentgym.core.hooks import HookRunner, TurnReward, TurnState
from agentgym.core.options import check_reset
from agentgym.errors import ConfigurationError


class ShapedReward(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Add turn-level rewards to a text environment.

    The wrapper's terms join ``info["reward_terms"]``. For episodes that are forked with
    ``snapshot()`` use the environment's own ``reward_hooks=`` instead: a snapshot does not hold the
    state of wrappers.

    Args:
        env: A text environment, wrapped or not.
        hooks: The hooks, run in order; copied.

    Raises:
        ConfigurationError: The innermost environment is no `TextEnv`, an entry is no hook or two
            share a name.
    """

    def __init__(self, env: gymnasium.Env[str, str], hooks: Sequence[TurnReward]) -> None:
        RecordConstructorArgs.__init__(self, hooks=list(hooks))
        gymnasium.Wrapper.__init__(self, env)
        if not hasattr(env.unwrapped, "action_specs"):
            raise ConfigurationError(
                f"expected an agentgym TextEnv, got {env.unwrapped!r}: ShapedReward reads its state"
            )
        inner: Any = env.unwrapped
        self._runner = HookRunner(hooks, inner.reported_details())
        self.hook_names = [hook.name for hook in hooks]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; the option ``"training_step"`` is read by scheduled hooks."""
        observation, info = self.env.reset(seed=seed, options=options)
        inner: Any = self.env.unwrapped
        training_step = check_reset(options, inner.reset_options).get("training_step", 0)
        self._runner.reset(self._state(observation, info), training_step)
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn, with the terms of the hooks added to its reward.

        Raises:
            ConfigurationError: An inner hook already uses the name of one of these hooks.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = float(reward)
        inner = info["reward_terms"]
        if clash := [name for name in self.hook_names if name in inner]:
            raise ConfigurationError(
                f"expected hook names that the environment does not use, got {clash}: "
                "give the wrapper's hooks other names"
            )
        terms = self._runner.terms(
            getattr(self.env.unwrapped, "last_action", None) or action,
            self._state(observation, info),
            inner,
            valid=info["action_valid"],
            done=terminated or truncated,
            success=info["success"],
            details=info["details"],
        )
        for name in self.hook_names:
            total += terms[name]
        return observation, total, terminated, truncated, {**info, "reward_terms": terms}

    def _state(self, observation: str, info: dict[str, Any]) -> TurnState:
        potential = float(self.env.unwrapped.potential())  # type: ignore[attr-defined]
        return TurnState(
            observation,
            info["turn"],
            info["score"],
            potential,
            info["state_key"],
            info["oracle_turns"],
        )
