"""Measurements for ``throughput.py`` of families without a separate module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stopwatch import make, play, start

BARS: dict[str, tuple[str, float]] = {"gym_steps_per_second": (">=", 3_000)}
Options = dict[str, Any]


def env_id(options: Options) -> str:
    """Return the id of the family."""
    from agentgym.registration import families

    return next(family.id for family in families() if family.name == options["family"])


def measure_start(options: Options) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, and the first reset."""
    return start(env_id(options))


def measure_gym(options: Options) -> dict[str, float]:
    """Time resets to new tasks and random admissible steps through ``gym.make``."""
    env = make(env_id(options))
    env.reset(seed=0)
    return play(env, options["seconds"], "gym")


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": measure_start,
    "gym": measure_gym,
}
REPEATS: dict[str, int] = {"start": 3}
