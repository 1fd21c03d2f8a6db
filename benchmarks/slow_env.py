"""An environment with slow steps, like those of a web page or a test run."""

from __future__ import annotations

import time
from typing import Any

import gymnasium


class SlowEnv(gymnasium.Wrapper[str, str, str, str]):
    """An environment whose steps take a given number of seconds longer."""

    def __init__(self, env: gymnasium.Env[str, str], seconds: float) -> None:
        super().__init__(env)
        self._seconds = seconds

    def step(self, action: str) -> Any:
        """Sleep, then step."""
        time.sleep(self._seconds)
        return self.env.step(action)
