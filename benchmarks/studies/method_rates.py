"""Method rates: do methods that collapse in the study ``methods`` do so at lower rates?

The runs have the settings and warm starts of that study, at a third and a tenth of its learning
rate, ``turn-loo`` included. Two presets with 16 updates per step are also run at the full rate with
one update per step, which shows whether their loss or the number of updates causes the collapse.

Smallest run: ``--seeds 1 --only cispo/one-update --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.studies.methods import DEFAULT, arm
from benchmarks.studies.runner.measures import held_out, minus
from benchmarks.studies.runner.study import Arm, Runs, Study

FULL = 0.003
"""The rate of the study ``methods``."""
RATES = (0.001, 0.0003)
"""Rates in this study."""
METHODS = (DEFAULT, "cispo", "dapo", "istar", "archer", "sweet")
"""``turn-loo``, and presets that end far below their warm start at the full rate."""
ONE_UPDATE = ("cispo", "dapo")
"""Presets that are played at the full rate with one update a step."""


def at_rate(preset: str, rate: float) -> Arm:
    """Return the arm of a preset at a rate."""
    settings = (*arm(preset).settings, "--rl.learning-rate", f"{rate}")
    return Arm(f"{preset}/{rate}", settings, {"preset": preset, "rate": f"{rate}"})


def one_update(preset: str) -> Arm:
    """Return the arm of a preset that makes one update a step at the full rate."""
    settings = (*arm(preset).settings, "--rl.minibatches", "1")
    return Arm(f"{preset}/one-update", settings, {"preset": preset, "rate": f"{FULL}"})


def measure(runs: Runs) -> dict[str, Any]:
    """Return each arm's final success, and its difference to ``turn-loo`` at the same rate."""
    return {
        "full_rate": FULL,
        "arms": {
            arm.name: {
                "preset": arm.labels["preset"],
                "rate": float(arm.labels["rate"]),
                "one_update": arm.name.endswith("one-update"),
                "seeds": [run.seed for run in arm_runs],
                "warm_start": held_out(arm_runs, "warm-start"),
                "success": held_out(arm_runs, "trained"),
                "minus_turn_loo": minus(arm_runs, runs.get(f"{DEFAULT}/{arm.labels['rate']}", ())),
                "updates": [len(run.steps) for run in arm_runs],
                "cpu_seconds": [run.summary["cpu_s"] for run in arm_runs],
            }
            for arm in STUDY.arms
            if (arm_runs := runs.get(arm.name))
        },
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success at the end over the rate, a line for each preset, a dot for each seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), dpi=130, layout="constrained")
    panel = figure.subplots()
    arms = [row for row in result["arms"].values() if not row["one_update"]]
    for y, preset in enumerate(dict.fromkeys(row["preset"] for row in arms)):
        rows = sorted((r for r in arms if r["preset"] == preset), key=lambda row: row["rate"])
        rates = [row["rate"] for row in rows]
        panel.plot(rates, [r["success"]["mean"] for r in rows], color=f"C{y}", label=preset)
        for row in rows:
            values = row["success"]["values"]
            panel.plot([row["rate"]] * len(values), values, ".", color=f"C{y}", alpha=0.6)
    panel.set(xscale="log", xlabel="learning rate", ylabel="success on test tasks", ylim=(0, 1.02))
    panel.grid(alpha=0.25)
    panel.legend(frameon=False)
    figure.savefig(path)


STUDY = Study(
    name="method_rates",
    question="Do methods that fall apart at one rate for all do so at a lower one?",
    arms=[
        *(at_rate(preset, rate) for preset in METHODS for rate in RATES),
        *(one_update(preset) for preset in ONE_UPDATE),
    ],
    measure=measure,
    draw=draw,
)
