"""Measure where a training step's time goes, beside plain TRL and vLLM.

``profile`` is ``agentgym-train --env webshop`` with 128 episodes per step, for a few steps after a
shortened warm start: seconds of a step by part, as measured by the trainer, beside the minimum on
this machine (``roofline.py``). These are wall seconds, so the comparison needs an idle machine.
``trainers`` are the arms of ``trainer_arms.py``: agentgym's trainer with either engine, and TRL's,
on one model and a toy task of the same shape, with the ratio of TRL's processor seconds to each. An
arm with missing packages is skipped and reported.

Usage: ``python benchmarks/trainer_profile.py [--env webshop] [--steps 6] [--imitation 250]
[--rounds 2]``. Prints JSON.

Smallest run: ``--steps 2 --imitation 50 --rounds 1``
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from provenance import to_json
from roofline import Machine, roofline, work_of
from trainer_arms import ARMS
from transformers import AutoConfig

from trainers.models.memory import ModelShape

ROOT = Path(__file__).resolve().parents[1]
MEASURE = "processor_seconds_per_step"
ENVIRONMENT = {
    **os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
}  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", default="webshop")
    parser.add_argument("--steps", type=int, default=6, help="steps that are measured")
    parser.add_argument("--imitation", type=int, default=250, help="steps of the warm start")
    parser.add_argument("--rounds", type=int, default=2, help="times that each arm runs, in turn")
    options = parser.parse_args()
    arms = {arm: why for arm in ARMS if (why := missing(arm))}
    turns = [arm for _ in range(options.rounds) for arm in ARMS if arm not in arms]
    rounds_by_arm: dict[str, list[dict[str, Any]]] = {}
    for arm in turns:
        rounds_by_arm.setdefault(arm, []).append(run_arm(arm, options.steps))
    trainers = {arm: best(rounds) for arm, rounds in rounds_by_arm.items()}
    print(
        to_json(
            {
                "profile": profile(options.env, options.steps, options.imitation),
                "trainers": trainers,
                "times_faster_than_trl": {
                    arm: trainers["trl"][MEASURE] / figures[MEASURE]
                    for arm, figures in trainers.items()
                },
                "skipped": arms,
                "load": os.getloadavg(),
            }
        )
    )


def profile(env: str, steps: int, imitation: int) -> dict[str, Any]:
    """Train the default run for a few steps and read its times."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [
            sys.executable, "-m", "trainers.cli", f"--env={env}", f"--out={out}", "--minutes=0",
            f"--steps={steps + 1}", f"--sft.max-steps={imitation}", "--sft.target-success=0.99",
            "--eval.every=0", "--eval.num-tasks=16", "--eval.baselines=none",
            "--rl.save-every=1000", "--rl.groups=16", "--rl.log-groups=16",
        ]  # fmt: skip
        subprocess.run(command, check=True, env=ENVIRONMENT, stdout=sys.stderr)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        least = least_seconds(out, steps)
    records = [record for record in map(json.loads, lines) if record["phase"] == "rl"][1:]
    parts = {
        part: statistics.fmean(record["time"][part] for record in records)
        for part in records[0]["time"]
    }
    seconds = sum(parts.values())
    # The last figure is per episode, of which a step has 16 groups of 8.
    tokens = 128 * statistics.fmean(record["action_tokens"] for record in records)
    return {
        "env": env,
        "steps": len(records),
        "seconds_per_step": seconds,
        "sampled_tokens_per_second": tokens / seconds,
        "seconds": parts,
        "roofline": least,
        "shares": {part: value / seconds for part, value in parts.items()},
    }


def least_seconds(out: Path, steps: int) -> dict[str, float]:
    """Return the minimum time of the measured steps' episodes on this machine."""
    shape = ModelShape.of(AutoConfig.from_pretrained(out / "checkpoints" / "trained"))
    episodes = map(json.loads, (out / "episodes.jsonl").read_text().splitlines())
    turns = [
        [(turn["prompt_tokens"], turn["completion_tokens"]) for turn in episode["turns"]]
        for episode in episodes
        if episode["options"]["training_step"] > 1
    ]
    machine = Machine.measured(shape)
    least = roofline(shape, work_of(turns), machine)
    return {
        "gigaflops_per_second": machine.products / 1e9,
        "gigabytes_per_second": machine.bandwidth / 1e9,
        **{part: seconds / steps for part, seconds in least.items()},
    }


def missing(arm: str) -> str:
    """Return why an arm cannot run here; empty if it can."""
    if arm == "vllm" and importlib.util.find_spec("vllm") is None:
        return "vllm is not installed in this environment"
    return ""


def run_arm(arm: str, steps: int) -> dict[str, Any]:
    """Run one trainer in a separate process."""
    command = [sys.executable, str(ROOT / "benchmarks" / "trainer_arms.py"), arm]
    process = subprocess.run(
        [*command, f"--steps={steps + 1}"], check=True, env=ENVIRONMENT, stdout=subprocess.PIPE
    )
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return figures


def best(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the round with the least processor time: other work on the machine only adds to it."""
    return min(rounds, key=lambda figures: float(figures[MEASURE]))


if __name__ == "__main__":
    main()
