"""Measurements of Shell for ``throughput.py``: start, sandboxes and commands, in wall time.

Every task needs a sandbox, and every command a process in it, which is not processor time of this
process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from stopwatch import make, start

ENV_ID = "agentgym/Shell-v0"
BARS: dict[str, tuple[str, float]] = {}
"""None: bars on steps are for families without subprocesses."""
Options = dict[str, Any]


def measure_episodes(options: Options) -> dict[str, float]:
    """Time episodes of the expert that looks first: resets, commands and answers."""
    env = make(ENV_ID, difficulty="easy").unwrapped
    resets, turns = list[float](), list[float]()
    while sum(resets) + sum(turns) < options["seconds"] or len(resets) < 2:
        start = time.perf_counter()
        _, info = env.reset(options={"index": len(resets) % env.tasks.len("train")})
        resets.append(time.perf_counter() - start)
        while not info["stop_reason"]:
            action = env.demonstrator_action()
            start = time.perf_counter()
            info = env.step(action)[4]
            turns.append(time.perf_counter() - start)
    env.close()
    return {
        "reset_milliseconds": 1000 * statistics.median(resets),
        "turn_milliseconds": 1000 * statistics.median(turns),
        "episodes_per_second": len(resets) / (sum(resets) + sum(turns)),
    }


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": lambda options: start(ENV_ID),
    "episodes": measure_episodes,
}
REPEATS: dict[str, int] = {"start": 3}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""
