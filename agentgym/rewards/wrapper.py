"""A wrapper that adds reward hooks to a text environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentgym.core.hooks import HookRunner, TurnReward, Verdict
from agentgym.core.options import check_reset
from agentgym.core.reward_functions import read_hooks
from agentgym.errors import ConfigurationError


class ShapedReward(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Add turn-level rewards to a text environment.

    The wrapper's terms join ``info["reward_terms"]``. For episodes forked with ``snapshot()``, use
    the environment's ``reward_hooks=`` instead: a snapshot does not include the state of wrappers.

    Args:
        env: A text environment, wrapped or not.
        hooks: The hooks, or reward functions of other projects, run in order; copied.

    Raises:
        ConfigurationError: The innermost environment is not a `TextEnv`, an entry is not a hook or
            two share a name.
    """

    def __init__(
        self, env: gymnasium.Env[str, str], hooks: Sequence[TurnReward | Callable[..., Any]]
    ) -> None:
        RecordConstructorArgs.__init__(self, hooks=list(hooks))
        gymnasium.Wrapper.__init__(self, env)
        if not hasattr(env.unwrapped, "action_specs"):
            raise ConfigurationError(
                f"expected an agentgym TextEnv, got {env.unwrapped!r}: ShapedReward reads its state"
            )
        inner: Any = env.unwrapped
        self._runner = HookRunner(read_hooks(hooks), inner.reported_details())
        self.hook_names = [*self._runner.names]
        self._hooked = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; the options ``training_step`` and ``reward_hooks`` apply here, too."""
        observation, info = self.env.reset(seed=seed, options=options)
        inner: Any = self.env.unwrapped
        reset_options = check_reset(options, inner.reset_options)
        self._hooked = reset_options.get("reward_hooks", True)
        if self._hooked:
            state = self._runner.state(observation, info, inner.potential)
            step, prices = reset_options.get("training_step", 0), reset_options.get("prices")
            self._runner.reset(state, step, info["goal"], prices, inner.task)
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn and add the terms of the hooks to its reward.

        Raises:
            ConfigurationError: An inner hook already uses the name of one of these hooks.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not self._hooked:
            return observation, float(reward), terminated, truncated, info
        total = float(reward)
        inner: Any = self.env.unwrapped
        inner_terms = info["reward_terms"]
        if clash := [name for name in self.hook_names if name in inner_terms]:
            raise ConfigurationError(
                f"expected hook names that the environment does not use, got {clash}: "
                "give the wrapper's hooks other names"
            )
        terms = self._runner.terms(
            inner.last_action or action,
            self._runner.state(observation, info, inner.potential),
            inner_terms,
            valid=info["action_valid"],
            done=terminated or truncated,
            success=info["success"],
            details=info["details"],
            response=action,
        )
        for name in self.hook_names:
            total += terms.get(name, 0.0)
        info = {**info, "reward_terms": terms}
        for key, values in self._runner.reports().items():
            info[key] = {**info.get(key, {}), **values}
        return observation, total, terminated, truncated, info

    def recall(self, turns: Sequence[Mapping[str, Verdict]], ask: bool = False) -> None:
        """Pass recorded verdicts to the judges; see `agentgym.core.hooks.HookRunner.recall`."""
        self._runner.recall(turns, ask)
