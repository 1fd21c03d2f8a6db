"""Coin mazes whose turns take as long as those of web pages, sandboxes and tests: log-normal.

``--env benchmarks.slow_mazes:benchmarks/SlowMazes-v0 --env-kwargs levels=1-8``. Episodes outside
a step of training, such as demonstrations and held-out ones, are not delayed.
"""

from __future__ import annotations

import math
import time
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from agentgym.core.outcome import Outcome
from benchmarks.coin_mazes import CoinMazes

ID = "benchmarks/SlowMazes-v0"
SHORTEST, LONGEST = 0.02, 2.0
"""Seconds of a turn: the 1st and the 99th percentile, beyond which it is cut."""
MEDIAN = math.sqrt(SHORTEST * LONGEST)
SPREAD = math.log(LONGEST / MEDIAN) / 2.326
"""Standard deviation of the logarithm."""
_numbers = count()


class SlowMazes(CoinMazes):
    """Coin mazes that sleep in every turn of a training task.

    Args:
        **kwargs: Arguments of :class:`~benchmarks.coin_mazes.CoinMazes`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Seeded by the slot, so that members of a group do not take equally long.
        self._delays = np.random.default_rng((47, next(_numbers)))
        self._delayed = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Start an episode, which is delayed if it belongs to a step of training."""
        self._delayed = "training_step" in (options or {})
        return super().reset(seed=seed, options=options)

    def _act(self, action: str) -> Outcome:
        if self._delayed:
            seconds = self._delays.lognormal(math.log(MEDIAN), SPREAD)
            time.sleep(float(np.clip(seconds, SHORTEST, LONGEST)))
        return super()._act(action)


gymnasium.register(ID, entry_point="benchmarks.slow_mazes:SlowMazes")
