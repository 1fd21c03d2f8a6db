"""Measure asynchronous training: speed and held-out success of generation one step ahead.

Throughput: seconds of a training step of the tiny policy on the shop, whose environments wait a
given time at every turn, in threads, one for each slot. The engine ``hf-copy`` generates in a
thread of the training process, ``vllm-server`` in separate processes, which are started here.
Held-out result: runs from the same warm start, one pair for each seed; trained minus trained,
paired over the held-out tasks.

Usage: ``python benchmarks/async_training.py [--engines hf-copy vllm-server] [--delays 0 50]
[--steps 8] [--pairs 3] [--seeds 0 1] [--train-steps 25] [--out runs/async-training]``. Prints JSON.
Without ``--seeds`` only the throughput is measured; finished runs are not repeated.

Smallest run: ``--delays 0 --steps 2 --pairs 1``
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
import yaml
from letters import Letters
from provenance import to_json
from served_policy import vllm_server
from slow_env import SlowEnv

from agentgym.support.statistics import paired_difference
from agentgym.vector import TextVectorEnv
from trainers.algorithms.presets import get_preset
from trainers.config.sections import TinyConfig, VllmConfig
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.grpo.trl_arguments import grpo_arguments
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import EngineSettings, GenerationEngine
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.rollout_stats import RolloutStats

STALENESS = (0, 1)
GROUPS, GROUP_SIZE, HORIZON = 8, 8, 6
SLOTS = GROUPS * GROUP_SIZE
BUDGET = TokenBudget(turn_tokens=18, episode_tokens=640, context=1024)
SHOP = {"difficulty": "easy", "observation_mode": "compact"}
WARM_UP = 2
"""Steps that are not counted: the first has no batch generated ahead."""
REDUCED = (
    "--env", "webshop", "--sft.target-success", "0.3", "--eval.every", "0", "--eval.num-tasks",
    "150",
    "--rl.groups", "8",
)  # fmt: skip
"""The default run with an earlier gate, fewer tasks a step, and fewer held-out ones."""


class Clock:
    """Records times at every batch that training starts on."""

    def __init__(self, stats: Callable[[], RolloutStats]) -> None:
        self._stats, self._rows = stats, list[tuple[float, ...]]()

    def __call__(self, event: RolloutEvent) -> None:
        """Record the time, the seconds of all batches played so far, and the wait for this one."""
        played_seconds = self._stats().seconds
        waited = event.metrics.get("rollout/waited_seconds", 0.0)
        self._rows.append((time.perf_counter(), played_seconds, waited))

    def figures(self) -> dict[str, float]:
        """Return the medians of a step: whole, playing a batch, waiting for it."""
        moments, played_seconds, waited = np.array(self._rows[WARM_UP:]).T
        spans = np.diff(moments)
        return {
            "seconds": float(np.median(spans)),
            "fastest": float(spans.min()),
            "playing": float(np.median(np.diff(played_seconds))),
            "waiting": float(np.median(waited)),
        }


def tasks(step: int, count: int, horizon: int) -> list[dict[str, Any]]:
    """Choose the tasks of a step."""
    return [{"split": "train", "index": step * count + index} for index in range(count)]


def shop(delay_ms: float) -> gymnasium.Env[str, str]:
    """Make an environment that waits at every turn."""
    paid = gymnasium.make("agentgym/WebShop-v0", **SHOP, reward_hooks=[Letters()])
    return SlowEnv(paid, delay_ms / 1000)


def slots(delay_ms: float) -> TextVectorEnv:
    """Make the environments of a step, each with its own thread."""
    return TextVectorEnv.make(partial(shop, delay_ms), SLOTS, backend="thread", workers=SLOTS)


@cache
def turn_tokenizer() -> TurnTokenizer:
    """Make the tokenizer of the pages."""
    envs = slots(0)
    pages = [text for text, _ in envs.reset_slots(range(SLOTS), range(SLOTS))]
    envs.close()
    return TurnTokenizer(build_tokenizer(["search[ ] click[ ] " + " ".join(pages)]))


def policy() -> Any:
    """Make the policy with which every training begins."""
    return build_model(turn_tokenizer().tokenizer, TinyConfig(), 0)


@contextmanager
def engine_settings(engine: str, folder: Path) -> Iterator[EngineSettings]:
    """Yield the settings of an engine, with a server process if it needs one."""
    options = asdict(VllmConfig(memory=0.3)) | {"model": str(folder), "run_folder": folder}
    settings = EngineSettings(turn_tokenizer().pad_id, BUDGET.context, SLOTS, options=options)
    if engine != "vllm-server":
        yield settings
        return
    policy().save_pretrained(folder)
    needs = ServerNeeds.of_run(settings, dtype="float32", rank=0, cuda=torch.cuda.is_available())
    with vllm_server(needs.command(), folder / "server.log") as url:
        yield replace(settings, options=options | {"url": url})


def time_steps(
    make_engine: Callable[[Any], GenerationEngine], delay_ms: float, staleness: int, steps: int
) -> dict[str, float]:
    """Train for some steps and time them."""
    envs, preset = slots(delay_ms), get_preset("default")
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(lambda: trainer.runner.stats)
        trainer = MultiTurnTrainer(
            policy(),
            grpo_arguments(
                folder, groups=GROUPS, group_size=GROUP_SIZE, steps=steps + WARM_UP + 1, lr=1e-4,
                budget=BUDGET,
            ),
            envs=envs, chat=turn_tokenizer(), tasks=tasks, horizon=HORIZON, preset=preset,
            budget=BUDGET, on_rollout=clock, probe_every=0, make_engine=make_engine,
            parts={"async_rollouts": partial(RolloutProducer, staleness=staleness)}
            if staleness else {},
        )  # fmt: skip
        trainer.train()
    trainer.runner.engine.close()
    envs.close()
    return clock.figures()


def throughput(engine: str, delays: Sequence[float], steps: int, pairs: int) -> list[Any]:
    """Compare both kinds of training with an engine, alternating, at each delay."""
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        engine_settings(engine, Path(folder)) as settings,
    ):
        make_engine = engine_maker(engine, settings)
        for delay in delays:
            by_staleness: dict[int, list[dict[str, float]]] = {n: [] for n in STALENESS}
            for _, n in product(range(pairs), STALENESS):
                by_staleness[n].append(time_steps(make_engine, delay, n, steps))
            rows.append({"engine": engine, "delay_ms": delay, **compared(by_staleness)})
    return rows


def compared(by_staleness: Mapping[int, Sequence[Mapping[str, float]]]) -> dict[str, Any]:
    """Return the medians of a step in both kinds of training, and the speed-up of the second.

    If neither side waited for the other, a step ahead would take as long as the longer one.
    """
    pairs = zip(*by_staleness.values(), strict=True)
    gains = [
        synchronous["seconds"] / asynchronous["seconds"] for synchronous, asynchronous in pairs
    ]
    middle = {
        n: {key: median(r[key] for r in runs) for key in runs[0]}
        for n, runs in by_staleness.items()
    }
    alone = middle[0]["playing"], middle[0]["seconds"] - middle[0]["playing"]
    return {
        "staleness": {n: rounded(figures) for n, figures in middle.items()},
        "times_faster": round(median(gains), 2),
        "of_each_pair": [round(gain, 2) for gain in gains],
        "times_faster_at_best": round(sum(alone) / max(alone), 2),
    }


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    """Round figures to milliseconds."""
    return {name: round(value, 3) for name, value in figures.items()}


# -- held-out results ------------------------------------------------------------------------------


def train(folder: Path, steps: int, *flags: str) -> dict[str, Any]:
    """Train or extend a run to a number of steps, unless it is finished; return its summary."""
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
            # In the file, because a resumed run may not change its settings.
            settings["async_rollouts"]["staleness"] = staleness
            (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        summary = train(folder, steps, "--resume")
        row[f"staleness_{staleness}"] = summary["eval"]["trained"]["success"]
        successes.append(held_out(folder))
    row["warm_start"] = summary["eval"]["warm-start"]["success"]
    row["staleness_1_minus_0"] = paired_difference(*successes[::-1])._asdict()
    return row


def held_out(folder: Path) -> list[float]:
    """Return whether the trained policy solved each held-out task."""
    records = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    last = [r for r in records if r["phase"] == "eval" and r.get("arm") == "trained"][-1]
    return [float(row["success"]) for row in last["rows"]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delays", type=float, nargs="*", default=[0, 50])
    parser.add_argument("--engines", nargs="*", default=["hf-copy"])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--train-steps", type=int, default=25)
    parser.add_argument("--out", type=Path, default=Path("runs/async-training"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows = [throughput(e, options.delays, options.steps, options.pairs) for e in options.engines]
    result = {
        "episodes_per_step": SLOTS,
        "horizon": HORIZON,
        "throughput": [row for engine_rows in rows for row in engine_rows],
        "train_steps": options.train_steps,
        "held_out": [pair(seed, options.train_steps, options.out) for seed in options.seeds],
    }
    print(to_json(result))


if __name__ == "__main__":
    main()
