"""Measurements of MathPython for ``throughput.py``: start, steps without a process, scripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from stopwatch import expert_turns, make, memory, play, start

ENV_ID = "agentgym/MathPython-v0"
BARS: dict[str, tuple[str, float]] = {
    "make_seconds": ("<=", 0.15),
    "steps_per_second": (">=", 3000),
    "expert_turns_per_second": (">=", 3000),
}

Options = dict[str, Any]


def measure_start(options: Options) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, and the first reset."""
    figures = start(ENV_ID)
    return {name: figures[name] for name in ("make_seconds", "first_reset_seconds")}


def measure_steps(options: Options) -> dict[str, float]:
    """Time resets and steps of a random policy, which calculates and answers."""
    env = make(ENV_ID)
    env.reset(seed=0)
    figures = play(env, options["seconds"], "random")
    return {
        "steps_per_second": figures["random_steps_per_second"],
        "reset_milliseconds": figures["random_reset_milliseconds"],
        "rss_megabytes": memory(),
    }


def measure_expert(options: Options) -> dict[str, float]:
    """Time the steps of an expert that asks the calculator, without its own thinking."""
    turns = expert_turns(ENV_ID, options["seconds"], difficulty="easy", expert="calculating")
    return {"expert_turns_per_second": turns}


def measure_scripts(options: Options) -> dict[str, float]:
    """Measure the wall time of an expert's turns, with one script per task."""
    turns = expert_turns(ENV_ID, options["seconds"], time.monotonic, expert="programmer")
    return {"script_episodes_per_second": turns / 2}


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": measure_start,
    "steps": measure_steps,
    "expert": measure_expert,
    "scripts": measure_scripts,
}
REPEATS: dict[str, int] = {"start": 3}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""
