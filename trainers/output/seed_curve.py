"""The learning curve over several seeds: ``curve.png``, and the same as SVG for the report."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trainers.output.curve import (
    QUANTITIES,
    REFERENCES,
    TRAINING,
    VALIDATION,
    Key,
    Records,
    family_names,
    family_records,
    held_out_mean,
    inline_svg,
    legend_key,
    svg_axes,
)
from trainers.output.phase import Phase
from trainers.output.roles import TRAINED
from trainers.output.seed_summary import UNTRAINED, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_seeds", "seed_panels"]

BAND = " (band: 95 %)"
"""Legend of the band."""


def draw_seeds(
    seeds: Sequence[Records], names: Mapping[str, str], chosen_steps: Sequence[int], title: str
) -> bytes:
    """Draw score and success on validation tasks over the steps, a thin line a seed: a PNG.

    The thick line is the mean over the seeds at steps where all were validated, the band its 95 %
    interval (Student t) if `spread` gives one. With several environments each has its own row.

    Args:
        seeds: Records of the run of each seed.
        names: Names of the compared policies.
        chosen_steps: Step of the trained policy of each seed.
        title: Name of the environments.
    """
    from matplotlib.figure import Figure

    families = family_names(seeds[0]) or [""]
    rows = [
        (name, [family_records(records, name) if name else records for records in seeds])
        for name in families
    ]
    figure = Figure(figsize=(10, 0.6 + 3.8 * len(rows)), dpi=120, layout="constrained")
    grid = figure.subplots(len(rows), len(QUANTITIES), sharey=True, squeeze=False)
    for panels, (name, family_seeds) in zip(grid, rows, strict=True):
        for axes, quantity in zip(panels, QUANTITIES, strict=True):
            _draw_panel(axes, family_seeds, quantity, names, chosen_steps)
            axes.set_title(f"{name}: {quantity}" if name else quantity)
        panels[0].set_ylabel("mean over episodes")
    figure.suptitle(title)
    labelled = grid[0][0].get_legend_handles_labels()
    figure.legend(*labelled, loc="outside lower center", ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def seed_panels(
    seeds: Sequence[Records], names: Mapping[str, str], chosen_steps: Sequence[int]
) -> tuple[dict[str, str], list[Key]]:
    """Draw the same as SVGs for a page; return them by quantity, and their legend."""
    pictures, keys = {}, []
    for quantity in QUANTITIES:
        with svg_axes((4.8, 3.2)) as (axes, svg):
            _draw_panel(axes, seeds, quantity, names, chosen_steps)
            lines, labels = axes.get_legend_handles_labels()
            keys = [legend_key(line, label) for line, label in zip(lines, labels, strict=True)]
        pictures[quantity] = inline_svg(svg.getvalue())
    return pictures, keys


def _draw_panel(
    axes: Axes,
    seeds: Sequence[Records],
    quantity: str,
    names: Mapping[str, str],
    chosen_steps: Sequence[int],
) -> None:
    """Draw one quantity: validations, their mean, references and trained policies."""
    from matplotlib.ticker import MaxNLocator

    _draw_references(axes, seeds, quantity, names)
    curves = [_validations(records, quantity) for records in seeds]
    for curve in curves:
        axes.plot(list(curve), list(curve.values()), color=VALIDATION, alpha=0.35, linewidth=1)
    common = [step for step in curves[0] if all(step in curve for curve in curves)]
    if common:
        points = [spread([curve[step] for curve in curves], (0.0, 1.0)) for step in common]
        label = "validation tasks, mean over seeds" + BAND * any(p["ci95"] for p in points)
        means = [point["mean"] for point in points]
        axes.plot(common, means, "o-", color=VALIDATION, markersize=4, label=label)
        ends = [point["ci95"] or (point["mean"], point["mean"]) for point in points]
        low, high = zip(*ends, strict=True)
        axes.fill_between(common, low, high, color=VALIDATION, alpha=0.15, linewidth=0)
    tested = [held_out_mean(records, TRAINED, quantity) for records in seeds]
    means = [math.nan if mean is None else mean for mean in tested]
    axes.plot(
        chosen_steps, means, "D", color=TRAINING, markersize=5, label="trained, test, each seed"
    )
    axes.set(xlabel="RL step", ylim=(-0.03, 1.03))
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(alpha=0.25)


def _draw_references(
    axes: Axes, seeds: Sequence[Records], quantity: str, names: Mapping[str, str]
) -> None:
    """Draw the test results of the other policies, as a mean over the seeds."""
    for arm, (colour, style) in REFERENCES.items():
        means = [held_out_mean(records, arm, quantity) for records in seeds]
        measured = [mean for mean in means if mean is not None]
        if measured:
            of = "" if arm in UNTRAINED else ", mean over seeds"
            label = f"{names[arm]}, test{of}"
            mean = sum(measured) / len(measured)
            axes.axhline(mean, color=colour, linestyle=style, linewidth=1.4, label=label)


def _validations(records: Records, quantity: str) -> dict[int, Any]:
    """Return the validation results of a seed by step."""
    validations = [record for record in records if record.get("phase") == Phase.VALIDATION]
    return {record["step"]: record[quantity] for record in validations}
