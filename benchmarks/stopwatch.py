"""A stopwatch, memory measurement, and the throughput measurements shared by all families."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Accumulates the time of one kind of call."""

    clock: Callable[[], float]
    seconds: float = 0.0
    calls: int = 0

    def __call__(self, call: Callable[[], T]) -> T:
        """Make a call and time it."""
        started = self.clock()
        result = call()
        self.seconds += self.clock() - started
        self.calls += 1
        return result

    @property
    def milliseconds(self) -> float | None:
        """Mean time of a call."""
        return round(1000 * self.seconds / self.calls, 4) if self.calls else None

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self.calls / max(self.seconds, 1e-9)


def wall(action: Callable[[], Any]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def memory(name: str = "Rss") -> float:
    """Return the resident (``Rss``) or private (``Private_Dirty``) megabytes; Linux only."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0


def make(env_id: str, **kwargs: Any) -> Any:
    """Make an environment like a user does."""
    import gymnasium

    import agentgym  # noqa: F401

    return gymnasium.make(env_id, **kwargs)


def start(env_id: str, **kwargs: Any) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, without the imports, and the first reset."""
    import gymnasium

    import agentgym  # noqa: F401

    envs: list[Any] = []
    started = time.process_time()
    seconds = wall(lambda: envs.append(gymnasium.make(env_id, **kwargs)))
    return {
        "make_seconds": seconds,
        "make_processor_seconds": time.process_time() - started,
        "first_reset_seconds": wall(lambda: envs[0].reset(seed=0)),
    }


def play(
    env: Any,
    seconds: float,
    name: str,
    options: Callable[[int], Mapping[str, Any] | None] = lambda number: None,
) -> dict[str, float]:
    """Time resets and random admissible steps.

    Args:
        env: The environment.
        seconds: Processor time of the steps.
        name: Beginning of the figures' names.
        options: Reset options by episode.
    """
    draw, resets, step = random.Random(0), list[float](), Stopwatch(time.thread_time)
    while step.seconds < seconds:
        reset_options = options(len(resets))
        started = time.thread_time()
        _, info = env.reset(options=reset_options)
        resets.append(time.thread_time() - started)
        over = False
        while not over:
            action = draw.choice(info["admissible_actions"])
            _, _, terminated, late, info = step(lambda: env.step(action))  # noqa: B023
            over = terminated or late
    return {
        f"{name}_steps_per_second": step.rate,
        f"{name}_reset_milliseconds": 1000 * statistics.median(resets),
        f"{name}_reset_mean_milliseconds": 1000 * statistics.fmean(resets),
        f"{name}_reset_worst_milliseconds": 1000 * max(resets),
    }


def expert_turns(
    env_id: str, seconds: float, clock: Callable[[], float] = time.thread_time, **kwargs: Any
) -> float:
    """Return the turns per second in the expert's episodes, without the expert's time.

    Args:
        env_id: The environment.
        seconds: Time of the steps.
        clock: What measures it.
        **kwargs: Arguments of the environment.
    """
    env = make(env_id, **kwargs).unwrapped
    step, number = Stopwatch(clock), 0
    while step.seconds < seconds:
        _, info = env.reset(options={"index": number % env.tasks.len("train")})
        number += 1
        while not info["stop_reason"]:
            action = env.demonstrator_action()
            info = step(lambda: env.step(action))[4]  # noqa: B023
    env.close()
    return step.rate


def growth(env: Any, resets: int = 1000) -> float:
    """Return the increase in resident megabytes by resets to new tasks."""
    count = env.unwrapped.tasks.len("train")

    def play(numbers: range) -> None:
        for number in numbers:
            _, info = env.reset(options={"split": "train", "index": number % count})
            env.step(info["admissible_actions"][0])

    play(range(resets // 2))  # fills the bounded caches
    old_bytes = memory()
    play(range(resets // 2, resets // 2 + resets))
    return memory() - old_bytes
