"""Train the tiny policy on eight SWE tasks and count how many it solves.

It is trained on eight short ``bundled-tokens`` tasks with visible tests: it imitates the oracle's
edits, then RL follows. Validation and test use the same eight tasks, so the figures show that the
path from an issue to a rewarded edit can be learned, and say nothing about unseen tasks.

An interrupted run resumes; a finished one is only evaluated.

Usage:
    python benchmarks/swe_training.py --out swe-training [--steps 8] [--minutes 20]

Smallest run: ``--out swe-training --steps 2``
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from provenance import ROOT, to_json

sys.path.insert(0, str(ROOT))

from agentgym.envs.swe.bundled import bundled_instances, library
from agentgym.envs.swe.stored_instances import INSTANCES
from agentgym.support.statistics import wilson_ci95

TASKS = (
    "agecache-012", "rowdialect-018", "rowtable-006", "shapecheck-019",
    "slugcase-014", "slugcase-017", "statgrid-019", "wordnumerals-001",
)  # fmt: skip
SEED = 0
FLAGS = shlex.split(
    "--horizon 3 --rl.turn-tokens 120 --rl.episode-tokens 400 --sft.demonstrations 8 "
    "--sft.batch-size 8 --sft.copy-steps 0 --sft.observation-weight 0 --sft.target-success 0.3 "
    "--sft.eval-tasks 8 --sft.eval-every 10 --sft.max-steps 300 --rl.groups 4 "
    "--rl.num-generations 4 "
    "--workers 2 --eval.num-tasks 8 --eval.baselines none --eval.every 4 --eval.valid-tasks 8"
)


def make_folder(folder: Path) -> None:
    """Make a folder of tasks with the same tasks in every split."""
    stored = bundled_instances("bundled-tokens")
    records = [stored.records()[task] for task in TASKS]
    lines = []
    for name in sorted({record.repo for record in records}):
        target = folder / "repositories" / name
        shutil.copytree(library(name), target, dirs_exist_ok=True)
        lines.append(stored.repositories()[name].line())
        lines += [
            replace(record, id=f"{record.id}-{split}", split=split).line()
            for split in ("train", "valid", "test")
            for record in records
            if record.repo == name
        ]
    (folder / INSTANCES).write_text("".join(lines), "utf-8")


def train(out: Path, steps: int, minutes: float) -> None:
    """Train, or resume an interrupted run."""
    command = [sys.executable, "-m", "trainers.cli"]
    if (out / "run" / "config.yaml").exists():
        command += ["--resume"]
    else:
        data = [f"data={out / 'tasks'}", "hidden_tests=false", "expert=oracle"]
        command += ["--env", "swe", "--env-kwargs", *data, "max_observation_chars=1000", *FLAGS]
        command += ["--steps", str(steps), "--minutes", str(minutes), "--seed", str(SEED)]
    subprocess.run([*command, "--out", str(out / "run")], check=True, cwd=ROOT)


def curve(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return success during and after training, as measured by the run."""
    figures: dict[str, Any] = {
        "warm_start_by_step": {},
        "validation_by_rl_step": {},
        "policies": {},
    }
    for row in rows:
        if row["phase"] == "sft" and "success" in row:
            figures["warm_start_by_step"][str(row["step"])] = row["success"]
        elif row["phase"] == "valid":
            figures["validation_by_rl_step"][str(row["step"])] = row["success"]
        elif row["phase"] == "eval":
            solved, n_played = sum(episode["success"] for episode in row["rows"]), len(row["rows"])
            share, low, high = wilson_ci95(solved, n_played)
            figures["policies"][row["arm"]] = {
                "n": n_played,
                "solved": solved,
                "success": share,
                "success_ci95": [low, high],
            }
    return figures


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=20)
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    if not (out / "run" / "summary.json").exists():
        make_folder(out / "tasks")
        train(out, arguments.steps, arguments.minutes)
    lines = (out / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    print(
        to_json(
            {"seed": SEED, "instances": [*TASKS], **curve([json.loads(line) for line in lines])}
        )
    )


if __name__ == "__main__":
    main()
