"""From scratch: does reward alone teach a policy that has only seen random actions?

Papers train base models that can already act; here no solution is ever shown. The tiny policy
imitates random actions, which teaches the action format, and then plays easy, short tasks. The bar:
in every run it solves more than ``BAR`` of the held-out tasks, and more than the best blind policy,
which does not read.

Smallest run: ``--seeds 1 --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.certification.solving import best_floor, blind_floors
from agentgym.certification.subject import Subject
from agentgym.core.env import TextEnv
from benchmarks.studies.runner.study import Arm, Runs, Study
from trainers.cli import parse_config
from trainers.config.resolve import resolve
from trainers.output.seed_summary import spread
from trainers.phases.multirun.played import PlayedRun

BAR = 0.8
"""Share of the held-out tasks."""
RANDOM = (
    "--sft.demonstrator random --sft.demonstrations 300 --sft.batch-size 8 --sft.max-steps 100 "
    "--sft.eval-every 100"
)
"""The warm start: just enough random actions to teach the action format."""
SIZES = (
    "--rl.groups 12 --eval.every 5 --eval.valid-tasks 50 --eval.num-tasks 100 --eval.baselines none"
)
"""Sizes that all families share."""
FREE = "--rl.learning-rate .0012 --rl.minibatches 4 --rl.invalid-penalty 0 --tiny.layers 2"
"""Settings of mazes, households and searches. With a penalty for invalid actions, a policy without
any reward yet learns to ask for its inventory, which is always valid. ``MORE_RANDOM`` sets other
numbers of updates."""
FAMILIES: Mapping[str, str] = {
    "textworld": "--env textworld --env-kwargs difficulty=coin_collector,level=202 brief=true "
    'reward=dense games={"train":300,"valid":50,"test":100} --horizon 3 --steps 80 ' + FREE,
    "alfworld": "--env alfworld --env-kwargs reward=dense expert=oracle show_admissible=true "
    'difficulty={"task_types":["place"],"rooms":["Bathroom"],"receptacles":3,"distractors":0,'
    '"hidden":false} --horizon 10 --no-fit-horizon --steps 300 --reward-hooks repeat=0.05 ' + FREE,
    "webshop": "--env benchmarks.small_shop:benchmarks/SmallShop-v0 --horizon 3 --steps 60 "
    "--rl.learning-rate .0012 --tiny.layers 2",
    "search": "--env search --env-kwargs difficulty=easy hops=1 topk=1 size=20000 --horizon 3 "
    "--steps 700 " + FREE,
}
"""Family -> its tasks and steps. TextWorld: of three ways go the one that the objective tells, and
take the coin. ALFWorld: find a thing in one of three places, take it, and put it into another one.
What can be done is listed in each turn, as in verl-agent's prompt.
WebShop: search for what is asked, open the product and buy it. Search: search for the question,
then for a name that is shown, and answer with the title that comes up."""
MORE = "--sft.demonstrations 1600 --sft.max-steps 200 --sft.eval-every 200"
MORE_RANDOM: Mapping[str, str] = {
    "textworld": MORE,
    "alfworld": "--sft.demonstrations 6400 --sft.max-steps 800 --sft.eval-every 800 "
    "--sft.copy-steps 400 --rl.learning-rate .001 --rl.minibatches 1",
    "webshop": MORE,
    "search": "--sft.demonstrations 8000 --sft.max-steps 1200 --sft.eval-every 1200 "
    "--sft.batch-size 16 --sft.copy-steps 600 --rl.groups 16 --rl.minibatches 1 "
    "--eval.every 10",
}
"""Family -> what takes the place of these sizes, as 300 teach too little of copying words. Search
needs most of it: one wrong word of a name finds another passage. Searches and households make
one update a step: with four, one seed of three came to search for the first of two names, whatever
was asked, and stayed so."""
ARMS = [
    Arm(name, tuple(f"{tasks} {SIZES} {RANDOM} {MORE_RANDOM.get(name, '')}".split()))
    for name, tasks in FAMILIES.items()
]


def curve_of(run: PlayedRun) -> dict[str, Any]:
    """Return success over the steps: of the training episodes, and on validation tasks."""
    return {
        "seed": run.seed,
        "steps": [step["step"] for step in run.steps],
        "training": [step["success"] for step in run.steps],
        "validated": [validation["step"] for validation in run.validations],
        "validation": [validation["success"] for validation in run.validations],
    }


def measure(runs: Runs) -> dict[str, Any]:
    """Return the curves of each family, and its success before and after on held-out tasks."""
    families = {name: _family(name, family_runs) for name, family_runs in runs.items()}
    above_bar = [
        min(family["success"]["trained"]["values"]) > max(BAR, family["blind"]["success"])
        for family in families.values()
    ]
    return {"bar": BAR, "families": families, "met": bool(above_bar) and all(above_bar)}


def blind_floor(settings: Sequence[str], n: int) -> dict[str, Any]:
    """Return the blind policy that solves the most test tasks under some settings.

    Args:
        settings: Flags of ``agentgym-train``.
        n: Number of test tasks, the same as the trained policy's.
    """
    (resolved,) = resolve(parse_config(settings)).envs
    env = resolved.make_env(horizon=resolved.full_horizon)
    assert isinstance(env.unwrapped, TextEnv)
    floor = best_floor(blind_floors(Subject(resolved.env_id, {}, env.unwrapped, {"test": n})))
    env.close()
    return {"policy": floor.policy, "success": floor.share.value, "n": len(floor.rows)}


def _family(name: str, runs: Sequence[PlayedRun]) -> dict[str, Any]:
    arms = ("random", "warm-start", "trained")
    (settings,) = (arm.settings for arm in ARMS if arm.name == name)
    return {
        "blind": blind_floor(settings, runs[0].summary["eval"]["trained"]["n"]),
        "success": {
            arm: spread([run.summary["eval"][arm]["success"] for run in runs]) for arm in arms
        },
        "greedy": spread([run.summary["greedy"]["trained"]["success"] for run in runs]),
        "panel_sha256": runs[0].summary["evaluation"]["panel_sha256"],
        "curves": [curve_of(run) for run in runs],
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw success over the steps, a panel for each family and a line for each seed."""
    from matplotlib.figure import Figure

    families = result["families"]
    figure = Figure(figsize=(5.0 * max(1, len(families)), 3.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, max(1, len(families)), squeeze=False)[0]
    for (family, figures), axes in zip(families.items(), panels, strict=False):
        for number, curve in enumerate(figures["curves"]):
            style = {"color": f"C{number}"}
            label = f"seed {curve['seed']}, validation"
            axes.plot(curve["steps"], curve["training"], linewidth=0.8, alpha=0.5, **style)
            axes.plot(curve["validated"], curve["validation"], marker="o", label=label, **style)
        floor = figures["success"]["random"]["mean"]
        axes.axhline(floor, color="grey", linestyle=":", label="random actions")
        axes.axhline(figures["blind"]["success"], color="grey", linestyle="--", label="best blind")
        axes.set(title=family, xlabel="steps", ylabel="success", ylim=(-0.03, 1.03))
        axes.grid(axis="y", alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path)


STUDY = Study(
    name="from_scratch",
    question="Does reward alone teach a policy that has only seen random actions?",
    arms=ARMS,
    measure=measure,
    draw=draw,
)
