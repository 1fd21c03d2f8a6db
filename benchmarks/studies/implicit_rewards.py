"""Implicit rewards: does a reward model rank solved episodes higher, and does it help?

For each family and seed one short warm start is trained, and the arms continue from it with the
same sizes: ``istar``, and the same without a reward model. A step ranks the episodes that it has
just played before the reward model learns from them, so every pair is held out. The bar: in the
last third of the steps ``istar`` ranks 80 of 100 pairs correctly, averaged over the seeds of every
family; otherwise the command exits with 1.

Smallest run: ``--seeds 1 --only family=toy --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.runner.measures import minus
from benchmarks.studies.runner.study import Arm, Runs, Study
from benchmarks.studies.runner.tasks import HESITANT_GAMES
from trainers.output.seed_summary import spread
from trainers.phases.multirun.played import PlayedRun

COMMON = (
    "--preset istar --rl.num-generations 8 --rl.minibatches 1 --eval.keep last "
    "--eval.baselines none --rl.save-every 50 --rl.keep-checkpoints 1 --minutes 0"
)
BUNDLED = (
    "--rl.groups 16 --rl.learning-rate 0.0012 --rl.warmup-steps 2 --steps 18 --sft.max-steps 300 "
    "--sft.eval-every 300 --sft.eval-tasks 64 --eval.every 6 --eval.valid-tasks 64 "
    "--eval.num-tasks 200"
)
FAMILIES: Mapping[str, str] = {
    "toy": "--env tests.toy:agentgym-test/Toy-v0 --horizon 5 --rl.groups 8 "
    "--rl.learning-rate 0.001 "
    "--rl.warmup-steps 0 --steps 12 --rl.turn-tokens 4 --rl.episode-tokens 150 "
    "--sft.demonstrations 200 "
    "--sft.max-steps 100 --sft.copy-steps 5 --sft.learning-rate 0.005 --sft.eval-every 50 "
    "--sft.eval-tasks 16 "
    "--eval.every 0 --eval.num-tasks 200 --tiny.hidden 32 --tiny.layers 2 --tiny.heads 2 "
    "--tiny.intermediate 64 --tiny.context 256",
    "textworld": f"{HESITANT_GAMES} {BUNDLED}",
    "webshop": f"--env webshop {BUNDLED}",
}
"""Task families and the sizes of their runs; the toy of the tests takes seconds."""
METHODS: Mapping[str, str] = {
    "istar": "--reward-model.updates 4",
    "without": "--reward-model.weight 0",
}
BAR = 0.8
"""Minimum share of correctly ranked pairs."""


def arm(family: str, method: str) -> Arm:
    """Return the arm of a method in a family."""
    flags = f"{COMMON} {FAMILIES[family]} {METHODS[method]}"
    return Arm(f"{family}/{method}", tuple(flags.split()), {"family": family, "method": method})


def measure(runs: Runs) -> dict[str, Any]:
    """Return the ranking accuracy of the reward models, and their effect on test success."""
    families = {}
    for family in FAMILIES:
        model_runs, plain_runs = (runs.get(f"{family}/{method}", ()) for method in METHODS)
        if model_runs:
            families[family] = _family(model_runs, plain_runs)
    above_bar = all(figures["ranking"]["mean"] >= BAR for figures in families.values())
    return {"bar": BAR, "families": families, "met": bool(families) and above_bar}


def _family(model_runs: Sequence[PlayedRun], plain_runs: Sequence[PlayedRun]) -> dict[str, Any]:
    """Return the figures of a family."""
    return {
        "seeds": [run.seed for run in model_runs],
        "ranking": spread([run.summary["reward_ranking"] for run in model_runs], (0.0, 1.0)),
        "by_step": [[step.get("reward_ranking") for step in run.steps] for run in model_runs],
        "pairs": [[step["reward_pairs"] for step in run.steps] for run in model_runs],
        "success": {
            name: spread([run.summary["eval"]["trained"]["success"] for run in some], (0.0, 1.0))
            for name, some in zip(METHODS, (model_runs, plain_runs), strict=True)
            if some
        },
        "warm_start": spread(
            [run.summary["eval"]["warm-start"]["success"] for run in model_runs], (0.0, 1.0)
        ),
        "minus_without": minus(model_runs, plain_runs),
        "cpu_seconds": {
            name: [round(run.summary["cpu_s"], 1) for run in some]
            for name, some in zip(METHODS, (model_runs, plain_runs), strict=True)
        },
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw the share of pairs that are ranked right over the steps, a panel for each family."""
    from matplotlib.figure import Figure

    families: Sequence[str] = list(result["families"])
    figure = Figure(figsize=(4.2 * max(1, len(families)), 3.4), dpi=130, layout="constrained")
    panels = figure.subplots(1, max(1, len(families)), squeeze=False)[0]
    for family, panel in zip(families, panels, strict=False):
        panel.set(title=family, xlabel="step", ylabel="pairs ranked right", ylim=(0, 1.02))
        figures = result["families"][family]
        for seed, ranking in zip(figures["seeds"], figures["by_step"], strict=True):
            panel.plot(range(1, len(ranking) + 1), ranking, color=f"C{seed}", label=f"seed {seed}")
        panel.axhline(result["bar"], color="0.5", linewidth=0.8, linestyle="--")
        panel.grid(alpha=0.25)
        panel.legend(frameon=False)
    figure.savefig(path)


STUDY = Study(
    name="implicit_rewards",
    question="Does a reward model rank solved episodes above others that it has not seen?",
    arms=[arm(family, method) for family in FAMILIES for method in METHODS],
    measure=measure,
    draw=draw,
)
