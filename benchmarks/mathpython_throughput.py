"""What ``throughput.py`` measures of MathPython: start, steps without a process, and scripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from stopwatch import Stopwatch, make, memory, play, start

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
    found = play(env, options["seconds"], "random")
    return {
        "steps_per_second": found["random_steps_per_second"],
        "reset_milliseconds": found["random_reset_milliseconds"],
        "rss_megabytes": memory(),
    }


def measure_expert(options: Options) -> dict[str, float]:
    """Time the steps of an expert that asks the calculator, without its own thinking."""
    return {"expert_turns_per_second": _turns(options, "easy", "calculating", time.thread_time)}


def measure_scripts(options: Options) -> dict[str, float]:
    """Time the turns of an expert that runs one script for each task, by the clock."""
    turns = _turns(options, "medium", "programmer", time.monotonic)
    return {"script_episodes_per_second": turns / 2}


def _turns(options: Options, difficulty: str, expert: str, clock: Callable[[], float]) -> float:
    env = make(ENV_ID, difficulty=difficulty, expert=expert).unwrapped
    step = Stopwatch(clock)
    number = 0
    while step.seconds < options["seconds"]:
        _, info = env.reset(options={"index": number % env.tasks.len("train")})
        number += 1
        while not info["stop_reason"]:
            info = step(partial(env.step, env.oracle_action()))[4]
    env.close()
    return step.rate


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": measure_start,
    "steps": measure_steps,
    "expert": measure_expert,
    "scripts": measure_scripts,
}
REPEATS: dict[str, int] = {"start": 3}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure follows from others."""
