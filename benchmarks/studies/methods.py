"""Methods: one run of every preset beside the default, at equal environment turns.

The task is the toy of the tests: press coloured buttons in the order that the goal names. For each
seed one warm start is trained, and every preset that needs nothing else continues from it with the
same learning rate, groups and turns. The study shows whether a method has an effect, and its result
under these settings; it does not test a paper's claims about other tasks.

Three methods play differently, or need more than a policy. ``matpo`` plays with workers, so
``turn-loo/workers`` does beside it. ``lightning`` is played by an agent that owns its loop.
``erpo`` asks a judge: ``python benchmarks/scripted_judge.py`` first, then ``--only erpo``.

Smallest run: ``--seeds 1 --only turn-loo gigpo --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scripted_judge import URL
from benchmarks.studies.runner.measures import Curve, held_out, minus, validation_curve
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.presets import PRESETS
from trainers.output.seed_summary import spread

DEFAULT = "turn-loo"
WORKERS = f"{DEFAULT}/workers"
"""``turn-loo`` with workers, from the warm start of ``matpo``."""
BESIDE = {"matpo": WORKERS}
"""The control of a method, if it is not ``turn-loo``."""
AGENT = "tests.trainers.toy_agents:words"
"""A plain agent loop that calls the policy over HTTP."""
TURNS = 5_000
"""Environment turns of an arm."""
FLAGS = (
    "--env tests.toy:agentgym-test/Toy-v0 --no-fit-horizon --horizon 8 "
    "--sft.demonstrations 400 --sft.copy-steps 20 --sft.batch-size 16 --sft.learning-rate 0.005 "
    "--sft.max-steps 90 --sft.eval-every 90 --sft.eval-tasks 40 --rl.groups 8 "
    "--rl.num-generations 8 "
    "--rl.learning-rate 0.003 --rl.warmup-steps 0 --rl.turn-tokens 4 --rl.episode-tokens 240 "
    f"--steps 100000 --rl.turn-budget {TURNS} --rl.save-every 1000 --minutes 0 "
    "--eval.every 2 --eval.valid-tasks 40 --eval.num-tasks 200 --eval.keep last "
    "--eval.baselines none --tiny.hidden 32 --tiny.layers 2 --tiny.heads 2 "
    "--tiny.intermediate 64 --tiny.context 384"
)


def arm(preset: str, workers: int = 0) -> Arm:
    """Return the arm of a preset, perhaps with workers of so many turns that are not its own."""
    flags = [*FLAGS.split(), "--preset", preset]
    if workers:
        flags += ["--env-kwargs", f"worker_turns={workers}"]
    if preset == "lightning":
        flags += ["--agent", AGENT]
    if JUDGE in PRESETS[preset].needs:
        flags += ["--reward-hooks", f"judge_mask:model=script,url={URL}"]
    if branching := PRESETS[preset].branching:
        # At most half of such a group starts from the task, fewer if the preset says so.
        flags += ["--forks.roots", str(min(4, branching.roots or 4))]
    if workers or PRESETS[preset].worker_turns:
        # Delegations are free text, and delegating and reporting take turns, too.
        flags += ["--horizon", "11", "--rl.turn-tokens", "24", "--rl.episode-tokens", "400"]
    needs = "judge" if JUDGE in PRESETS[preset].needs else ""
    return Arm(WORKERS if workers else preset, tuple(flags), {"preset": preset}, needs)


def area(curve: Curve) -> float:
    """Return the mean success on validation tasks over the turns of a run, by trapezia."""
    turns, success = np.array(curve["turns"]), np.array(curve["success"])
    parts = np.diff(turns) * (success[1:] + success[:-1]) / 2
    return float(parts.sum() / (turns[-1] - turns[0]))


def measure(runs: Runs) -> dict[str, Any]:
    """Return each method's final and mean success, with differences to ``turn-loo``."""
    curves = {name: {run.seed: validation_curve(run) for run in of} for name, of in runs.items()}
    return {
        "turns": TURNS,
        "methods": {
            name: {
                "seeds": [run.seed for run in arm_runs],
                "warm_start": held_out(arm_runs, "warm-start"),
                "success": held_out(arm_runs, "trained"),
                "minus_turn_loo": minus(arm_runs, runs.get(BESIDE.get(name, DEFAULT), ())),
                "mean_over_run": spread([area(curve) for curve in curves[name].values()]),
                "mean_over_run_minus_turn_loo": _area_minus_default(curves, name),
                "updates": [len(run.steps) for run in arm_runs],
                "cpu_seconds": [run.summary["cpu_s"] for run in arm_runs],
            }
            for name, arm_runs in runs.items()
            if arm_runs
        },
    }


def _area_minus_default(
    curves: Mapping[str, Mapping[int, Curve]], name: str
) -> dict[str, Any] | None:
    """Compare the means over the run, seed by seed."""
    default_curves = curves.get(BESIDE.get(name, DEFAULT), {})
    differences = [
        area(curve) - area(default_curves[seed])
        for seed, curve in curves[name].items()
        if seed in default_curves
    ]
    return spread(differences) if differences else None


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success at the end of each method, with its interval over seeds."""
    from matplotlib.figure import Figure

    rows = sorted(result["methods"].items(), key=lambda item: item[1]["success"]["mean"])
    figure = Figure(figsize=(6.4, 0.26 * len(rows) + 1.2), dpi=130, layout="constrained")
    panel = figure.subplots()
    for y, (name, row) in enumerate(rows):
        low, high = row["success"]["ci95"] or [row["success"]["mean"]] * 2
        panel.plot([low, high], [y, y], color="C0" if name != DEFAULT else "C1", alpha=0.5)
        panel.plot(row["success"]["mean"], y, "o", color="C0" if name != DEFAULT else "C1")
    panel.set_yticks(range(len(rows)), [name for name, _ in rows])
    panel.set(xlabel="success on test tasks, 95 % interval over seeds", xlim=(0, 1.02))
    panel.grid(alpha=0.25)
    figure.savefig(path)


STUDY = Study(
    name="methods",
    question="Does every method act, and how does it do on a toy at equal environment turns?",
    arms=[*map(arm, PRESETS), arm(DEFAULT, PRESETS["matpo"].worker_turns)],
    measure=measure,
    draw=draw,
)
