"""A policy of intermediate strength: it plays two policies by turns, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agentgym.policies.base import Policy, PolicyWithSeed


class MixedPolicy:
    """In each turn, act as the first of two policies with a probability, else as the second.

    Args:
        first: The first policy.
        second: The second policy.
        share: Probability of the first in a turn.
        seed: Seed of the draws.
    """

    def __init__(self, first: Policy, second: Policy, share: float, seed: int = 0) -> None:
        self._first, self._second, self._share = first, second, share
        self._seed = seed
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def seed(self, seed: int) -> None:
        """Make the draws of the next episode depend only on its seed and the policies' seeds."""
        # Another stream than that of a random policy with the same seed.
        self._rng = np.random.Generator(np.random.PCG64([self._seed, seed, 1]))
        for policy in (self._first, self._second):
            if isinstance(policy, PolicyWithSeed):
                policy.seed(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the action of one of the two policies."""
        policy = self._first if self._rng.random() < self._share else self._second
        return policy.act(observation, info)
