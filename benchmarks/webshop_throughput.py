"""Measure WebShop: start, reset and step times, memory, and search; prints one JSON object.

    python benchmarks/webshop_throughput.py [--seconds 3] [--large 100000] [--data-dir DIR]

Each group runs in a process of its own, so that memory is its own too. ``bars`` in the output are
those of DESIGN.md, section 9; ``met`` compares. Starting, opening and building are wall time; the
rest is processor time, so that other jobs on the machine do not count. ``--large 0`` leaves the
large shop out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provenance import to_json

# First visits to a task are part of the mean reset time, not of the median.
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


def clock(action: Callable[[], Any], now: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that one call takes."""
    started = now()
    action()
    return now() - started


def memory(name: str = "Rss") -> int:
    """Return the resident (``Rss``) or private (``Private_Dirty``) memory in bytes; Linux only."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def measure_start(options: dict[str, Any]) -> dict[str, float]:
    """Time the first ``gym.make`` of a process."""
    import gymnasium

    import agentgym  # noqa: F401

    seconds = clock(lambda: gymnasium.make(ENV_ID, **options["env"]).reset(seed=0))
    return {"make_seconds": seconds}


def measure_steps(options: dict[str, Any]) -> dict[str, float]:
    """Time resets and steps of a random policy, and the memory of the process."""
    import gymnasium

    import agentgym  # noqa: F401

    mode = options["mode"]
    env = gymnasium.make(ENV_ID, observation_mode=mode, **options["env"])
    draw = random.Random(0)
    _, info = env.reset(seed=0)
    resets: list[float] = []
    spent, steps = 0.0, 0
    while spent < options["seconds"]:
        started = time.thread_time()
        _, info = env.reset()
        resets.append(time.thread_time() - started)
        over = False
        while not over:
            action = draw.choice(info["admissible_actions"])
            started = time.thread_time()
            _, _, done, late, info = env.step(action)
            spent += time.thread_time() - started
            steps += 1
            over = done or late
    return {
        f"steps_per_second_{mode}": steps / spent,
        "reset_milliseconds": 1000 * statistics.median(resets),
        "reset_mean_milliseconds": 1000 * statistics.fmean(resets),
        "rss_megabytes": memory() / 2**20,
    }


def measure_many(options: dict[str, Any]) -> dict[str, float]:
    """Time making and resetting many environments, and their memory."""
    import gymnasium

    import agentgym  # noqa: F401

    def make() -> list[Any]:
        envs = [gymnasium.make(ENV_ID, disable_env_checker=True, **env) for _ in range(MANY)]
        for number, made in enumerate(envs):
            made.reset(seed=number)
        return envs

    env = options["env"]
    gymnasium.make(ENV_ID, **env).reset(seed=0)
    kept: list[Any] = []
    seconds = clock(lambda: kept.append(make()), time.thread_time)
    before = memory("Private_Dirty")  # by now the shared caches hold every task that is drawn
    kept.append(make())
    return {
        "many_envs_seconds": seconds,
        "bytes_per_extra_env": (memory("Private_Dirty") - before) / MANY,
    }


def measure_queries(options: dict[str, Any]) -> dict[str, float]:
    """Time instructions as queries that were never asked before."""
    import gymnasium

    import agentgym  # noqa: F401

    opened = clock(lambda: gymnasium.make(ENV_ID, **options["env"]))
    env: Any = gymnasium.make(ENV_ID, **options["env"])
    shop, tasks = env.unwrapped.shop, env.unwrapped.tasks
    queries = [tasks.task("train", i).goal for i in range(min(200, tasks.len("train")))]
    shop.search_engine.search(queries[0], 50)
    seconds = clock(
        lambda: [shop.search_engine.search(query, 50) for query in queries], time.thread_time
    )
    return {
        "open_seconds": opened,
        "cold_query_milliseconds": 1000 * seconds / len(queries),
        "rss_megabytes": memory() / 2**20,
    }


def measure_build(options: dict[str, Any]) -> dict[str, float]:
    """Time the parts of building a large shop."""
    from agentgym.envs.webshop.engine.products import Instruction, parse_product
    from agentgym.envs.webshop.generator import generate
    from agentgym.retrieval import BM25Index

    shop = generate(options["env"]["size"], seed=options["env"].get("catalogue_seed", 0))
    asins, documents = [], []
    for item in shop.items:
        asins.append(item["asin"])
        documents.append(parse_product(item, Instruction(), ()).document())
    index: list[BM25Index] = []
    seconds = clock(lambda: index.append(BM25Index.build(documents, asins)))
    with tempfile.TemporaryDirectory() as folder:
        index[0].save(folder)
        return {
            "index_build_seconds": seconds,
            "index_open_seconds": clock(lambda: BM25Index.open(folder)),
            "index_megabytes": index[0].nbytes / 2**20,
        }


GROUPS = {"start": measure_start, "steps": measure_steps, "many": measure_many,
          "queries": measure_queries, "build": measure_build}  # fmt: skip


def child(group: str, options: dict[str, Any], cache: str) -> dict[str, float]:
    """Run one group in a fresh process."""
    command = [sys.executable, __file__, "--group", group, "--options", json.dumps(options)]
    done = subprocess.run(
        command, env={**os.environ, "AGENTGYM_CACHE": cache}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"the group {group!r} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(seconds: float, large: int, data_dir: str | None) -> dict[str, Any]:
    """Run all groups."""
    env: dict[str, Any] = {"data_dir": data_dir} if data_dir else {}
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("no_cache", "warm_cache"):
            made = child("start", {"env": env}, cache)
            figures[f"make_seconds_{name}"] = made["make_seconds"]
        for mode in ("text_rich", "compact", "text"):
            options = {"env": env, "mode": mode, "seconds": seconds}
            figures.update(child("steps", options, cache))
        figures.update(child("many", {"env": env}, cache))
        queries = child("queries", {"env": env}, cache)
        figures["cold_query_milliseconds"] = queries["cold_query_milliseconds"]
        if large:
            big = {"env": {"size": large}}
            figures.update({f"large_{k}": v for k, v in child("build", big, cache).items()})
            made = child("start", big, cache)
            figures["large_make_seconds_no_cache"] = made["make_seconds"]
            figures.update({f"large_{k}": v for k, v in child("queries", big, cache).items()})
    met = {
        name: figures[name] <= bar if sign == "<=" else figures[name] >= bar
        for name, (sign, bar) in BARS.items()
        if name in figures
    }
    bars = {name: f"{sign} {bar:g}" for name, (sign, bar) in BARS.items() if name in figures}
    return {"figures": figures, "bars": bars, "met": met}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each step measurement")
    parser.add_argument("--large", type=int, default=100_000, help="products of the large shop")
    parser.add_argument("--data-dir", help="official files, in place of the generated shop")
    parser.add_argument("--group", choices=sorted(GROUPS), help=argparse.SUPPRESS)
    parser.add_argument("--options", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.group:
        print(json.dumps(GROUPS[args.group](json.loads(args.options))))
        return
    print(to_json(report(args.seconds, args.large, args.data_dir)))


if __name__ == "__main__":
    main()
