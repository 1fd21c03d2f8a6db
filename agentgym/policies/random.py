"""The floor: a policy that draws admissible actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class RandomPolicy:
    """Draws uniformly from ``info["admissible_actions"]``.

    It owns its generator, so that two policies of one seed play alike and nothing global changes.
    """

    def __init__(self, seed: int = 0, fallback: str = "") -> None:
        """Make the policy.

        Args:
            seed: Seed of its generator.
            fallback: Action where the environment lists no admissible ones.
        """
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._fallback = fallback

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Draw an action.

        Args:
            observation: Ignored.
            info: Info with the admissible actions.

        Returns:
            One of them, or the fallback where there are none.
        """
        actions = info["admissible_actions"]
        return str(actions[self._rng.integers(len(actions))]) if actions else self._fallback
