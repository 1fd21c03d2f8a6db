"""A picture of validation success, with the mean and every seed of each arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def draw_success(
    arms: Mapping[str, Mapping[str, Any]],
    path: Path,
    measured: str,
    label: str,
    dashed: Collection[str] = (),
) -> None:
    """Draw the mean of each arm up to the end of its shortest curve, and a thin line per seed.

    Args:
        arms: Name of an arm -> its figures, with ``curves`` of each seed.
        path: The image to write.
        measured: Key of a curve that stands on the horizontal axis.
        label: What it is called there.
        dashed: Names of arms with dashed lines.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    for number, (name, arm) in enumerate(arms.items()):
        curves, colour = arm["curves"], f"C{number}"
        grid = np.linspace(0, min(curve[measured][-1] for curve in curves), 41)
        lines = [np.interp(grid, curve[measured], curve["success"]) for curve in curves]
        style = "--" if name in dashed else "-"
        axes.plot(grid, np.mean(lines, axis=0), style, color=colour, linewidth=2, label=name)
        for line in lines:
            axes.plot(grid, line, style, color=colour, linewidth=0.8, alpha=0.35)
    axes.set(xlabel=label, ylabel="validation success", ylim=(0, 1))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path)
