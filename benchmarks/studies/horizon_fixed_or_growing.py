"""Growing or fixed? ScalingInter against constant horizons on the shop of the default run.

For each seed one warm start is trained, and three arms continue from it: ``scaling`` (stages of 5,
7 and 9 turns), ``short`` (the first throughout) and ``long`` (the last). All take the same number
of environment turns and are compared at the full horizon on the same held-out tasks. The
demonstrator is the one that always compares, whose plans say how many turns a task needs.

Smallest run: ``--seeds 1``
"""

from __future__ import annotations

from typing import Any

from benchmarks.figures import draw_learning_curve
from benchmarks.studies.runner.measures import held_out, validation_curve
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.output.roles import TRAINED, WARM_START, field_of

ENV = "webshop"
TURNS = 30_000
"""Environment turns of an arm."""
ROUNDS = {"scaling": "5,7,9", "short": "5", "long": "9"}
FULL = "9"
"""Turns of an episode of the comparison."""


def arm(name: str) -> Arm:
    """Return the arm of a schedule."""
    flags = (
        f"--env {ENV} --env-kwargs expert=thinking --sft.target-success 0.45 "
        f"--horizon {ROUNDS[name]} --eval.horizon {FULL} --steps 100000 "
        f"--rl.turn-budget {TURNS} --eval.every 10 --eval.baselines none --rl.save-every 50 "
        "--rl.keep-checkpoints 1"
    )
    return Arm(name, tuple(flags.split()))


def measure(runs: Runs) -> dict[str, Any]:
    """Return each arm's curves and test results."""
    arms = {
        name: {
            **{
                f"{field_of(stage)}_{figure}": held_out(arm_runs, stage, key)
                for figure, key in (("score", "score_mean"), ("success", "success"))
                for stage in (WARM_START, TRAINED)
            },
            "paired": [run.summary["paired"]["trained_minus_warm_start"] for run in arm_runs],
            "steps": [run.summary["steps"] for run in arm_runs],
            "curves": [{"seed": run.seed, **validation_curve(run)} for run in arm_runs],
        }
        for name, arm_runs in runs.items()
    }
    return {"env": ENV, "turns": TURNS, "rounds": ROUNDS, "arms": arms}


STUDY = Study(
    name="horizon_fixed_or_growing",
    question="Does the growing horizon help on the default shop, at equal environment turns?",
    arms=[arm(name) for name in ROUNDS],
    measure=measure,
    draw=draw_learning_curve,
)
