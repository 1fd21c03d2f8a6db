"""Measurements of Search for ``throughput.py``: start, steps, memory, a large encyclopaedia."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stopwatch import expert_turns, growth, make, memory, play, start

ENV_ID = "agentgym/Search-v0"
BARS: dict[str, tuple[str, float]] = {
    "make_seconds_no_cache": ("<=", 3.0),
    "make_seconds_warm_cache": ("<=", 0.15),
    "steps_per_second": (">=", 3000),
    "large_steps_per_second": (">=", 3000),
    "expert_turns_per_second": (">=", 3000),
}
MANY = 256

Options = dict[str, Any]


def large(options: Options) -> dict[str, Any]:
    """Return the arguments of the large encyclopaedia."""
    return {"size": options["large"]}


def measure_start(name: str, options: Options) -> dict[str, float]:
    """Time the first ``gym.make`` of a process, and the first reset, which makes the facts."""
    figures = start(ENV_ID)
    return {
        f"make_seconds_{name}": figures["make_seconds"],
        f"make_processor_seconds_{name}": figures["make_processor_seconds"],
        f"first_reset_seconds_{name}": figures["first_reset_seconds"],
    }


def steps(name: str, options: Options, **kwargs: Any) -> dict[str, float]:
    """Time resets and steps of a random policy, which searches in most turns."""
    env = make(ENV_ID, **kwargs)
    env.reset(seed=0)
    figures = play(env, options["seconds"], "random")
    return {
        f"{name}steps_per_second": figures["random_steps_per_second"],
        f"{name}reset_milliseconds": figures["random_reset_milliseconds"],
        f"{name}rss_megabytes": memory(),
    }


def measure_steps(options: Options) -> dict[str, float]:
    """Time steps in the default encyclopaedia, of 20,000 passages."""
    return steps("", options)


def measure_large(options: Options) -> dict[str, float]:
    """Time steps in a large encyclopaedia."""
    return steps("large_", options, **large(options)) if options["large"] else {}


def measure_expert(options: Options) -> dict[str, float]:
    """Time the steps of the oracle's actions, without the oracle."""
    return {"expert_turns_per_second": expert_turns(ENV_ID, options["seconds"], expert="oracle")}


def measure_memory(options: Options) -> dict[str, float]:
    """Return what further environments and many tasks add to a process."""
    env = make(ENV_ID)
    env.reset(seed=0)
    envs = [make(ENV_ID, disable_env_checker=True) for _ in range(MANY)]
    old_bytes = memory("Private_Dirty")
    envs += [make(ENV_ID, disable_env_checker=True) for _ in range(MANY)]
    more = 1024 * 1024 * (memory("Private_Dirty") - old_bytes) / MANY
    return {"bytes_per_extra_env": more, "megabytes_of_1000_resets": growth(env)}


GROUPS: dict[str, Callable[[Options], dict[str, float]]] = {
    "start": partial(measure_start, "no_cache"),
    "start_again": partial(measure_start, "warm_cache"),
    "steps": measure_steps,
    "expert": measure_expert,
    "memory": measure_memory,
    "large": measure_large,
}
REPEATS: dict[str, int] = {"start_again": 3}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""
