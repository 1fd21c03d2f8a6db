"""Does training help? The default run of each family, over seeds, on held-out tasks.

Every run is ``agentgym-train --env FAMILY --seed SEED`` with nothing else set. The benchmark holds
where trained minus warm start, paired over the held-out tasks, is above zero at 95 % for the score
and the success of every run, and no run took longer than ``--bar-minutes``.

Usage: ``python benchmarks/training_gain.py [--env alfworld search textworld webshop]
[--seeds 0 1 2] [--jobs 2] [--out runs/training-gain]``. Prints JSON and writes it to ``--out``,
with a picture; finished runs are not repeated and interrupted ones continue. Exits with 1 where the
bar is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from figures import draw
from provenance import to_json

FAMILIES = ("alfworld", "search", "textworld", "webshop")
BAR_MINUTES = 20.0


def main() -> int:
    """Run what is missing, then print and write the results."""
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    runs = [(env, seed) for env in options.env for seed in options.seeds]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda run: train(*run, options.out), runs))
    result = {
        "jobs": options.jobs,
        "bar_minutes": options.bar_minutes,
        "families": {
            env: [row for (name, _), row in zip(runs, rows, strict=True) if name == env]
            for env in options.env
        },
        "met": all(met(row, options.bar_minutes) for row in rows),
    }
    text = to_json(result)
    (options.out / "training_gain.json").write_text(text + "\n")
    draw(options.out / "training_gain.json")
    print(text)
    return 0 if result["met"] else 1


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", nargs="+", default=list(FAMILIES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--bar-minutes", type=float, default=BAR_MINUTES)
    parser.add_argument("--out", type=Path, default=Path("runs/training-gain"))
    return parser.parse_args()


def train(env: str, seed: int, out: Path) -> dict[str, Any]:
    """Do one run in a process of its own, or read a finished one."""
    folder = out / f"{env}-seed{seed}"
    if not (folder / "summary.json").exists():
        command = ["--env", env, "--seed", str(seed), "--out", str(folder)]
        if (folder / "config.yaml").exists():
            command.append("--resume")
        log = out / f"{env}-seed{seed}.log"
        with log.open("a") as stream:
            subprocess.run(
                [sys.executable, "-m", "trainers.cli", *command],
                check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=stream, stderr=stream,
            )  # fmt: skip
    return row(seed, json.loads((folder / "summary.json").read_text()))


def row(seed: int, summary: dict[str, Any]) -> dict[str, Any]:
    """Reduce a summary to what is compared."""
    paired = summary["paired"]["rl_minus_sft"]
    return {
        "seed": seed,
        "minutes": round(summary["wall_s"] / 60, 1),
        "warm_start": summary["warm_start"],
        "steps": summary["steps"],
        "horizon": summary["horizon"],
        "evaluation": summary["evaluation"],
        "tasks": paired["n"],
        **{
            name: {
                **{arm: result[key] for arm, result in summary["eval"].items()},
                "gain": paired[f"{name}_mean"],
                "gain_ci95": paired[f"{name}_ci95"],
            }
            for name, key in (("success", "success"), ("score", "score_mean"))
        },
        "greedy_success": {
            arm: summary["greedy"][arm]["success"] for arm in ("sft", "rl")
        } if "greedy" in summary else None,
    }  # fmt: skip


def met(row: dict[str, Any], minutes: float) -> bool:
    """Return whether a run clears the bar."""
    gains = all(row[name]["gain_ci95"][0] > 0 for name in ("success", "score"))
    return gains and row["minutes"] <= minutes


if __name__ == "__main__":
    raise SystemExit(main())
