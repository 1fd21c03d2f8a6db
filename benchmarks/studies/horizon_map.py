"""When does a growing horizon help? Schedules x task lengths x strength of the warm start.

Every arm of a cell takes the same number of environment turns from the same warm start and is
compared at the full horizon. ``python -m benchmarks.studies horizon_map --only tasks=mixed`` plays
one column of the map; a further kind of tasks is a further row of ``TASKS``.

Smallest run: ``--seeds 1 --only start=weak tasks=mixed --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.studies.runner import measures
from benchmarks.studies.runner.grid_picture import draw_grid
from benchmarks.studies.runner.study import Arm, Runs, Study
from benchmarks.studies.runner.tasks import CHAINS


@dataclass(frozen=True)
class Tasks:
    """A column of the map."""

    env: str
    """Flags that select the tasks."""
    stages: tuple[int, ...]
    """Turns of the growing schedules; the first is the short horizon, the last the long one."""
    interval: int
    """Steps of a stage."""
    gate: float
    """Success over two steps at which the gated schedule advances."""
    turns: int
    """Environment turns of reinforcement learning."""
    starts: Mapping[str, float]
    """Validation success at which imitation of the expert ends, by the name of the warm start."""
    classes: tuple[int, ...]
    """Longest plan of each class of tasks with a success curve."""
    more: str = (
        "--eval.baselines none --rl.log-groups 16 --rl.save-every 100 --rl.keep-checkpoints 1"
    )
    """Further flags: sizes that suit these tasks."""
    imitation: int = 300
    """Maximum steps of the warm start that imitates the expert."""
    dear: bool = False
    """Whether a run takes minutes, so that it is only executed if ``--only`` names the tasks."""


MAZES = "--env benchmarks.coin_mazes:benchmarks/CoinMazes-v0 --env-kwargs levels="
SMALL = (
    "--tiny.hidden 48 --tiny.layers 2 --tiny.heads 2 --tiny.head-dim 24 --tiny.intermediate 128 "
    "--tiny.context 1536 --sft.copy-steps 50 --sft.eval-tasks 36 --sft.demonstrations 600 "
    "--rl.groups 4 --rl.num-generations 6 --rl.log-groups 4 --rl.turn-tokens 6 "
    "--rl.episode-tokens 1400 --rl.save-every 1000 --rl.keep-checkpoints 1 "
    "--eval.num-tasks 72 --eval.valid-tasks 36 --eval.baselines none"
)
"""Sizes for half a minute of processor time, and as much for the warm start."""
TASKS: Mapping[str, Tasks] = {
    # Random actions solve .40, .00 and .28 of them.
    "short": Tasks(
        env=f"{MAZES}1-4", stages=(4, 6, 8, 12), interval=8, gate=0.6, turns=3000,
        starts={"weak": 0.65, "strong": 0.85}, classes=(2, 4), more=SMALL,
    ),
    "long": Tasks(
        env=f"{MAZES}9-12", stages=(12, 16, 20, 24), interval=3, gate=0.5, turns=4800,
        starts={"weak": 0.15, "strong": 0.5}, classes=(10, 12), more=SMALL,
    ),
    "mixed": Tasks(
        env=f"{MAZES}1-12", stages=(4, 10, 16, 24), interval=4, gate=0.3, turns=4800,
        starts={"weak": 0.35, "strong": 0.65}, classes=(4, 8, 12), more=SMALL,
    ),
    "textworld": Tasks(
        env="--env textworld --env-kwargs difficulty=w4-o6-q8 games=3200", stages=(8, 12, 16, 24),
        interval=12, gate=0.3, turns=24_000, starts={"weak": 0.15, "strong": 0.35}, imitation=2400,
        classes=(7, 8), dear=True,
        more="--tiny.hidden 64 --tiny.layers 2 --tiny.heads 2 --tiny.head-dim 32 "
        "--tiny.intermediate 160 --tiny.context 2560 --sft.batch-size 8 --sft.copy-steps 100 "
        "--sft.eval-tasks 48 --sft.demonstrations 3200 --rl.groups 6 --rl.num-generations 6 "
        "--rl.log-groups 6 --rl.save-every 1000 --rl.keep-checkpoints 1 --eval.num-tasks 144 "
        "--eval.valid-tasks 36 --eval.baselines none",
    ),
    "alfworld": Tasks(
        env="--env alfworld --env-kwargs difficulty=easy expert=searching", stages=(6, 10, 13, 16),
        interval=7, gate=0.4, turns=30_000, starts={"weak": 0.15, "strong": 0.35}, imitation=900,
        classes=(6, 9, 12, 16), dear=True,
        more="--eval.baselines none --eval.num-tasks 100 --eval.valid-tasks 36 --sft.eval-tasks 64 "
        "--sft.demonstrations 4000 --rl.groups 8 --rl.log-groups 8 --rl.save-every 1000 "
        "--rl.keep-checkpoints 1",
    ),
    "search": Tasks(
        env=CHAINS, stages=(3, 4, 6), interval=15, gate=0.6, turns=30_000, imitation=700,
        starts={"weak": 0.25, "strong": 0.5}, classes=(2, 3, 4, 6), dear=True,
        more="--eval.baselines none --eval.num-tasks 200 --eval.valid-tasks 48 --sft.eval-tasks 64 "
        "--sft.demonstrations 4000 --rl.log-groups 16 --rl.save-every 1000 --rl.keep-checkpoints 1",
    ),
}  # fmt: skip
STARTS = ("none", "weak", "strong")
"""Rows of the map. ``none`` imitates random actions, which only teaches the action format."""
SCHEDULES = ("short", "long", "growing", "gated", "growing-fit")


def horizon(schedule: str, tasks: Tasks) -> str:
    """Return the flags of a schedule, with about as many validations as the others."""
    stages = ",".join(map(str, tasks.stages))
    growing = f"--eval.every 6 --horizon {stages} --horizon-every {tasks.interval}"
    return {
        "short": f"--eval.every 18 --horizon {tasks.stages[0]} --no-fit-horizon",
        "long": f"--eval.every 4 --horizon {tasks.stages[-1]} --no-fit-horizon",
        "growing": f"{growing} --no-fit-horizon",
        "gated": f"--eval.every 6 --horizon {stages} --horizon-every 2 "
        f"--horizon-gate {tasks.gate} --no-fit-horizon",
        "growing-fit": f"{growing} --fit-horizon",
    }[schedule]


def imitation(start: str, tasks: Tasks) -> str:
    """Return the flags of a warm start."""
    if start == "none":
        # Random episodes are long, so a step has fewer.
        return (
            "--sft.demonstrator random --sft.batch-size 6 --sft.max-steps 160 --sft.eval-every 80"
        )
    gate = f"--sft.target-success {tasks.starts[start]}"
    return f"--sft.max-steps {tasks.imitation} --sft.eval-every {tasks.imitation // 30} {gate}"


def arm(start: str, name: str, schedule: str) -> Arm:
    """Return an arm of a cell."""
    tasks = TASKS[name]
    flags = (
        f"{tasks.env} {tasks.more} {imitation(start, tasks)} {horizon(schedule, tasks)} "
        f"--steps 100000 --rl.turn-budget {tasks.turns} --eval.horizon {tasks.stages[-1]}"
    )
    labels = {"start": start, "tasks": name, "schedule": schedule}
    needs = f"tasks={name}" if tasks.dear else ""
    return Arm(f"{start}/{name}/{schedule}", tuple(flags.split()), labels, needs)


ARMS = [arm(start, name, schedule) for start in STARTS for name in TASKS for schedule in SCHEDULES]


def measure(runs: Runs) -> dict[str, Any]:
    """Compare the schedules of each cell, and summarise their training episodes."""
    cells: dict[str, Any] = {}
    for start, name in ((start, name) for start in STARTS for name in TASKS):
        some = {s: arm_runs for s in SCHEDULES if (arm_runs := runs.get(f"{start}/{name}/{s}"))}
        if some:
            cells[f"{start}/{name}"] = {
                "stages": TASKS[name].stages, "classes": TASKS[name].classes,
                **measures.compared_at_equal_cost(some),
                "schedules": {
                    schedule: {
                        "random": measures.held_out(arm_runs, "random"),
                        "warm_start": measures.held_out(arm_runs, "warm-start"),
                        "success": measures.held_out(arm_runs, "trained"),
                        "minus_long": measures.minus(arm_runs, some.get("long", [])),
                        "curves": [measures.validation_curve(run) for run in arm_runs],
                        "training": [measures.training_curve(run, 8) for run in arm_runs],
                        "means": measures.training_means(arm_runs),
                        "by_length": [
                            measures.success_by_length(run, TASKS[name].classes) for run in arm_runs
                        ],
                        "last_by_length": measures.last_by_length(arm_runs, TASKS[name].classes),
                    }
                    for schedule, arm_runs in some.items()
                },
            }  # fmt: skip
    differences = [
        {name: arm["minus_long"] for name, arm in cell["schedules"].items() if name != "long"}
        for cell in cells.values()
    ]
    return {
        "rows": STARTS, "columns": list(TASKS), "schedules": SCHEDULES,
        "differences": measures.count_differences(differences), "cells": cells,
    }  # fmt: skip


STUDY = Study(
    name="horizon_map",
    question="When does a growing horizon help, at equal environment turns and equal tokens?",
    arms=ARMS,
    measure=measure,
    draw=draw_grid,
)
