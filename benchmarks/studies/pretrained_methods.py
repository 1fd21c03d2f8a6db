"""Pretrained methods: does the toy's ranking of methods hold for a real chat model?

SmolLM2-135M-Instruct cooks in TextWorld, in at most five turns. For each seed one warm start is
trained, and every arm continues from it with the same learning rate, groups and environment turns:
``turn-loo`` (the default), ``grpo``, ``gigpo``, ``rloo``, and ``scaling``, which is ``turn-loo``
with ScalingInter's growing horizon of 3, 4 and 5 turns instead of a constant one; a shorter episode
can earn some of the points. Success on held-out tasks and at equal tokens that the policy wrote.

Smallest run: ``--seeds 1 --only turn-loo grpo --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.studies.runner.curves_picture import draw_success
from benchmarks.studies.runner.measures import at_equal, held_out, minus, validation_curve
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.output.roles import TRAINED, WARM_START
from trainers.output.seed_summary import spread

DEFAULT = "turn-loo"
TURNS = 800
"""Environment turns of an arm: about eight of ``--quick``'s ten steps."""
FLAGS = (
    "--env textworld --model smollm2 --quick --steps 1000 --eval.every 4 --eval.baselines none "
    f"--rl.turn-budget {TURNS} --rl.save-every 1000"
)
ARMS = {
    DEFAULT: "--preset turn-loo",
    "grpo": "--preset grpo",
    "gigpo": "--preset gigpo",
    "rloo": "--preset rloo",
    "scaling": "--preset turn-loo --horizon 3,4,5 --horizon-every 3",
}


def measure(runs: Runs) -> dict[str, Any]:
    """Return each arm's results, and the differences to the default, seed by seed."""
    curves = {name: [validation_curve(run) for run in arm_runs] for name, arm_runs in runs.items()}
    return {
        "turns": TURNS,
        "arms": {
            name: {
                "seeds": [run.seed for run in arm_runs],
                "warm_start": held_out(arm_runs, WARM_START),
                "success": held_out(arm_runs, TRAINED),
                "minus_turn_loo": minus(arm_runs, runs.get(DEFAULT, ())),
                "validation_at_equal_tokens": spread(at_equal(curves[name], "sampled")),
                "steps": [run.summary["steps"] for run in arm_runs],
                "cpu_minutes": [run.summary["cpu_s"] / 60 for run in arm_runs],
                "curves": [
                    {"seed": run.seed, **curve}
                    for run, curve in zip(arm_runs, curves[name], strict=True)
                ],
            }
            for name, arm_runs in runs.items()
            if arm_runs
        },
    }


def draw_curves(result: Mapping[str, Any], path: Path) -> None:
    """Draw validation success over environment turns."""
    draw_success(result["arms"], path, "turns", "environment turns")


STUDY = Study(
    name="pretrained_methods",
    question="Which credit assignment suits a pretrained model, and does a growing horizon help?",
    arms=[Arm(name, tuple([*FLAGS.split(), *flags.split()])) for name, flags in ARMS.items()],
    measure=measure,
    draw=draw_curves,
)
