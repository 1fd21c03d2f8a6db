"""The picture of a study's map: a grid of cells that compare schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

COLOURS = ("tab:orange", "tab:green", "tab:blue", "tab:cyan", "tab:purple", "tab:brown", "tab:pink")
"""Colours of the schedules, in order."""
POINTS = 24
"""Points of a line in the strip."""


def draw_grid(result: Mapping[str, Any], path: Path) -> None:
    """Draw final success by schedule for every cell, and the share of cut episodes below.

    Args:
        result: ``rows`` (warm starts), ``columns`` (tasks), ``schedules`` and ``cells`` by
            ``ROW/COLUMN``, of which those that have not been played are left empty.
        path: File of the picture.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    starts, tasks, schedules = result["rows"], result["columns"], result["schedules"]
    rows = [
        start for start in starts if any(f"{start}/{name}" in result["cells"] for name in tasks)
    ]
    columns = [name for name in tasks if any(f"{s}/{name}" in result["cells"] for s in starts)]
    figure = Figure(
        figsize=(max(3.3 * len(columns) + 0.6, 6.4), 2.1 * len(rows) + 2.6),
        dpi=130,
        layout="constrained",
    )
    grid = figure.subplots(
        len(rows) + 1, len(columns), squeeze=False, height_ratios=[*[1.0] * len(rows), 0.85]
    )
    for axes, start in zip(grid[:-1], rows, strict=True):
        for panel, name in zip(axes, columns, strict=True):
            _draw_cell(panel, result["cells"].get(f"{start}/{name}"), schedules)
        axes[0].set_ylabel(f"warm start: {start}\nsuccess on test tasks")
    for panel, name in zip(grid[0], columns, strict=True):
        panel.set_title(f"{name} tasks")
    middle = rows[len(rows) // 2]
    for panel, name in zip(grid[-1], columns, strict=True):
        present = [start for start in (middle, *rows) if f"{start}/{name}" in result["cells"]]
        _draw_strip(panel, result["cells"][f"{present[0]}/{name}"], schedules)
        if present[0] != middle:
            panel.set_title(f"warm start: {present[0]}", fontsize="medium")
    grid[-1][0].set_ylabel(f"warm start: {middle}\nepisodes cut by\nthe horizon")
    handles = [
        Line2D([], [], color=colour, marker="o", linewidth=2, label=schedule)
        for schedule, colour in zip(schedules, COLOURS, strict=False)
    ]
    better = Line2D([], [], color="black", marker="*", linestyle="", label="above long at 95 %")
    handles.append(better)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(path)


def _draw_cell(axes: Any, cell: Mapping[str, Any] | None, schedules: Sequence[str]) -> None:
    """Draw a dot for every seed, and the mean with its deviation.

    A star stands over what is better than the constant long horizon at 95 %.
    """
    axes.set(ylim=(-0.04, 1.12), xlim=(-0.6, len(schedules) - 0.4), xticks=[])
    axes.grid(axis="y", alpha=0.25)
    axes.label_outer()
    if cell is None:
        axes.text(0.5, 0.5, "not played", transform=axes.transAxes, ha="center", color="grey")
        return
    by_schedule = cell["schedules"]
    for place, (schedule, colour) in enumerate(zip(schedules, COLOURS, strict=False)):
        if schedule not in by_schedule:
            continue
        success = by_schedule[schedule]["success"]
        axes.errorbar(
            place, success["mean"], yerr=success["std"], color=colour, marker="o", markersize=7,
            capsize=3, linewidth=1.5,
        )  # fmt: skip
        values = success["values"]
        axes.scatter([place + 0.22] * len(values), values, color=colour, s=10, alpha=0.6)
        interval = (by_schedule[schedule].get("minus_long") or {}).get("ci95")
        if interval and interval[0] > 0:
            top = max([success["mean"] + (success["std"] or 0.0), *values])
            axes.scatter(place, min(top + 0.08, 1.07), marker="*", color="black", s=50)
    warm_start_mean = np.mean(
        [by_schedule[schedule]["warm_start"]["mean"] for schedule in by_schedule]
    )
    axes.axhline(warm_start_mean, color="grey", linestyle="--", linewidth=1)


def _draw_strip(axes: Any, cell: Mapping[str, Any], schedules: Sequence[str]) -> None:
    """Draw the share of training episodes that the horizon ended, over environment turns."""
    axes.set(ylim=(-0.04, 1.04), xlabel="environment turns")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=4)
    axes.grid(alpha=0.25)
    for schedule, colour in zip(schedules, COLOURS, strict=False):
        curves = cell["schedules"].get(schedule, {}).get("training", [])
        if not curves:
            continue
        ends = [curve["turns"][-1] for curve in curves]
        places = np.linspace(0, min(ends), POINTS)
        lines = [np.interp(places, c["turns"], c["ended_by_horizon"]) for c in curves]
        axes.plot(places, np.mean(lines, axis=0), color=colour, linewidth=1.8)
