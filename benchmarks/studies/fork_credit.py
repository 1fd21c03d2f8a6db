"""Fork credit: do forked episodes teach faster than groups, at equal sampled tokens?

For each family and seed one short warm start is trained, and the arms continue from it until each
has played the same number of turns; they are compared at equal sampled tokens. A step has groups of
8 episodes and one update at one learning rate, so that the methods only differ in their credit:
``turn-loo``, ``gigpo`` and ``ppo`` with 8 episodes from the start of the task, ``fork-value`` with
4 of them, each forked once. A fork only plays the turns after its fork point, so ``fork-value`` has
more updates per token, and fewer independent episodes.

Smallest run: ``--seeds 1 --only family=toy --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.runner.measures import Curve, at_equal, tokens_to
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.output.seed_summary import spread
from trainers.phases.multirun.played import PlayedRun

SMALL = "--tiny.hidden 48 --tiny.layers 2 --tiny.heads 2 --tiny.head-dim 24 --tiny.intermediate 128"
"""Sizes of a policy that trains in seconds of processor time."""
FAMILIES: Mapping[str, str] = {
    "toy": "--env tests.toy:agentgym-test/Toy-v0 --horizon 8 --no-fit-horizon "
    "--sft.demonstrations 400 --sft.copy-steps 20 --sft.batch-size 16 --sft.learning-rate 0.005 "
    "--sft.max-steps 90 --sft.eval-every 5 --sft.target-success 0.25 --rl.turn-tokens 4 "
    "--rl.episode-tokens 240 --tiny.hidden 32 --tiny.layers 2 --tiny.heads 2 "
    "--tiny.intermediate 64 --tiny.context 384 --rl.groups 4 --rl.learning-rate 0.003 "
    "--rl.turn-budget 4000 --eval.every 3",
    "textworld": "--env benchmarks.coin_mazes:benchmarks/CoinMazes-v0 --env-kwargs levels=1-4 "
    f"--horizon 8 --no-fit-horizon {SMALL} --tiny.context 1536 --sft.demonstrations 200 "
    "--sft.copy-steps 50 --sft.batch-size 16 --sft.max-steps 160 --sft.eval-every 20 "
    "--sft.target-success 0.5 --rl.turn-tokens 6 --rl.episode-tokens 1400 --rl.groups 4 "
    "--rl.learning-rate 0.001 --rl.turn-budget 3000 --eval.every 3",
    "webshop": "--env webshop --sft.max-steps 1000 --sft.eval-every 1000 --sft.target-success 1 "
    "--rl.groups 12 --rl.learning-rate 0.0012 --rl.turn-budget 6000 --eval.every 2",
}
"""Families, with sizes that suit their tasks."""
COMMON = (
    "--rl.num-generations 8 --rl.minibatches 1 --rl.warmup-steps 0 --steps 100000 "
    "--sft.eval-tasks 40 "
    "--eval.valid-tasks 48 --eval.num-tasks 16 --eval.keep last --eval.baselines none "
    "--rl.save-every 1000 --rl.keep-checkpoints 1 --minutes 0"
)
METHODS: Mapping[str, str] = {
    "turn-loo": "--preset turn-loo",
    "gigpo": "--preset gigpo",
    "ppo": "--preset ppo",
    "fork-value": "--preset fork-value --forks.roots 4",
}
TARGET = 0.5
"""Share of the warm start's failures that must be solved to reach the target."""
DEFAULT = "turn-loo"


def arm(family: str, method: str) -> Arm:
    """Return the arm of a method in a family."""
    flags = f"{FAMILIES[family]} {COMMON} {METHODS[method]}"
    return Arm(f"{family}/{method}", tuple(flags.split()), {"family": family, "method": method})


def measure(runs: Runs) -> dict[str, Any]:
    """Return the curves of each arm, and how the methods compare at equal sampled tokens."""
    curves = {
        name: {run.seed: curve_of(run) for run in arm_runs}
        for name, arm_runs in runs.items()
        if arm_runs
    }
    families = {family: _compared(curves, family) for family in FAMILIES}
    return {
        "target": TARGET,
        "families": {family: comparison for family, comparison in families.items() if comparison},
        "arms": {
            name: {
                "curves": [{"seed": seed, **curve} for seed, curve in of_seed.items()],
                "updates": [len(run.steps) for run in runs[name]],
            }
            for name, of_seed in curves.items()
        },
    }


def curve_of(run: PlayedRun) -> Curve:
    """Return success and score on validation tasks over turns and sampled tokens."""
    sampled = {0: 0.0, **{step["step"]: step["tokens_total"] for step in run.steps}}
    points = run.validations
    return {
        "turns": [point["turns_total"] for point in points],
        "sampled": [sampled[point["step"]] for point in points],
        "success": [point["success"] for point in points],
        "score": [point["score"] for point in points],
    }


def _compared(curves: Mapping[str, Mapping[int, Curve]], family: str) -> dict[str, Any]:
    """Compare the methods of a family over their common seeds."""
    of = {m: curves[f"{family}/{m}"] for m in METHODS if f"{family}/{m}" in curves}
    seeds = sorted(set.intersection(*map(set, of.values()))) if DEFAULT in of else []
    if not seeds:
        return {}
    ends = [
        dict(zip(of, at_equal([by_seed[seed] for by_seed in of.values()], "sampled"), strict=True))
        for seed in seeds
    ]
    starts = [of[DEFAULT][seed]["success"][0] for seed in seeds]
    return {
        "seeds": seeds,
        "warm_start": spread(starts),
        "tokens": [min(by_seed[seed]["sampled"][-1] for by_seed in of.values()) for seed in seeds],
        "methods": {
            method: {
                "success_at_equal_tokens": spread([end[method] for end in ends]),
                "minus_turn_loo": spread([end[method] - end[DEFAULT] for end in ends]),
                "tokens_to_target": [
                    tokens_to(by_seed[seed], start + TARGET * (1.0 - start))
                    for seed, start in zip(seeds, starts, strict=True)
                ],
            }
            for method, by_seed in of.items()
        },
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success on validation tasks over sampled tokens, a panel for each family."""
    from matplotlib.figure import Figure

    families: Sequence[str] = list(result["families"])
    figure = Figure(figsize=(4.2 * max(1, len(families)), 3.4), dpi=110, layout="constrained")
    panels = figure.subplots(1, max(1, len(families)), squeeze=False)[0]
    for family, panel in zip(families, panels, strict=False):
        panel.set(title=family, xlabel="sampled tokens", ylabel="success, validation tasks")
        for number, method in enumerate(METHODS):
            arm_curves = result["arms"].get(f"{family}/{method}", {"curves": []})["curves"]
            for y, curve in enumerate(arm_curves):
                label = method if y == 0 else None
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
