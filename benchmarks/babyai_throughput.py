"""What ``throughput.py`` measures of BabyAI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stopwatch import make, play, start

ENV_ID = "agentgym/BabyAI-v0"
BARS: dict[str, tuple[str, float]] = {"gym_steps_per_second": (">=", 3_000)}


def measure_start(options: dict[str, Any]) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, and the first reset."""
    return start(ENV_ID)


def measure_gym(options: dict[str, Any]) -> dict[str, float]:
    """Time resets to new tasks and random admissible steps through ``gym.make``."""
    env = make(ENV_ID)
    env.reset(seed=0)
    return play(env, options["seconds"], "gym")


def combine(figures: dict[str, float]) -> None:
    """Nothing follows from others."""


GROUPS: Mapping[str, Callable[[dict[str, Any]], dict[str, float]]] = {
    "start": measure_start,
    "gym": measure_gym,
}
REPEATS = {"start": 3}
