"""Critic control: does a learned critic help over values of 0?

The runs share settings and warm starts with the study ``methods``: presets with a critic, and the
same with ``--critic.kind zero``, where every value is 0 and advantages are whitened returns. This
is the control that every claim about a critic needs.

Smallest run: ``--seeds 1 --only ppo/zero --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.methods import arm
from benchmarks.studies.runner.measures import held_out, minus
from benchmarks.studies.runner.study import Arm, Runs, Study

PRESETS = ("ppo",)
"""The presets with a critic."""
KINDS = ("head", "model", "zero")
"""A head on the policy, a separate model, and the control."""


def of_kind(preset: str, kind: str) -> Arm:
    """Return the arm of a preset with a kind of critic."""
    settings = (*arm(preset).settings, "--critic.kind", kind)
    return Arm(f"{preset}/{kind}", settings, {"preset": preset, "critic": kind})


def measure(runs: Runs) -> dict[str, Any]:
    """Return final success, difference to the control, and explained variance of each arm."""
    return {
        "arms": {
            arm.name: {
                "preset": arm.labels["preset"],
                "critic": arm.labels["critic"],
                "seeds": [run.seed for run in arm_runs],
                "warm_start": held_out(arm_runs, "warm-start"),
                "success": held_out(arm_runs, "trained"),
                "minus_zero": minus(arm_runs, runs.get(f"{arm.labels['preset']}/zero", ())),
                "explained_variance": [run.summary["explained_variance"] for run in arm_runs],
                "updates": [len(run.steps) for run in arm_runs],
                "cpu_seconds": [run.summary["cpu_s"] for run in arm_runs],
            }
            for arm in STUDY.arms
            if (arm_runs := runs.get(arm.name))
        },
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success at the end of each arm: its mean, and a dot for each seed."""
    from matplotlib.figure import Figure

    arms = list(result["arms"].items())
    figure = Figure(figsize=(5.6, 0.34 * len(arms) + 1.2), dpi=130, layout="constrained")
    panel = figure.subplots()
    for y, (_, row) in enumerate(arms):
        values = row["success"]["values"]
        colour = f"C{KINDS.index(row['critic'])}"
        panel.plot(values, [y] * len(values), ".", color=colour, alpha=0.7)
        panel.plot(float(np.mean(values)), y, "|", color=colour, markersize=14)
    panel.set_yticks(range(len(arms)), [name for name, _ in arms])
    panel.set(xlabel="success on test tasks: mean and seeds", xlim=(-0.02, 1.02))
    panel.grid(alpha=0.25)
    figure.savefig(path)


STUDY = Study(
    name="critic_control",
    question="Does a critic do better than values of 0, at equal environment turns?",
    arms=[of_kind(preset, kind) for preset in PRESETS for kind in KINDS],
    measure=measure,
    draw=draw,
)
