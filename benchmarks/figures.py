"""Draw the pictures of results from their JSON.

    python benchmarks/figures.py [FILE.json ...]

Without files, those of ``benchmarks/results`` that have a picture are drawn again, each beside its
file. A study (``python -m benchmarks.studies``) draws its own as it ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

RESULTS = Path(__file__).with_name("results")
BASELINES = ("bc", "filtered-bc")
COLOURS = {"scaling": "tab:blue", "short": "tab:orange", "long": "tab:green"}


def draw_training_gain(result: Mapping[str, Any], path: Path) -> None:
    """Draw the success before and after learning from reward, one line per seed.

    A dashed line leads to the best baseline. Policies that learn nothing are drawn from
    ``baselines.json``, if they played the same tasks as the runs.
    """
    from matplotlib.figure import Figure

    families = result["families"]
    figure = Figure(figsize=(max(3.4 * len(families), 5.5), 3.6), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(families), sharey=True, squeeze=False)[0]
    for axes, (env, rows) in zip(panels, families.items(), strict=True):
        for row in rows:
            arms = row["success"]
            label = f"seed {row['seed']}"
            (line,) = axes.plot(
                [0, 1], [arms["warm-start"], arms["trained"]], marker="o", label=label
            )
            if baselines := [arms[baseline] for baseline in BASELINES if baseline in arms]:
                further, marks = [arms["warm-start"], max(baselines)], {"ls": "--", "mfc": "white"}
                axes.plot([0, 1], further, marker="o", color=line.get_color(), **marks)
        for arm, style in (("random", ":"), ("demonstrator", "-."), ("oracle", "--")):
            if arm in rows[0]["success"]:
                level = _untrained(env, arm, rows[0])
                axes.axhline(level, color="grey", linestyle=style, linewidth=1, label=arm)
        axes.set(
            title=env, xticks=[0, 1], xticklabels=["warm-start", "trained\n(-- best baseline)"],
            xlim=(-0.4, 1.4), ylim=(-0.03, 1.03),
        )  # fmt: skip
        axes.grid(axis="y", alpha=0.25)
    panels[0].set_ylabel("success on held-out tasks")
    labelled = panels[0].get_legend_handles_labels()
    figure.legend(*labelled, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.savefig(path)


def _untrained(env: str, arm: str, row: Mapping[str, Any]) -> float:
    """Return the success of a policy that learns nothing, which is the same for every seed."""
    families = json.loads((RESULTS / "baselines.json").read_text())["families"]
    baseline = families.get(env, {}).get(arm, {})
    is_same = baseline.get("panel_sha256") == row["evaluation"]["panel_sha256"]
    return float(baseline["success"] if is_same else row["success"][arm])


def draw_learning_curve(result: Mapping[str, Any], path: Path) -> None:
    """Draw the validation curves: one thin line per seed, one thick line for the mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), dpi=120, layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("score", "success"), strict=True):
        for arm, values in result["arms"].items():
            grid = np.linspace(0, result["turns"], 41)
            lines = [np.interp(grid, c["turns"], c[name]) for c in values["curves"]]
            label = f"{arm} ({result['rounds'][arm]} turns)"
            axes.plot(grid, np.mean(lines, axis=0), color=COLOURS[arm], linewidth=2, label=label)
            for line in lines:
                axes.plot(grid, line, color=COLOURS[arm], linewidth=0.8, alpha=0.35)
        axes.set(xlabel="environment turns", ylabel=f"validation {name}")
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.25)
    labelled = axes.get_legend_handles_labels()
    figure.legend(*labelled, loc="outside lower center", ncols=len(result["arms"]), frameon=False)
    figure.savefig(path)


def draw(path: Path) -> Path:
    """Draw the picture of a result file beside it."""
    result, picture = json.loads(path.read_text()), path.with_suffix(".png")
    if "study" in result:
        from benchmarks.studies.runner.study import load_study

        load_study(result["study"]).draw(result, picture)
    else:  # Results from before the studies existed.
        (draw_training_gain if "families" in result else draw_learning_curve)(result, picture)
    return picture


def main() -> None:
    """Draw the requested pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    stored = [path for path in sorted(RESULTS.glob("*.json")) if path.with_suffix(".png").exists()]
    parser.add_argument("files", type=Path, nargs="*", default=stored)
    for path in parser.parse_args().files:
        print(draw(path))


if __name__ == "__main__":
    main()
