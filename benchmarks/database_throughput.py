"""Measurements of Database for ``throughput.py``: start, steps at each difficulty, memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stopwatch import expert_turns, growth, make, memory, play, start

ENV_ID = "agentgym/Database-v0"
LEVELS = ("easy", "medium", "hard")
BARS: dict[str, tuple[str, float]] = {
    "make_seconds": ("<=", 0.15),
    **{f"{level}_steps_per_second": (">=", 3000) for level in LEVELS},
    **{f"{level}_expert_turns_per_second": (">=", 3000) for level in LEVELS},
}
Options = dict[str, Any]


def measure_steps(level: str, options: Options) -> dict[str, float]:
    """Time resets and steps of a random policy, which asks in most turns."""
    figures = play(make(ENV_ID, difficulty=level), options["seconds"], level)
    return {name: value for name, value in figures.items() if "worst" not in name}


def measure_expert(level: str, options: Options) -> dict[str, float]:
    """Time the steps of the expert in new tasks, without its own thinking."""
    turns = expert_turns(ENV_ID, options["seconds"], difficulty=level)
    return {f"{level}_expert_turns_per_second": turns}


def measure_memory(options: Options) -> dict[str, float]:
    """Return what the process takes, and what many tasks add to it."""
    env = make(ENV_ID)
    env.reset(seed=0)
    return {"rss_megabytes": memory(), "megabytes_of_1000_resets": growth(env)}


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": lambda options: start(ENV_ID),
    **{f"steps_{level}": partial(measure_steps, level) for level in LEVELS},
    **{f"expert_{level}": partial(measure_expert, level) for level in LEVELS},
    "memory": measure_memory,
}
REPEATS: dict[str, int] = {"start": 3, **{f"expert_{level}": 3 for level in LEVELS}}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""
