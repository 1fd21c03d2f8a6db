"""Measurements of WebShop for ``throughput.py``: start, steps, memory, search, a large shop."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from typing import Any

from stopwatch import make, memory, play, start, wall

ENV_ID = "agentgym/WebShop-v0"
BARS: dict[str, tuple[str, float]] = {
    "make_seconds_warm_cache": ("<=", 0.15),
    "make_seconds_no_cache": ("<=", 1.5),
    "reset_milliseconds": ("<=", 0.1),
    "steps_per_second_text": (">=", 10_000),
    "steps_per_second_text_rich": (">=", 10_000),
    "steps_per_second_compact": (">=", 10_000),
    "bytes_per_extra_env": ("<=", 4096),
    "rss_megabytes": ("<=", 150),
    "many_envs_seconds": ("<=", 1.0),
    "cold_query_milliseconds": ("<=", 1.0),
    "large_cold_query_milliseconds": ("<=", 8.0),
    "large_index_build_seconds": ("<=", 15.0),
    "large_open_seconds": ("<=", 2.0),
    "large_rss_megabytes": ("<=", 300),
}
MANY = 4096
OPEN = 100_000
MODES = ("text_rich", "compact", "text")

Options = dict[str, Any]


def shop(options: Options) -> dict[str, Any]:
    """Return the arguments of the measured shop."""
    return {"data": options["data"]} if options["data"] else {}


def large(options: Options) -> dict[str, Any]:
    """Return the arguments of the large shop."""
    return {"size": options["large"]}


def measure_start(name: str, options: Options) -> dict[str, float]:
    """Time the first ``gym.make`` and reset of a process."""
    figures = start(ENV_ID, **shop(options))
    return {f"make_seconds_{name}": figures["make_seconds"] + figures["first_reset_seconds"]}


def measure_steps(mode: str, options: Options) -> dict[str, float]:
    """Time resets and steps of a random policy, and the memory of the process."""
    env = make(ENV_ID, observation_mode=mode, **shop(options))
    env.reset(seed=0)
    figures = play(env, options["seconds"], mode)
    return {
        f"steps_per_second_{mode}": figures[f"{mode}_steps_per_second"],
        "reset_milliseconds": figures[f"{mode}_reset_milliseconds"],
        # First visits to a task are part of the mean, not of the median.
        "reset_mean_milliseconds": figures[f"{mode}_reset_mean_milliseconds"],
        "rss_megabytes": memory(),
    }


def measure_many(options: Options) -> dict[str, float]:
    """Time making and resetting many environments, and their memory."""

    def make_all() -> list[Any]:
        envs = [make(ENV_ID, disable_env_checker=True, **shop(options)) for _ in range(MANY)]
        for number, env in enumerate(envs):
            env.reset(seed=number)
        return envs

    make(ENV_ID, **shop(options)).reset(seed=0)
    env_lists: list[Any] = []
    started = time.thread_time()
    env_lists.append(make_all())
    seconds = time.thread_time() - started
    old_bytes = memory("Private_Dirty")  # by now the shared caches hold every drawn task
    env_lists.append(make_all())
    return {
        "many_envs_seconds": seconds,
        "bytes_per_extra_env": (memory("Private_Dirty") - old_bytes) * 2**20 / MANY,
    }


def measure_open_episodes(options: Options) -> dict[str, float]:
    """Time 100,000 episodes that are open at once: their start, a turn of each, their memory."""
    make(ENV_ID, **shop(options)).reset(seed=0)
    old_bytes, started = memory(), time.thread_time()
    envs = [make(ENV_ID, disable_env_checker=True, **shop(options)) for _ in range(OPEN)]
    for number, env in enumerate(envs):
        env.reset(seed=number)
    start = time.thread_time()
    for env in envs:
        env.step("search[shoes]")
    return {
        "open_episodes": float(OPEN),
        "open_episodes_start_seconds": start - started,
        "open_episodes_turn_seconds": time.thread_time() - start,
        "open_episodes_megabytes": memory() - old_bytes,
    }


def queries(kwargs: dict[str, Any]) -> dict[str, float]:
    """Time instructions as uncached queries."""
    opened = wall(lambda: make(ENV_ID, **kwargs))
    env: Any = make(ENV_ID, **kwargs).unwrapped
    engine, tasks = env.shop.search_engine, env.tasks
    goals = [tasks.task("train", i).goal for i in range(min(200, tasks.len("train")))]
    engine.search(goals[0], 50)
    started = time.thread_time()
    for query in goals:
        engine.search(query, 50)
    seconds = time.thread_time() - started
    return {
        "open_seconds": opened,
        "cold_query_milliseconds": 1000 * seconds / len(goals),
        "rss_megabytes": memory(),
    }


def measure_queries(options: Options) -> dict[str, float]:
    """Time queries in the measured shop."""
    return {"cold_query_milliseconds": queries(shop(options))["cold_query_milliseconds"]}


def measure_large_queries(options: Options) -> dict[str, float]:
    """Time opening the large shop again, and queries in it."""
    if not options["large"]:
        return {}
    return {f"large_{name}": figure for name, figure in queries(large(options)).items()}


def measure_large_start(options: Options) -> dict[str, float]:
    """Time the first ``gym.make`` and reset of the large shop, which is generated for it."""
    if not options["large"]:
        return {}
    figures = start(ENV_ID, **large(options))
    total = figures["make_seconds"] + figures["first_reset_seconds"]
    return {"large_make_seconds_no_cache": total}


def measure_large_index(options: Options) -> dict[str, float]:
    """Time building, saving and opening the index of a large shop."""
    if not options["large"]:
        return {}
    from agentgym.envs.webshop.engine.products import Instruction, parse_product
    from agentgym.envs.webshop.generator import generate
    from agentgym.retrieval import BM25Index

    asins, documents = [], []
    for item in generate(options["large"], seed=0).items:
        asins.append(item["asin"])
        documents.append(parse_product(item, Instruction(), ()).document())
    index: list[BM25Index] = []
    seconds = wall(lambda: index.append(BM25Index.build(documents, asins)))
    with tempfile.TemporaryDirectory() as folder:
        index[0].save(folder)
        return {
            "large_index_build_seconds": seconds,
            "large_index_open_seconds": wall(lambda: BM25Index.open(folder)),
            "large_index_megabytes": index[0].nbytes / 2**20,
        }


GROUPS = {
    "start": partial(measure_start, "no_cache"),
    "start_again": partial(measure_start, "warm_cache"),
    **{f"steps_{mode}": partial(measure_steps, mode) for mode in MODES},
    "many": measure_many, "open_episodes": measure_open_episodes,
    "queries": measure_queries, "large_index": measure_large_index,
    "large_start": measure_large_start, "large_queries": measure_large_queries,
}  # fmt: skip
REPEATS: dict[str, int] = {}


def combine(figures: dict[str, float]) -> None:
    """Add nothing: no figure is derived from others."""
