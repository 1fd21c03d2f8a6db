"""Training gain: does the default run of each family help, over seeds, on held-out tasks?

Every run is ``agentgym-train --env FAMILY --seed SEED`` with nothing else set. The bar: in every
run the success of the trained policy, paired over the held-out tasks, is significantly (95 %) above
the warm start and each baseline, and no run takes more than ``BAR_MINUTES`` of processor time;
otherwise the command exits with 1.

Smallest run: ``--only webshop --seeds 1 --results mine``
"""

from __future__ import annotations

from typing import Any

from agentgym import registration
from benchmarks.figures import draw_training_gain
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.output.roles import BASELINES, DEMONSTRATOR, LEARNED, WARM_START, field_of
from trainers.phases.multirun.played import PlayedRun

FAMILIES = tuple(entry.name for entry in registration.FAMILIES if entry.name != "swe")
"""SWE's default only shows that the path works; ``swe_training.py`` trains on it."""
BAR_MINUTES = 20.0
FIGURES = {"success": "success", "score": "score_mean"}
"""Names of figures, and their keys in a summary."""


def measure(runs: Runs) -> dict[str, Any]:
    """Return the runs of each family, and whether all of them met the bar."""
    families = {env: [row(run) for run in family_runs] for env, family_runs in runs.items()}
    rows = [entry for some in families.values() for entry in some]
    return {
        "bar_minutes": BAR_MINUTES,
        "families": families,
        "met": bool(rows) and all(map(clears_bar, rows)),
    }


def row(run: PlayedRun) -> dict[str, Any]:
    """Reduce a run to the compared figures."""
    summary = run.summary
    paired, greedy = summary["paired"], summary.get("greedy")
    return {
        **run.facts,
        "cpu_minutes": round(summary["cpu_s"] / 60, 2),
        "horizon": summary["horizon"],
        "evaluation": summary["evaluation"],
        **{
            name: {
                **{arm: result[key] for arm, result in summary["eval"].items()},
                "gain": paired["trained_minus_warm_start"][f"{name}_mean"],
                "gain_ci95": paired["trained_minus_warm_start"][f"{name}_ci95"],
                "over": {
                    role: [comparison[f"{name}_mean"], comparison[f"{name}_ci95"]]
                    for role in (WARM_START, *BASELINES, DEMONSTRATOR)
                    if (comparison := paired.get(f"trained_minus_{field_of(role)}"))
                },
            }
            for name, key in FIGURES.items()
        },
        "greedy_success": {
            arm: greedy[field_of(arm)]["success"] for arm in LEARNED if greedy.get(field_of(arm))
        } if greedy else None,
    }  # fmt: skip


def clears_bar(row: dict[str, Any]) -> bool:
    """Return whether a run clears the bar."""
    over = row["success"]["over"]
    gains = [interval[0] > 0 for arm, (_, interval) in over.items() if arm != "demonstrator"]
    return len(gains) > 1 and all(gains) and bool(row["cpu_minutes"] <= BAR_MINUTES)


STUDY = Study(
    name="training_gain",
    question="Does the default training of each family beat its warm start on held-out tasks?",
    arms=[Arm(env, ("--env", env)) for env in FAMILIES],
    measure=measure,
    draw=draw_training_gain,
    share_start=False,
)
