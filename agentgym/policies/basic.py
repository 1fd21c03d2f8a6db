"""Policies without a model: the random policy and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError
from agentgym.policies.base import checked_action


class RandomPolicy:
    """Draw uniformly from ``info["admissible_actions"]``.

    The policy has its own generator: policies with equal seeds act equally, and global state is
    unchanged.

    Args:
        seed: Seed of the generator.
        fallback: Action if the environment lists no admissible ones.
    """

    def __init__(self, seed: int = 0, fallback: str = "") -> None:
        self._seed = seed
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._fallback = fallback

    def seed(self, seed: int) -> None:
        """Make the draws of the next episode depend only on its seed and the policy's seed."""
        self._rng = np.random.Generator(np.random.PCG64([self._seed, seed]))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Draw one of the admissible actions."""
        actions = info["admissible_actions"]
        return str(actions[self._rng.integers(len(actions))]) if actions else self._fallback


class CallablePolicy:
    """Wrap ``function(observation, info) -> action``.

    Raises:
        ConfigurationError: The object is not callable.
    """

    def __init__(self, function: Callable[[str, Mapping[str, Any]], str]) -> None:
        if not callable(function):
            raise ConfigurationError(
                f"expected a function of (observation, info) that returns text, got {function!r}"
            )
        self._function = function
        self.__wrapped__ = function  # `inspect.unwrap` finds the source to hash for reports

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Call the function.

        Raises:
            PolicyStopped: The action is not text.
        """
        return checked_action(self._function(observation, info))
