"""Recipes: which preset, at which rate, is the best default?

Every preset that needs nothing else continues from one warm start for a family's turns, with the
same groups. A separate pilot seed is run at three learning rates; each preset uses the one that
solved the most validation tasks at its end. It is then compared with ``turn-loo`` on held-out test
tasks, seed by seed.

``matpo`` plays with workers, ``erpo`` asks a judge and ``lightning`` is an agent that owns its loop
(study ``methods``): on these tasks they cannot run. ``--only kind=size`` plays other sizes of
``turn-loo``, which are rated and compared as presets are.

Smallest run: ``--seeds 1 --only family=toy recipe=turn-loo recipe=starpo --results mine``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.runner.measures import count_differences, held_out, minus
from benchmarks.studies.runner.study import Arm, Pilot, Runs, Study
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import DEFAULT, PRESETS, served
from trainers.phases.multirun.played import PlayedRun

PILOT = 100
"""Seed for choosing rates."""
SMALL = "--tiny.hidden 32 --tiny.layers 2 --tiny.heads 2 --tiny.intermediate 64"
"""Sizes of a policy that trains in a second of processor time."""
FAMILIES: Mapping[str, str] = {
    "toy": "--env tests.toy:agentgym-test/Toy-v0 --horizon 8 --no-fit-horizon "
    "--sft.demonstrations 400 --sft.copy-steps 20 --sft.batch-size 16 --sft.learning-rate 0.005 "
    "--sft.max-steps 150 --sft.eval-every 5 --sft.target-success 0.4 --sft.eval-tasks 40 "
    f"--rl.groups 8 --rl.turn-tokens 4 --rl.episode-tokens 240 --rl.turn-budget 2600 {SMALL} "
    "--tiny.context 384",
    "coins": "--env textworld --env-kwargs difficulty=coin_collector,level=3 brief=true "
    'games={"train":200,"valid":100,"test":100} --horizon 3 --no-fit-horizon '
    "--sft.demonstrations 200 --sft.copy-steps 20 --sft.batch-size 16 --sft.learning-rate 0.005 "
    "--sft.max-steps 300 --sft.eval-every 5 --sft.target-success 0.35 --sft.eval-tasks 40 "
    f"--rl.groups 8 --rl.turn-tokens 4 --rl.episode-tokens 300 --rl.turn-budget 1500 {SMALL} "
    "--tiny.context 512",
}
"""Families, with sizes that suit their tasks: a warm start that ends halfway, and few turns."""
RATES = ("0.0003", "0.001", "0.003")
"""A third of the rate in the middle, that rate, and three times it."""
COMMON = (
    "--rl.num-generations 8 --rl.warmup-steps 2 --steps 100000 --eval.every 100000 "
    "--eval.valid-tasks 100 "
    "--eval.num-tasks 100 --eval.keep last --eval.baselines none --rl.save-every 100000 --minutes 0"
)
SIZES: Mapping[str, str] = {
    "groups of 4": "--rl.num-generations 4 --rl.groups 16",
    "groups of 16": "--rl.num-generations 16 --rl.groups 4",
    "4 updates": "--rl.minibatches 4",
}
"""Other sizes of the default preset, with equal episodes per step, by name."""


def alone(preset: Preset) -> bool:
    """Return whether a preset runs without workers, a judge and an agent."""
    return not (preset.missing(served(preset)) or preset.left_out or preset.worker_turns) and (
        preset.name != "lightning"
    )


RECIPES: Mapping[str, str] = {
    **{name: f"--preset {name}" for name, preset in PRESETS.items() if alone(preset)},
    **{f"{DEFAULT}, {size}": f"--preset {DEFAULT} {flags}" for size, flags in SIZES.items()},
}
"""Recipes and their flags."""


def arm(family: str, recipe: str, rate: str) -> Arm:
    """Return the arm of a recipe in a family at a rate."""
    preset = PRESETS[recipe.partition(",")[0]]
    flags = f"{FAMILIES[family]} {COMMON} {RECIPES[recipe]} --rl.learning-rate {rate}"
    if branching := preset.branching:
        # At most half of such a group starts from the task, fewer if the preset says so.
        flags += f" --forks.roots {min(4, branching.roots or 4)}"
    kind = "size" if "," in recipe else "preset"
    labels = {"family": family, "recipe": recipe, "rate": rate, "kind": kind}
    needs = "kind=size" if kind == "size" else ""
    return Arm(f"{family}/{recipe}/{rate}", tuple(flags.split()), labels, needs)


def chosen_rates(runs: Runs) -> dict[str, dict[str, str]]:
    """Return the chosen rate of each recipe and family whose pilot runs are all finished.

    It is the rate with the most validation tasks solved at the end of the pilot; ties go to the
    lowest.
    """
    rates: dict[str, dict[str, str]] = {}
    for family in FAMILIES:
        for recipe in RECIPES:
            pilots = {rate: _pilot(runs.get(f"{family}/{recipe}/{rate}", ())) for rate in RATES}
            successes = {rate: value for rate, value in pilots.items() if value is not None}
            if len(successes) == len(RATES):
                rates.setdefault(family, {})[recipe] = max(successes, key=successes.__getitem__)
    return rates


def _pilot(runs: Sequence[PlayedRun]) -> float | None:
    """Return the success on validation tasks at the end of the pilot; None if it has not ended."""
    ends = [float(run.validations[-1]["success"]) for run in runs if run.seed == PILOT]
    return ends[0] if ends else None


def going_on(runs: Runs) -> list[str]:
    """Name the arms at the rates that the pilot has chosen."""
    return [
        f"{family}/{recipe}/{rate}"
        for family, rates in chosen_rates(runs).items()
        for recipe, rate in rates.items()
    ]


def measure(runs: Runs) -> dict[str, Any]:
    """Return each recipe's results by family, and the recipes above and below ``turn-loo``."""
    families = {
        family: {
            "turns": _turns(family),
            "recipes": {
                recipe: row
                for recipe, rate in rates.items()
                if (row := _row(runs, family, recipe, rate, rates.get(DEFAULT, "")))
            },
        }
        for family, rates in chosen_rates(runs).items()
    }
    signs = {family: _signs(figures["recipes"]) for family, figures in families.items()}
    return {
        "rates": [float(rate) for rate in RATES],
        "families": families,
        "above": _in_all({family: family_signs["above"] for family, family_signs in signs.items()}),
        "below": _in_all({family: family_signs["below"] for family, family_signs in signs.items()}),
        "differences": count_differences(
            {
                recipe: row["minus_turn_loo"]
                for recipe, row in figures["recipes"].items()
                if recipe != DEFAULT
            }
            for figures in families.values()
        ),
    }


