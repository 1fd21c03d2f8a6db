"""Measure the noise of the gradient by forked and other credit, in the families of the study.

    python -m benchmarks.fork_noise --out runs/studies --seeds 3

Plays steps of each arm of the study ``fork_credit`` from its warm start without changing weights,
and records each step's gradient. The measure is the cost of a gradient as large as its noise: the
sampled tokens of a step times the ratio of variance to squared mean. It uses the warm starts of the
study in the folder, and executes missing runs of the study; finished runs are reused.

Smallest run: ``--seeds 1 --only toy``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.provenance import to_json
from benchmarks.studies.fork_credit import FAMILIES, METHODS, arm
from benchmarks.studies.runner.keys import runs_of
from benchmarks.studies.runner.study import Arm
from trainers.algorithms.presets import PRESETS
from trainers.cli import main as train
from trainers.cli import parse_config
from trainers.phases.multirun.cache import Run, RunCache
from trainers.phases.multirun.played import PlayedRun
from trainers.phases.multirun.playing import play
from trainers.phases.multirun.process import begin_process

GRADIENTS = "gradients.npy"
"""File in a run's folder: the gradients of its steps, one per row."""
STILL = "--rl.learning-rate 1e-12 --rl.max-grad-norm 1e9 --rl.log-groups 0 --eval.every 0"
"""A rate so small that no float32 weight changes, and no clipping."""
CRITIC = "--critic.learning-rate 0.03"
"""A critic still learns."""


def recorded(arguments: Sequence[str]) -> int:
    """Execute ``agentgym-train``, and record the gradients given to the policy's optimiser.

    Args:
        arguments: Those of the command, the folder of the run among them.

    Returns:
        Its exit code.
    """
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    gradients: dict[int, list[torch.Tensor]] = {}

    def keep(optimizer: Any, *_: Any) -> None:
        grads = [
            parameter.grad for group in optimizer.param_groups for parameter in group["params"]
        ]
        parts = [grad.detach().flatten() for grad in grads if grad is not None]
        gradients.setdefault(id(optimizer), []).append(torch.cat(parts))

    handle = register_optimizer_step_pre_hook(keep)
    try:
        code = train(arguments)
    finally:
        handle.remove()
    # A critic's optimiser has fewer weights. Of several equally large ones the last is the
    # policy's.
    largest = max(len(steps[0]) for steps in gradients.values())
    policy = [steps for steps in gradients.values() if len(steps[0]) == largest][-1]
    folder = parse_config(arguments).out
    assert folder is not None, "a run of a cache has one"
    np.save(folder / GRADIENTS, torch.stack(policy).numpy())
    return code


def still(family: str, method: str, turns: int) -> Arm:
    """Return an arm of the study with frozen weights and a number of environment turns."""
    moving = arm(family, method)
    critic = CRITIC if "critic" in PRESETS[method].needs else ""
    flags = f"{STILL} {critic} --rl.turn-budget {turns}"
    return Arm(f"{moving.name}/still", (*moving.settings, *flags.split()), moving.labels)


def price(gradients: np.ndarray, tokens: float) -> dict[str, float | None]:
    """Return the noise of gradients, and the cost of one as large as its noise.

    Args:
        gradients: (N, W), one of each step.
        tokens: Sampled tokens of a step.

    Returns:
        ``noise_to_signal`` of a step and ``tokens_for_noise_of_one``; None where the mean of the
        gradients is not larger than its noise.
    """
    count, mean = len(gradients), gradients.mean(0, dtype=np.float64)
    noise = float(gradients.var(0, ddof=1, dtype=np.float64).sum())
    signal = float(mean @ mean) - noise / count  # unbiased: the squared mean contains noise
    ratio = noise / signal if signal > 0 else None
    return {
        "steps": count,
        "tokens": tokens,
        "noise_to_signal": ratio,
        "tokens_for_noise_of_one": ratio and ratio * tokens,
    }


def measured(cache: RunCache, run: Run) -> dict[str, Any]:
    """Return the figures of a finished run."""
    played_run = PlayedRun(cache.folder(run), run.seed, run.keys.run)
    steps = played_run.steps
    gradients = np.load(played_run.folder / GRADIENTS)[-len(steps) :]
    return {"seed": run.seed, **price(gradients, steps[-1]["tokens_total"] / len(steps))}


def main(argv: Sequence[str] | None = None) -> int:
    """Execute missing runs, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/studies"), help="folder of the runs")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds, from 0")
    parser.add_argument("--turns", type=int, default=6000, help="environment turns of a run")
    parser.add_argument("--only", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--collect", action="store_true", help="play nothing, collect what is done")
    options = parser.parse_args(argv)
    cache, seeds = RunCache(options.out, parse_config), range(options.seeds)
    pairs = [(family, method) for family in options.only for method in METHODS]
    moving = runs_of([arm(*pair) for pair in pairs], seeds)
    still_runs = runs_of([still(*pair, options.turns) for pair in pairs], seeds)
    failures = []
    if not options.collect:
        failures = play(cache, moving, options.jobs, partial(begin_process, train))
        # Together with the finished runs of the study, whose warm starts they reuse.
        failures += play(
            cache, [*moving, *still_runs], options.jobs, partial(begin_process, recorded)
        )
    for failure in failures:
        print(f"failed: {failure.run.name}: {failure.why}", file=sys.stderr)
    by_family: dict[str, dict[str, list[Any]]] = {}
    for run in still_runs:
        if not cache.find_played(run):
            print(f"missing: {run.name}", file=sys.stderr)
            continue
        family, method, _ = run.arm.split("/")
        by_family.setdefault(family, {}).setdefault(method, []).append(measured(cache, run))
    print(to_json({"turns": options.turns, "seeds": list(seeds), "families": by_family}))
    return int(bool(failures) or not by_family)


if __name__ == "__main__":
    sys.exit(main())
