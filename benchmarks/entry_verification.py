"""Time ``agentgym leaderboard verify`` on entries of WebShop, on one core, and print JSON.

    python benchmarks/entry_verification.py --episodes 10000

An entry of each policy is played on the whole test split, with as many samples of each task as are
needed. The random policy takes the most turns, the expert the fewest. The time is the CPU time of
`agentgym.evaluation.entries.verify_entry`: reading, replaying, floors and figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from provenance import to_json

import agentgym
from agentgym.evaluation.entries import verify_entry

BAR_SECONDS = 60.0
"""The bar for 10,000 episodes."""


def measure(policy: str, episodes: int, folder: Path) -> dict[str, Any]:
    """Play an entry and time its verification."""
    env: Any = agentgym.make("webshop")
    tasks = env.unwrapped.tasks.len("test")
    samples = -(-episodes // tasks)
    report = agentgym.evaluate(
        policy, "webshop", "test", min(episodes, tasks), samples=samples, out=folder / policy
    )
    started, started_cpu = time.perf_counter(), time.process_time()
    entry = verify_entry(folder / policy)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    assert entry.report.rows == report.rows
    played = len(report.rows)
    return {
        "episodes": played,
        "turns": sum(row.turns for row in report.rows),
        "megabytes": (folder / policy / "episodes.jsonl").stat().st_size / 2**20,
        "cpu_seconds": cpu_seconds,
        "wall_seconds": seconds,
        "cpu_seconds_for_10000": cpu_seconds * 10_000 / played,
        "panel_sha256": report.panel_sha256,
    }


def main() -> None:
    """Measure both policies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    episodes = parser.parse_args().episodes
    with tempfile.TemporaryDirectory() as folder:
        figures = {name: measure(name, episodes, Path(folder)) for name in ("random", "oracle")}
    within = all(row["cpu_seconds_for_10000"] <= BAR_SECONDS for row in figures.values())
    print(to_json({"policies": figures, "bar_seconds": BAR_SECONDS, "within": within}))


if __name__ == "__main__":
    main()
