"""Fork credit: does the mean over continuations of the very same state teach faster than a group?

For each family and seed one short warm start is trained, and the arms go on from it with groups of
8 episodes and as many sampled tokens: ``turn-loo`` and ``gigpo`` with 8 episodes from the start of
the task, and ``fork-value`` with 4 of them, each of which is forked once. A fork is played from
where it was forked, so ``fork-value`` has more updates for its tokens, and fewer episodes that are
independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.runner.measures import Curve, at_equal
from benchmarks.studies.runner.study import Arm, Runs, Study
from benchmarks.studies.runner.tasks import CHAINS, HESITANT_GAMES
from trainers.multirun.played import PlayedRun
from trainers.output.seed_summary import spread

FAMILIES = {
    "webshop": "--env webshop", "textworld": HESITANT_GAMES, "search": CHAINS,
}  # fmt: skip
"""Families, and the tasks of each."""
METHODS: Mapping[str, str] = {
    "turn-loo": "--preset turn-loo",
    "gigpo": "--preset gigpo --rl.minibatches 1",
    "fork-value": "--preset fork-value --rl.branch-roots 4",
}
TURNS = 6_000
"""Environment turns of an arm: where all are compared is decided by sampled tokens."""
TARGET = 0.5
"""Part of what the warm start fails at that is to be solved."""
HOUSE = "turn-loo"


def arm(family: str, method: str) -> Arm:
    """Return the arm of a method in a family."""
    flags = (
        f"{FAMILIES[family]} {METHODS[method]} --rl.group-size 8 --rl.groups 16 --rl.lr 0.0012 "
        f"--rl.warmup 2 --steps 100000 --rl.turn-budget {TURNS} --sft.max-steps 300 "
        "--sft.gate-every 300 --sft.gate-tasks 64 --eval.every 2 --eval.valid-tasks 64 "
        "--eval.tasks 100 --eval.keep last --eval.rivals none --rl.save-every 50 "
        "--rl.keep-checkpoints 1 --minutes 0"
    )
    return Arm(f"{family}/{method}", tuple(flags.split()), {"family": family, "method": method})


def curve_of(run: PlayedRun) -> Curve:
    """Return success and score on validation tasks over turns and tokens that were sampled."""
    sampled = {0: 0.0, **{step["step"]: step["tokens_total"] for step in run.steps}}
    points = run.validations
    return {
        "turns": [point["turns_total"] for point in points],
        "sampled": [sampled[point["step"]] for point in points],
        "success": [point["success"] for point in points],
        "score": [point["score"] for point in points],
    }


def tokens_to(curve: Curve, target: float) -> float | None:
    """Return the sampled tokens at which success first is at a target; None if it never is."""
    for at in range(1, len(curve["success"])):
        low, high = curve["success"][at - 1 : at + 1]
        if low < target <= high:
            share = (target - low) / (high - low)
            before, after = curve["sampled"][at - 1 : at + 1]
            return before + share * (after - before)
    return None


def measure(runs: Runs) -> dict[str, Any]:
    """Return the curves of each arm, and how the methods compare at equal sampled tokens."""
    curves = {
        name: {run.seed: curve_of(run) for run in found} for name, found in runs.items() if found
    }
    families = {family: _compared(curves, family) for family in FAMILIES}
    arms = {
        name: {
            "curves": [{"seed": seed, **curve} for seed, curve in of_seed.items()],
            "updates": [len(run.steps) for run in runs[name]],
            "gradient_norm": [
                float(np.mean([step["grad_norm"] for step in run.steps])) for run in runs[name]
            ],
        }
        for name, of_seed in curves.items()
    }
    return {"turns": TURNS, "families": {k: v for k, v in families.items() if v}, "arms": arms}


def _compared(curves: Mapping[str, Mapping[int, Curve]], family: str) -> dict[str, Any]:
    """Compare the methods of a family in the seeds that all of them were played with."""
    of = {m: curves[f"{family}/{m}"] for m in METHODS if f"{family}/{m}" in curves}
    if HOUSE not in of:
        return {}
    found: dict[str, Any] = {}
    for method, by_seed in of.items():
        seeds = sorted(set(by_seed) & set(of[HOUSE]))
        pairs = [at_equal([by_seed[s], of[HOUSE][s]], "sampled") for s in seeds]
        starts = [of[HOUSE][s]["success"][0] for s in seeds]
        targets = [start + TARGET * (1.0 - start) for start in starts]
        if seeds:
            found[method] = {
                "seeds": seeds,
                "success_at_equal_tokens": spread([ours for ours, _ in pairs]),
                "minus_turn_loo": spread([ours - house for ours, house in pairs]),
                "tokens_to_target": [
                    tokens_to(by_seed[s], t) for s, t in zip(seeds, targets, strict=True)
                ],
            }
    return found


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success on validation tasks over sampled tokens, a panel for each family."""
    from matplotlib.figure import Figure

    families: Sequence[str] = list(result["families"])
    figure = Figure(figsize=(4.2 * max(1, len(families)), 3.4), dpi=130, layout="constrained")
    panels = figure.subplots(1, max(1, len(families)), squeeze=False)[0]
    for family, panel in zip(families, panels, strict=False):
        panel.set(title=family, xlabel="sampled tokens", ylabel="success, validation tasks")
        for number, method in enumerate(METHODS):
            found = result["arms"].get(f"{family}/{method}", {"curves": []})["curves"]
            for at, curve in enumerate(found):
                label = method if at == 0 else None
                panel.plot(curve["sampled"], curve["success"], color=f"C{number}", label=label)
        panel.grid(alpha=0.25)
        panel.legend(frameon=False)
    figure.savefig(path)


STUDY = Study(
    name="fork_credit",
    question="Does credit by continuations of the very same state teach more for equal tokens?",
    arms=[arm(family, method) for family in FAMILIES for method in METHODS],
    measure=measure,
    draw=draw,
)
