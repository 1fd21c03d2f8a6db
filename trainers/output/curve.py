"""The picture of a run: ``curve.png``."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.output.jsonl import write_atomically
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder

Records = Sequence[Mapping[str, Any]]

QUANTITIES = ("score", "success")
REFERENCES = (
    ("random", "random, test", "tab:grey", ":"),
    ("sft", "before RL, test", "tab:orange", "--"),
    ("oracle", "expert, test", "tab:green", "-."),
)
"""Arm, what it is called, colour and style of each line of reference."""


def draw_curve(metrics: Records) -> bytes:
    """Draw score and success over the steps of the RL phase, with the stage switches.

    Training episodes are played at the horizon of their stage, validation and test at the full one.

    Args:
        metrics: Records of ``metrics.jsonl``.

    Returns:
        A PNG.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    steps = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    figure = Figure(figsize=(10, 4.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(QUANTITIES), sharey=True)
    for axes, quantity in zip(panels, QUANTITIES, strict=True):
        _draw_references(axes, metrics, quantity)
        _draw_training(axes, steps, quantity)
        _draw_validation(axes, metrics, quantity)
        _draw_stages(axes, steps)
        axes.set(title=quantity, xlabel="RL step", ylim=(-0.03, 1.03))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("mean over episodes")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def write_curve(folder: RunFolder) -> None:
    """Write ``curve.png`` from the records so far."""
    write_atomically(folder.path / "curve.png", draw_curve(folder.metrics()))


def _smooth(values: Sequence[float], window: int = 9) -> list[float]:
    """Return the trailing mean over ``window`` values."""
    parts = [values[max(0, i + 1 - window) : i + 1] for i in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def _draw_training(axes: Any, steps: Records, quantity: str) -> None:
    """Draw what the training episodes of each step reached, and its trailing mean."""
    if not steps:
        return
    numbers, values = [r["step"] for r in steps], [r[quantity] for r in steps]
    axes.plot(numbers, values, color="tab:blue", alpha=0.25, linewidth=1)
    label = "training episodes (mean of 9 steps)"
    axes.plot(numbers, _smooth(values), color="tab:blue", label=label)


def _draw_validation(axes: Any, metrics: Records, quantity: str) -> None:
    """Mark the validations at the full horizon."""
    found = [record for record in metrics if record.get("phase") == Phase.VALIDATION]
    if found:
        numbers, values = [r["step"] for r in found], [r[quantity] for r in found]
        axes.plot(numbers, values, "o", color="tab:red", markersize=5, label="validation tasks")


def _draw_references(axes: Any, metrics: Records, quantity: str) -> None:
    """Draw what policies that do not learn reach on the test tasks."""
    rows = {r["arm"]: r["rows"] for r in metrics if r.get("phase") == Phase.COMPARISON}
    for arm, label, colour, style in REFERENCES:
        values = [
            float(row[quantity]) for row in rows.get(arm, ()) if row["stop_reason"] != "error"
        ]
        if values:
            mean = sum(values) / len(values)
            axes.axhline(mean, color=colour, linestyle=style, linewidth=1.2, label=label)


def _draw_stages(axes: Any, steps: Records) -> None:
    """Mark the steps at which the horizon changes."""
    previous = None
    for record in steps:
        if record["horizon"] != previous:
            axes.axvline(record["step"], color="lightgrey", linewidth=0.8, zorder=0)
            # Upright, because the first stages may be no wider than their names are high.
            axes.text(
                record["step"], 0.98, f"{record['horizon']} turns", fontsize=8, va="top",
                rotation="vertical", color="dimgrey",
            )  # fmt: skip
            previous = record["horizon"]
