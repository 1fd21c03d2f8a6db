"""Does the growing horizon help? ScalingInter against fixed horizons, at an equal number of turns.

For each seed one warm start is trained, and three arms continue from it: ``scaling`` (the family's
ScalingInter rounds), ``short`` (its first round throughout) and ``long`` (its last). All take the
same number of environment turns and are evaluated at the full horizon on the same held-out tasks.

Usage: ``python benchmarks/learning_curve.py --turns 60000 --out runs/learning-curve``. Prints JSON
and writes ``learning_curve.png`` and ``learning_curve.json`` to ``--out``. Finished runs are not
repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from figures import draw
from provenance import to_json

from agentgym.evaluation import mean_ci95
from agentgym.registration import family
from trainers.config.families import defaults_for
from trainers.output.jsonl import read_jsonl

ARMS = ("scaling", "short", "long")
STAGES = {"webshop": (5, 7, 9)}
"""Stages of the scaling arm where a family's default is a constant."""


def main() -> None:
    """Run all arms, then print, write and draw what they reached."""
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda seed: run_seed(seed, options), options.seeds))
    result = collect(options)
    text = to_json(result)
    (options.out / "learning_curve.json").write_text(text + "\n")
    draw(options.out / "learning_curve.json")
    print(text)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", default="webshop")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--turns", type=int, default=60000, help="environment turns per arm")
    parser.add_argument("--every", type=int, default=10, help="steps between validations")
    parser.add_argument("--jobs", type=int, default=2, help="seeds that run at the same time")
    parser.add_argument("--out", type=Path, default=Path("runs/learning-curve"))
    return parser.parse_args()


def rounds_of(env: str) -> dict[str, str]:
    """Return the horizon list of each arm."""
    name = family(env).name
    rounds = STAGES.get(name) or defaults_for(name).horizon
    return {
        "scaling": ",".join(map(str, rounds)),
        "short": str(rounds[0]),
        "long": str(rounds[-1]),
    }


def run_seed(seed: int, options: argparse.Namespace) -> None:
    """Train the three arms of one seed from one warm start."""
    shared: Path | None = None
    for arm in ARMS:
        folder = options.out / f"{arm}-seed{seed}"
        if (folder / "summary.json").exists():
            shared = folder / "checkpoints" / "warm-start"
            continue
        resume = (folder / "config.yaml").exists()
        if shared is not None and not resume:
            folder = prepare(folder, shared, arm, seed, options)
            resume = True
        command = [*arguments(arm, seed, options), "--out", str(folder)]
        train([*command, "--resume"] if resume else command)
        shared = folder / "checkpoints" / "warm-start"


def arguments(arm: str, seed: int, options: argparse.Namespace) -> list[str]:
    """Return the settings of an arm."""
    rounds = rounds_of(options.env)
    full = rounds["long"]
    return [
        "--env", options.env, "--seed", str(seed), "--horizon", rounds[arm],
        "--steps", "100000", "--rl.turn-budget", str(options.turns), "--eval.horizon", full,
        "--eval.every", str(options.every), "--rl.save-every", "50",
        "--rl.keep-checkpoints", "1",
    ]  # fmt: skip


def prepare(
    folder: Path, warm_start: Path, arm: str, seed: int, options: argparse.Namespace
) -> Path:
    """Make a run's folder that begins with the warm start of another."""
    from trainers.cli import parse_config
    from trainers.config.resolve import resolve
    from trainers.output.run_folder import RunFolder

    config = parse_config([*arguments(arm, seed, options), "--out", str(folder)])
    opened = RunFolder.open(folder, config, resolve(config).resolved())
    shutil.copytree(warm_start, opened.checkpoints / "warm-start")
    return folder


def train(command: list[str]) -> None:
    """Run ``agentgym-train`` in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "trainers.cli", *command],
        check=True, env=environment, stdout=sys.stderr,
    )  # fmt: skip


def collect(options: argparse.Namespace) -> dict[str, Any]:
    """Gather curves and final results of all arms."""
    arms: dict[str, Any] = {}
    for arm in ARMS:
        runs = []
        for seed in options.seeds:
            folder = options.out / f"{arm}-seed{seed}"
            summary = json.loads((folder / "summary.json").read_text())
            points = [r for r in read_jsonl(folder / "metrics.jsonl") if r["phase"] == "valid"]
            runs.append({"seed": seed, "summary": summary, "points": points})
        arms[arm] = arm_result(runs)
    return {
        "env": options.env,
        "turns": options.turns,
        "rounds": rounds_of(options.env),
        "seeds": options.seeds,
        "arms": arms,
    }


def arm_result(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise the seeds of one arm: mean and spread at the end, and every curve."""
    result: dict[str, Any] = {}
    for name, key in (("score", "score_mean"), ("success", "success")):
        for stage in ("sft", "rl"):
            values = [run["summary"]["eval"][stage][key] for run in runs]
            estimate = mean_ci95(values)
            result[f"{stage}_{name}"] = {
                "mean": float(np.mean(values)),
                "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
                "ci95": [estimate.low, estimate.high],
                "values": values,
            }
    result["paired"] = [run["summary"]["paired"]["rl_minus_sft"] for run in runs]
    result["steps"] = [run["summary"]["steps"] for run in runs]
    result["curves"] = [
        {
            "seed": run["seed"],
            "turns": [point["turns_total"] for point in run["points"]],
            "score": [point["score"] for point in run["points"]],
            "success": [point["success"] for point in run["points"]],
        }
        for run in runs
    ]
    return result


if __name__ == "__main__":
    main()
