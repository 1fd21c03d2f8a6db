"""Compare synchronous, fixed-lag and fully asynchronous training where turns take 0.02 to 2 s.

The tiny policy is trained on coin mazes of 1 to 8 moves whose turns sleep for log-normal times
(``slow_mazes.py``). All kinds of training of a seed start from one warm start, make the same number
of updates of as many episodes, and are compared on the same held-out tasks. Their runs come one
after the other in one process. Episodes an hour count all updates of a run, from its first plan to
its last update, so the time until the slots of a fully asynchronous run are full and the wait for
its last episodes are included.

Usage: ``python benchmarks/long_tails.py [--seeds 0 1 2] [--updates 16] [--out runs/long-tails]``.
Prints JSON; finished runs are not repeated.

Smallest run: ``--seeds 0 --updates 2``
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import yaml
from async_training import held_out, train
from provenance import to_json

from agentgym.support.statistics import paired_difference

EPISODES = 24
"""Episodes of an update."""
KINDS: Mapping[str, Mapping[str, Any]] = {
    "synchronous": {},
    "staleness_1": {"staleness": 1},
    "fully_async": {"staleness": 4, "mode": "fully-async"},
}
"""Settings of the section ``--async-rollouts.*``, by the name of the kind of training."""
FLAGS = (
    "--env benchmarks.slow_mazes:benchmarks/SlowMazes-v0 --env-kwargs levels=1-8 --backend thread "
    "--workers 72 --horizon 16 --eval.horizon 16 --no-fit-horizon --tiny.hidden 48 --tiny.layers 2 "
    "--tiny.heads 2 --tiny.head-dim 24 --tiny.intermediate 128 --tiny.context 1536 "
    "--sft.copy-steps 50 --sft.eval-tasks 36 --sft.demonstrations 300 --sft.max-steps 300 "
    "--sft.eval-every 10 --sft.target-success 0.4 --rl.groups 4 --rl.num-generations 6 "
    "--rl.log-groups 4 --rl.turn-tokens 6 --rl.episode-tokens 1400 --rl.save-every 1000 "
    "--rl.keep-checkpoints 1 --eval.every 0 --eval.num-tasks 96 --eval.valid-tasks 36 "
    "--eval.baselines none"
)

TRUST = "--trust env=benchmarks.slow_mazes:benchmarks/SlowMazes-v0 --trust levels=1-8"
"""The changed file of settings is not one that the run wrote."""


def start(seed: int, out: Path) -> Path:
    """Return the folder of a run with a finished warm start and no reinforcement learning."""
    stem = out / f"seed{seed}-start"
    train(stem, 1, *FLAGS.split(), "--seed", str(seed))
    shutil.rmtree(stem / "checkpoints" / "rl", ignore_errors=True)
    return stem


def run(kind: str, seed: int, updates: int, out: Path) -> Path:
    """Train in one of the kinds from the warm start of a seed; return the run's folder."""
    folder = out / f"seed{seed}-{kind}"
    if not folder.exists():
        shutil.copytree(start(seed, out), folder)
        settings = yaml.safe_load((folder / "config.yaml").read_text())
        # In the file, because a resumed run may not change its settings.
        settings["async_rollouts"].update(KINDS[kind])
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    train(folder, updates, "--resume", *TRUST.split())
    return folder


def records(folder: Path, phase: str) -> list[dict[str, Any]]:
    """Return the records of a phase of a run."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["phase"] == phase]


def figures(folder: Path) -> dict[str, Any]:
    """Return speed and success of a run."""
    steps = records(folder, "rl")
    seconds = [step["seconds"] for step in steps]
    middle = seconds[len(seconds) // 4 : -len(seconds) // 4]
    shown = ("staleness", "staleness_max", "too_old", "partial")
    return {
        "episodes_per_hour": round(3600 * EPISODES * len(seconds) / sum(seconds)),
        "episodes_per_hour_of_the_middle_half": round(3600 * EPISODES / mean(middle)),
        "median_seconds": round(median(seconds), 2),
        "turns": round(mean(step["turns"] for step in steps), 3),
        "success": mean(held_out(folder)),
        **{
            name: round(mean(step[name] for step in steps), 4)
            for name in shown
            if steps[-1].get(name) is not None
        },
    }


def compare(seed: int, updates: int, out: Path) -> dict[str, Any]:
    """Train in all kinds from one warm start, and compare them."""
    folders = {kind: run(kind, seed, updates, out) for kind in KINDS}
    rows = {kind: figures(folder) for kind, folder in folders.items()}
    success = {kind: held_out(folder) for kind, folder in folders.items()}
    hourly = {kind: row["episodes_per_hour"] for kind, row in rows.items()}
    summary = json.loads((folders["synchronous"] / "summary.json").read_text())
    return {
        "seed": seed,
        "warm_start": summary["eval"]["warm-start"]["success"],
        **rows,
        "times": {kind: round(hourly["fully_async"] / hourly[kind], 2) for kind in list(KINDS)[:2]},
        "success_minus": {
            kind: paired_difference(success["fully_async"], success[kind])._asdict()
            for kind in list(KINDS)[:2]
        },
    }


def over_seeds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of the bars over all seeds."""
    return {
        kind: {
            "times": round(median(row["times"][kind] for row in rows), 2),
            "success": round(mean(row[kind]["success"] for row in rows), 3),
        }
        for kind in list(KINDS)[:2]
    } | {"fully_async": {"success": round(mean(row["fully_async"]["success"] for row in rows), 3)}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--updates", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("runs/long-tails"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [compare(seed, options.updates, options.out) for seed in options.seeds]
    print(
        to_json(
            {
                "updates": options.updates,
                "episodes_per_update": EPISODES,
                "seeds": options.seeds,
                "runs": rows,
                "over_seeds": over_seeds(rows),
            }
        )
    )


if __name__ == "__main__":
    main()
