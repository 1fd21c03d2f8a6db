"""What it gains and costs to generate while training: --rl.staleness 1 against 0.

Throughput: seconds of a training step of the tiny policy on the shop, whose environments wait a
given time at every turn, in threads, one for each slot. Held-out result: runs from the same warm
start, one pair for each seed; trained minus trained, paired over the held-out tasks.

Usage: ``python benchmarks/async_training.py [--delays 0 50] [--steps 8] [--seeds 0 1]
[--train-steps 25] [--out runs/async-training]``. Prints JSON. Without ``--seeds`` only the
throughput is measured; finished runs are not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import yaml
from provenance import to_json
from slow_env import SlowEnv

from agentgym.statistics import paired_difference
from agentgym.vector import TextVectorEnv
from trainers.algorithms.presets import get_preset
from trainers.config.sections import TinyConfig
from trainers.grpo.arguments import grpo_arguments
from trainers.grpo.rollout_event import RolloutEvent
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer

STALENESS = (0, 1)
GROUPS, GROUP_SIZE, HORIZON = 8, 8, 6
BUDGET = TokenBudget(turn_tokens=18, episode_tokens=640, context=1024)
SHOP = {"difficulty": "easy", "observation_mode": "compact"}
WARM_UP = 2
"""Steps that are not counted: the first one has nothing that was played ahead."""
REDUCED = (
    "--env", "webshop", "--sft.gate-success", "0.3", "--eval.every", "0", "--eval.tasks", "150",
    "--rl.groups", "8",
)  # fmt: skip
"""The default run with a shorter warm start, half as many tasks a step, and fewer held-out ones."""


class Clock:
    """When the batches of a training were there, and how long they were waited for."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.waited: list[float] = []

    def __call__(self, event: RolloutEvent) -> None:
        """Note a batch."""
        self.times.append(time.perf_counter())
        self.waited.append(event.metrics.get("rollout/waited_seconds", 0.0))


def tasks(step: int, count: int, horizon: int) -> list[dict[str, Any]]:
    """Choose the tasks of a step."""
    return [{"split": "train", "index": step * count + index} for index in range(count)]


def shop(delay_ms: float) -> gymnasium.Env[str, str]:
    """Make an environment that waits at every turn."""
    return SlowEnv(gymnasium.make("agentgym/WebShop-v0", **SHOP), delay_ms / 1000)


def seconds_per_step(delay_ms: float, staleness: int, steps: int) -> dict[str, float]:
    """Train for some steps; the median time from one batch to the next."""
    slots = GROUPS * GROUP_SIZE
    envs = TextVectorEnv.make(partial(shop, delay_ms), slots, backend="thread", workers=slots)
    pages = [text for text, _ in envs.reset_slots(range(slots), range(slots))]
    chat = TurnTokenizer(build_tokenizer(["search[ ] click[ ] " + " ".join(pages)]))
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        preset = get_preset("default")
        trainer = MultiTurnTrainer(
            build_model(chat.tokenizer, TinyConfig(), 0),
            grpo_arguments(
                folder, preset, groups=GROUPS, group_size=GROUP_SIZE, steps=steps + WARM_UP,
                lr=1e-4, budget=BUDGET,
            ),
            envs=envs, chat=chat, tasks=tasks, horizon=HORIZON, preset=preset, budget=BUDGET,
            staleness=staleness, on_rollout=clock, probe_every=0,
        )  # fmt: skip
        trainer.train()
    trainer.runner.engine.close()
    envs.close()
    spans = np.diff(clock.times)[WARM_UP - 1 :].tolist()
    return {
        "seconds_per_step": round(median(spans), 3),
        "fastest": round(min(spans), 3),
        "seconds_waited_for_episodes": round(median(clock.waited[WARM_UP:]), 3),
    }


def throughput(delays: Sequence[float], steps: int) -> list[dict[str, Any]]:
    """Compare both kinds of training at each waiting time."""
    rows = []
    for delay in delays:
        found = {str(n): seconds_per_step(delay, n, steps) for n in STALENESS}
        before, after = (found[str(n)]["seconds_per_step"] for n in STALENESS)
        rows.append(
            {"delay_ms": delay, "staleness": found, "times_faster": round(before / after, 2)}
        )
    return rows


# -- held-out results ------------------------------------------------------------------------------


def train(folder: Path, steps: int, *flags: str) -> dict[str, Any]:
    """Carry a run on to so many steps, unless it is there already; return its summary."""
    path = folder / "summary.json"
    if not path.exists() or json.loads(path.read_text())["steps"] < steps:
        with folder.with_suffix(".log").open("a") as stream:
            command = [sys.executable, "-m", "trainers.cli", "--out", str(folder), *flags]
            subprocess.run(
                [*command, "--steps", str(steps)], check=True, stdout=stream, stderr=stream,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
    summary: dict[str, Any] = json.loads(path.read_text())
    return summary


def pair(seed: int, steps: int, out: Path) -> dict[str, Any]:
    """Train twice from one warm start; compare on the same held-out tasks."""
    stem = out / f"seed{seed}-start"
    train(stem, 1, *REDUCED, "--seed", str(seed))
    successes, row = [], {"seed": seed}
    for staleness in STALENESS:
        folder = out / f"seed{seed}-staleness{staleness}"
        if not folder.exists():
            shutil.copytree(stem, folder)
            settings = yaml.safe_load((folder / "config.yaml").read_text())
            # Told as asked and as resolved: a resumed run may not change a setting otherwise.
            for part in (settings, settings["resolved"]):
                part["rl"]["staleness"] = staleness
            (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        summary = train(folder, steps, "--resume")
        row[f"staleness_{staleness}"] = summary["eval"]["rl"]["success"]
        successes.append(held_out(folder))
    row["warm_start"] = summary["eval"]["sft"]["success"]
    row["staleness_1_minus_0"] = paired_difference(*successes[::-1])._asdict()
    return row


def held_out(folder: Path) -> list[float]:
    """Return whether the trained policy solved each held-out task."""
    records = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    last = [r for r in records if r["phase"] == "eval" and r.get("arm") == "rl"][-1]
    return [float(row["success"]) for row in last["rows"]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--delays", type=float, nargs="*", default=[0, 50])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--train-steps", type=int, default=25)
    parser.add_argument("--out", type=Path, default=Path("runs/async-training"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    result = {
        "episodes_per_step": GROUPS * GROUP_SIZE,
        "horizon": HORIZON,
        "throughput": throughput(options.delays, options.steps),
        "train_steps": options.train_steps,
        "held_out": [pair(seed, options.train_steps, options.out) for seed in options.seeds],
    }
    print(to_json(result))


if __name__ == "__main__":
    main()
