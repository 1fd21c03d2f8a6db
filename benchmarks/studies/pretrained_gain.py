"""Pretrained gain: does a real chat model learn from reward, on two cores, in minutes?

Every run is ``agentgym train --env FAMILY --model smollm2 --quick`` with the baselines ``bc`` and
``filtered-bc``: SmolLM2-135M-Instruct, whose 93 MB come from PyPI, with LoRA. A run compares, on
held-out tasks, the base model, its warm start, behavior cloning of all demonstrations and of those
that succeeded for at least as much compute as reinforcement learning takes, and the trained policy.

Smallest run: ``--only mathpython --seeds 1 --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.runner.study import Arm, Runs, Study
from benchmarks.studies.training_gain import row
from trainers.output.roles import BASE_MODEL, BASELINES, TRAINED, WARM_START
from trainers.phases.multirun.played import PlayedRun

FAMILIES = ("mathpython", "database", "textworld", "search", "service")
COMMAND = ("--model", "smollm2", "--quick", "--eval.baselines", "bc", "filtered-bc")


def measure(runs: Runs) -> dict[str, Any]:
    """Return the runs of each family: its policies, and its validations."""
    return {
        "families": {
            env: [{**row(run), "curve": validation_curve(run)} for run in family_runs]
            for env, family_runs in runs.items()
        }
    }


def validation_curve(run: PlayedRun) -> dict[str, list[float]]:
    """Return success on validation tasks over the steps, and the model's tokens up to each."""
    sampled = {0: 0, **{step["step"]: step["tokens_total"] for step in run.steps}}
    return {
        "step": [point["step"] for point in run.validations],
        "sampled": [sampled[point["step"]] for point in run.validations],
        "success": [point["success"] for point in run.validations],
    }


def draw_gain(result: Mapping[str, Any], path: Path) -> None:
    """Draw the success of each policy on held-out tasks, a line per seed and a family per panel."""
    from matplotlib.figure import Figure

    families = result["families"]
    figure = Figure(figsize=(max(3.0 * len(families), 5.5), 3.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(families), sharey=True, squeeze=False)[0]
    for axes, (env, rows) in zip(panels, families.items(), strict=True):
        path_of_policy = [
            arm for arm in (BASE_MODEL, WARM_START, TRAINED) if arm in rows[0]["success"]
        ]
        places = np.arange(len(path_of_policy))
        for run in rows:
            arms = run["success"]
            label = f"seed {run['seed']}"
            (line,) = axes.plot(
                places, [arms[arm] for arm in path_of_policy], marker="o", label=label
            )
            baselines = [arms[arm] for arm in BASELINES if arm in arms]
            if baselines:
                ends = [arms[WARM_START], max(baselines)]
                axes.plot(
                    places[-2:], ends, ls="--", marker="o", mfc="white", color=line.get_color()
                )
        level = rows[0]["success"]["demonstrator"]
        axes.axhline(level, color="grey", linestyle="-.", linewidth=1, label="demonstrator")
        names = [*path_of_policy[:-1], "trained\n(-- best baseline)"]
        axes.set(title=env, xticks=places, xticklabels=names, ylim=(-0.03, 1.03))
        axes.grid(axis="y", alpha=0.25)
    panels[0].set_ylabel("success on held-out tasks")
    labelled = panels[0].get_legend_handles_labels()
    figure.legend(*labelled, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.savefig(path)


STUDY = Study(
    name="pretrained_gain",
    question="Does a pretrained model gain from reward, beyond imitation of equal compute?",
    arms=[Arm(env, ("--env", env, *COMMAND)) for env in FAMILIES],
    measure=measure,
    draw=draw_gain,
    share_start=False,
)