def _row(
    runs: Runs, family: str, recipe: str, rate: str, default_rate: str
) -> dict[str, Any] | None:
    """Return a recipe's figures and difference to ``turn-loo``, at their rates; None: not run."""
    compared_runs = _compared(runs, f"{family}/{recipe}/{rate}")
    if not compared_runs:
        return None
    all_runs = [r for pilot_rate in RATES for r in runs.get(f"{family}/{recipe}/{pilot_rate}", ())]
    return {
        "rate": float(rate),
        "pilot": [_pilot(runs[f"{family}/{recipe}/{pilot_rate}"]) for pilot_rate in RATES],
        "seeds": [run.seed for run in compared_runs],
        "warm_start": held_out(compared_runs, "warm-start"),
        "success": held_out(compared_runs, "trained"),
        "minus_turn_loo": minus(
            compared_runs, _compared(runs, f"{family}/{DEFAULT}/{default_rate}")
        ),
        "steps": [len(run.steps) for run in compared_runs],
        # The first run of a seed also trains the warm start, and other work adds time.
        "least_cpu_seconds": min(run.summary["cpu_s"] for run in all_runs),
    }


def _compared(runs: Runs, name: str) -> list[PlayedRun]:
    """Return the runs of an arm without that of the pilot."""
    return [run for run in runs.get(name, ()) if run.seed != PILOT]


def _signs(recipes: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the recipes whose difference to ``turn-loo`` is significant."""
    ends = {
        recipe: row["minus_turn_loo"]["ci95"]
        for recipe, row in recipes.items()
        if row["minus_turn_loo"] and row["minus_turn_loo"]["ci95"]
    }
    return {
        "above": [recipe for recipe, (low, _) in ends.items() if low > 0],
        "below": [recipe for recipe, (_, high) in ends.items() if high < 0],
    }


def _in_all(named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return recipes by family, and those that all families name."""
    common = set.intersection(*map(set, named.values())) if named else set()
    return {**named, "all": [recipe for recipe in RECIPES if recipe in common]}


def _turns(family: str) -> int:
    """Return the environment turns of an arm."""
    words = FAMILIES[family].split()
    return int(words[words.index("--rl.turn-budget") + 1])


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw each recipe's difference to ``turn-loo`` with its interval, a panel for each family."""
    from matplotlib.figure import Figure

    families = result["families"]
    names = list(
        dict.fromkeys(name for figures in families.values() for name in figures["recipes"])
    )
    size = (3.4 * max(1, len(families)) + 1.6, 0.24 * len(names) + 1.2)
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    panels = figure.subplots(1, max(1, len(families)), squeeze=False, sharey=True)[0]
    for panel, (family, figures) in zip(panels, families.items(), strict=False):
        for y, name in enumerate(names):
            row = figures["recipes"].get(name)
            if row and (difference := row["minus_turn_loo"]):
                panel.plot(difference["ci95"] or [difference["mean"]] * 2, [y, y], "C0", alpha=0.5)
                panel.plot(difference["mean"], y, "C0o")
        panel.axvline(0, color="grey", linewidth=0.8)
        panel.set(title=family, xlabel=f"test success minus {DEFAULT}, 95 % over seeds")
        panel.grid(alpha=0.25)
    panels[0].set_yticks(range(len(names)), names)
    figure.savefig(path)


STUDY = Study(
    name="recipes",
    question="Which preset, at which rate, teaches most for equal environment turns?",
    arms=[arm(family, recipe, rate) for family in FAMILIES for recipe in RECIPES for rate in RATES],
    measure=measure,
    draw=draw,
    pictures=False,
    pilot=Pilot(PILOT, going_on),
)
