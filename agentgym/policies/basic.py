"""Policies without a model: the floor, which is random, and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError
from agentgym.policies.base import checked_action


class RandomPolicy:
    """Draw uniformly from ``info["admissible_actions"]``.

    It owns its generator, so that two policies of one seed play alike and nothing global changes.

    Args:
        seed: Seed of its generator.
        fallback: Action where the environment lists no admissible ones.
    """

    def __init__(self, seed: int = 0, fallback: str = "") -> None:
        self._seed = seed
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._fallback = fallback

    def seed(self, seed: int) -> None:
        """Make the draws of the next episode depend on its seed, and on the policy's, alone."""
        self._rng = np.random.Generator(np.random.PCG64([self._seed, seed]))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Draw one of the admissible actions."""
        actions = info["admissible_actions"]
        return str(actions[self._rng.integers(len(actions))]) if actions else self._fallback


class CallablePolicy:
    """Wrap ``function(observation, info) -> action``.

    Raises:
        ConfigurationError: It cannot be called.
    """

    def __init__(self, function: Callable[[str, Mapping[str, Any]], str]) -> None:
        if not callable(function):
            raise ConfigurationError(
                f"expected a function of (observation, info) that returns text, got {function!r}"
            )
        self._function = function
        self.__wrapped__ = function  # so that `inspect.unwrap` finds what the policy is made of

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Call the function.

        Raises:
            PolicyStopped: The answer is no text.
        """
        return checked_action(self._function(observation, info))
