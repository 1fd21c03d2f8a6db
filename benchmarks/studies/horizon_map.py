"""When does a growing horizon help? Schedules x task lengths x strength of the warm start.

Every arm of a cell takes the same number of environment turns from the same warm start and is
compared at the full horizon. ``python -m benchmarks.studies horizon_map --only tasks=mixed`` plays
one column of the map; a further kind of tasks is a further row of ``TASKS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.studies.runner import measures
from benchmarks.studies.runner.grid_picture import draw_grid
from benchmarks.studies.runner.study import Arm, Runs, Study


@dataclass(frozen=True)
class Tasks:
    """A column of the map."""

    env: str
    """Flags that name the tasks."""
    stages: tuple[int, ...]
    """Turns of the growing schedules; the first is the short horizon, the last the long one."""
    every: int
    """Steps of a stage."""
    gate: float
    """Success of two steps' episodes that opens the next stage of the gated schedule."""
    turns: int
    """Environment turns of reinforcement learning."""
    classes: tuple[int, ...]
    """Longest plan of each class of tasks whose success is followed."""
    more: str = ""
    """Further flags: sizes that suit these tasks."""


MAZES = "--env benchmarks.coin_mazes:benchmarks/CoinMazes-v0 --env-args levels="
SMALL = (
    "--tiny.hidden 48 --tiny.layers 2 --tiny.heads 2 --tiny.head-dim 24 --tiny.intermediate 128 "
    "--tiny.context 1536 --sft.copy-steps 50 --sft.gate-every 10 --sft.gate-tasks 48 "
    "--sft.demonstrations 600 --rl.groups 4 --rl.group-size 8 --rl.log-groups 4 "
    "--rl.turn-tokens 6 --rl.episode-tokens 1400 --rl.save-every 100 --rl.keep-checkpoints 1 "
    "--eval.tasks 96 --eval.valid-tasks 48 --eval.imitation 0"
)
"""Sizes with which a run takes about a minute."""
TASKS: Mapping[str, Tasks] = {
    "short": Tasks(f"{MAZES}1-4", (4, 6, 9, 12), 8, 0.5, 4500, (2, 4), f"{SMALL} --eval.every 12"),
    "long": Tasks(f"{MAZES}9-12", (12, 16, 20, 24), 4, 0.5, 8000, (10, 12), f"{SMALL} --eval.every 4"),
    "mixed": Tasks(f"{MAZES}1-12", (4, 10, 16, 24), 5, 0.3, 8000, (4, 8, 12), f"{SMALL} --eval.every 6"),
}  # fmt: skip
STARTS: Mapping[str, str] = {
    "none": "--sft.demonstrator random --sft.max-steps 60 --sft.gate-success 1",
    "weak": "--sft.max-steps 300 --sft.gate-success 0.3",
    "strong": "--sft.max-steps 300 --sft.gate-success 0.7",
}
"""Rows of the map: of random actions a policy learns how actions are written, no more."""
SCHEDULES = ("short", "long", "growing", "gated", "growing-fit")


def horizon(schedule: str, tasks: Tasks) -> str:
    """Return the flags of a schedule."""
    stages = ",".join(map(str, tasks.stages))
    growing = f"--horizon {stages} --horizon-every {tasks.every}"
    return {
        "short": f"--horizon {tasks.stages[0]} --no-fit-horizon",
        "long": f"--horizon {tasks.stages[-1]} --no-fit-horizon",
        "growing": f"{growing} --no-fit-horizon",
        "gated": f"--horizon {stages} --horizon-every 2 --horizon-gate {tasks.gate} "
        "--no-fit-horizon",
        "growing-fit": f"{growing} --fit-horizon",
    }[schedule]


def arm(start: str, name: str, schedule: str) -> Arm:
    """Return a cell's arm."""
    tasks = TASKS[name]
    flags = (
        f"{tasks.env} {tasks.more} {STARTS[start]} {horizon(schedule, tasks)} "
        f"--steps 100000 --rl.turn-budget {tasks.turns} --eval.horizon {tasks.stages[-1]}"
    )
    labels = {"start": start, "tasks": name, "schedule": schedule}
    return Arm(f"{start}/{name}/{schedule}", tuple(flags.split()), labels)


ARMS = [arm(start, name, schedule) for start in STARTS for name in TASKS for schedule in SCHEDULES]


def measure(runs: Runs) -> dict[str, Any]:
    """Compare the schedules of each cell, and follow what they do to the episodes."""
    cells: dict[str, Any] = {}
    for start, name in ((start, name) for start in STARTS for name in TASKS):
        some = {s: found for s in SCHEDULES if (found := runs.get(f"{start}/{name}/{s}"))}
        if some:
            cells[f"{start}/{name}"] = {
                "start": start, "tasks": name, "classes": TASKS[name].classes,
                **measures.compared_at_equal_cost(some),
                "schedules": {
                    schedule: {
                        "warm_start": measures.held_out(found, "sft"),
                        "success": measures.held_out(found, "rl"),
                        "curves": [measures.validation_curve(run) for run in found],
                        "training": [measures.training_curve(run, 8) for run in found],
                        "by_length": [
                            measures.success_by_length(run, TASKS[name].classes) for run in found
                        ],
                    }
                    for schedule, found in some.items()
                },
            }  # fmt: skip
    return {"starts": list(STARTS), "tasks": list(TASKS), "schedules": SCHEDULES, "cells": cells}


STUDY = Study(
    name="horizon_map",
    question="When does a growing horizon help, at equal environment turns and equal tokens?",
    arms=ARMS,
    measure=measure,
    draw=draw_grid,
)
