"""The learning curve of a run: ``curve.png``, and the same as SVG for ``report.html``."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.support.caching import write_atomically
from trainers.output.phase import Phase
from trainers.output.roles import BASE_MODEL, DEMONSTRATOR, ORACLE, RANDOM, TRAINED, WARM_START
from trainers.output.run_folder import RunFolder
from trainers.processes import main_only

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Records = Sequence[Mapping[str, Any]]

QUANTITIES = ("score", "success")
TRAINING, VALIDATION = "#3f83d9", "#cf4b57"
REFERENCES = {
    RANDOM: ("#878d96", ":"),
    BASE_MODEL: ("#7a7f2e", (0, (1, 2))),
    WARM_START: ("#d9881c", "--"),
    "bc": ("#8a5fbf", (0, (5, 1))),
    "filtered-bc": ("#b3478f", (0, (7, 2))),
    "expert-iteration": ("#4d5bb0", (0, (2, 1))),
    DEMONSTRATOR: ("#a4553a", (0, (4, 1, 1, 1, 1, 1))),
    ORACLE: ("#2f9a68", "-."),
}
"""Colour and style of each reference line, by role."""
NAMES = {role: role for role in REFERENCES}
"""Default names of the policies."""
INK, BAND = "#5c636d", "#8fa3bf"
"""Colours of text and of the stages."""
WIDE, NARROW = 0.12, 0.04
"""Shares of the steps: a stage above the first has room for a word, below the second not even for a
number."""
POINT = "point"
"""Style of an entry that is a marker, not a line."""
SMOOTHED = 9
"""Steps over which training episodes are averaged."""


class Key(NamedTuple):
    """One entry of a legend."""

    label: str
    """Its text."""
    colour: str
    """Colour of the line."""
    style: str
    """A CSS line style, or :data:`POINT`."""


def draw_curve(
    metrics: Records,
    names: Mapping[str, str] = NAMES,
    chosen_step: int | None = None,
    title: str = "",
) -> bytes:
    """Draw score and success over the steps of the RL phase, with the stages as bands: a PNG.

    Training episodes are played at the horizon of their stage, validation and test at the full one.
    With several environments each has its own row. The trained policy is marked at ``chosen_step``,
    or at the last step.
    """
    from matplotlib.figure import Figure

    families = family_names(metrics)
    rows = [(name, family_records(metrics, name)) for name in families] or [("", list(metrics))]
    height = 0.6 + 3.8 * len(rows)
    figure = Figure(figsize=(10, height), dpi=120, layout="constrained")
    grid = figure.subplots(len(rows), len(QUANTITIES), sharey=True, squeeze=False)
    for panels, (name, records) in zip(grid, rows, strict=True):
        for axes, quantity in zip(panels, QUANTITIES, strict=True):
            _draw_panel(axes, records, quantity, names, chosen_step)
            # Above the labels of the stages.
            axes.set_title(f"{name}: {quantity}" if name else quantity, pad=18)
        panels[0].set_ylabel("mean over episodes")
    if title:
        figure.suptitle(title)
    handles, labels = grid[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def draw_panels(
    metrics: Records, names: Mapping[str, str] = NAMES, chosen_step: int | None = None
) -> tuple[dict[str, str], list[Key]]:
    """Draw each quantity as an SVG for a page, with the page's font.

    Returns:
        The pictures by quantity, and the legend of all of them.
    """
    pictures, keys = {}, []
    for quantity in QUANTITIES:
        with svg_axes((4.8, 3.2)) as (axes, svg):
            _draw_panel(axes, metrics, quantity, names, chosen_step)
            lines, labels = axes.get_legend_handles_labels()
            keys = [legend_key(line, label) for line, label in zip(lines, labels, strict=True)]
        pictures[quantity] = inline_svg(svg.getvalue())
    return pictures, keys


def family_names(metrics: Records) -> list[str]:
    """Return the environments with figures, if a run has several."""
    return list(dict.fromkeys(name for record in metrics for name in record.get("families", ())))


def family_records(metrics: Records, name: str) -> list[Mapping[str, Any]]:
    """Return the records of one of several environments, as if it were the only one."""
    family_metrics: list[Mapping[str, Any]] = []
    for record in metrics:
        if record.get("family", name) != name:
            continue
        if "families" not in record:
            family_metrics.append(record)
        elif name in record["families"]:
            family_values = dict(record["families"][name])
            if "horizon" in family_values:
                family_values["horizon"] = int(family_values["horizon"])
            family_metrics.append({**record, **family_values})
    return family_metrics


def last_horizon(metrics: Records, env: str) -> int | None:
    """Return the turns of an environment's horizon in the last step; None without a step."""
    return next(
        (
            int(record["horizon"])
            for record in reversed(family_records(metrics, env))
            if record.get("phase") == Phase.REINFORCEMENT and "horizon" in record
        ),
        None,
    )


@contextmanager
def svg_axes(size: tuple[float, float]) -> Iterator[tuple[Axes, io.StringIO]]:
    """Yield axes to draw on and a text buffer that receives their SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    colours = dict.fromkeys(
        ("axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), INK
    )
    # SVGs contain random ids and the date; the same run must give the same page.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "curve", **colours}):
        figure = Figure(figsize=size, layout="constrained")
        axes, svg = figure.subplots(), io.StringIO()
        yield axes, svg
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})


@main_only
def write_curve(
    folder: RunFolder,
    title: str,
    names: Mapping[str, str] = NAMES,
    chosen_step: int | None = None,
) -> None:
    """Write ``curve.png`` from the records so far; see :func:`draw_curve`."""
    png = draw_curve(folder.metrics(), names, chosen_step, title)
    write_atomically(folder.path / "curve.png", png)


def inline_svg(svg: str) -> str:
    """Remove what only a standalone file needs, and let text follow the page's theme."""
    svg = svg[svg.index("<svg") :]
    for part in (
        r"<(metadata|style).*?</\1>",
        r' xmlns(:xlink)?="[^"]*"',
        r"(?<=<svg)[^>]*?(?= viewBox)",
        r"font-family: [^;]*; ",
    ):
        svg = re.sub(part, "", svg, flags=re.DOTALL)
    return svg.replace(INK, "var(--soft)")


def legend_key(line: Any, label: str) -> Key:
    """Describe a line for the legend of a page."""
    styles = {"-": "solid", ":": "dotted", "None": POINT}
    style = styles.get(line.get_linestyle(), "dashed")
    return Key(label, line.get_color(), style)


def _draw_panel(
    axes: Axes, metrics: Records, quantity: str, names: Mapping[str, str], chosen_step: int | None
) -> None:
    """Draw one quantity: training, validation, references and the trained policy."""
    from matplotlib.ticker import MaxNLocator

    steps = [record for record in metrics if record.get("phase") == Phase.REINFORCEMENT]
    draw_stages(axes, steps)
    _draw_references(axes, metrics, quantity, names)
    _draw_training(axes, steps, quantity)
    _draw_validation(axes, metrics, quantity)
    last = steps[-1]["step"] if steps else None
    _draw_trained(axes, metrics, last if chosen_step is None else chosen_step, quantity)
    axes.set(xlabel="RL step", ylim=(-0.03, 1.03))
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(alpha=0.25)


def smooth(values: Sequence[float], window: int = SMOOTHED) -> list[float]:
    """Return the trailing mean over ``window`` values."""
    parts = [values[max(0, i + 1 - window) : i + 1] for i in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def _draw_training(axes: Axes, steps: Records, quantity: str) -> None:
    """Draw the results of each step's training episodes, and their trailing mean."""
    if not steps:
        return
    numbers, values = [r["step"] for r in steps], [r[quantity] for r in steps]
    axes.plot(numbers, values, color=TRAINING, alpha=0.3, linewidth=1)
    label = f"training episodes (mean of {SMOOTHED} steps)"
    axes.plot(numbers, smooth(values), color=TRAINING, label=label)


def _draw_validation(axes: Axes, metrics: Records, quantity: str) -> None:
    """Draw the validations at the full horizon."""
    validations = [record for record in metrics if record.get("phase") == Phase.VALIDATION]
    if validations:
        numbers, values = [r["step"] for r in validations], [r[quantity] for r in validations]
        axes.plot(numbers, values, "o-", color=VALIDATION, markersize=4, label="validation tasks")


def _draw_references(axes: Axes, metrics: Records, quantity: str, names: Mapping[str, str]) -> None:
    """Draw the test results of policies that do not learn."""
    for arm, (colour, style) in REFERENCES.items():
        mean = held_out_mean(metrics, arm, quantity)
        if mean is not None:
            label = f"{names[arm]}, test"
            axes.axhline(mean, color=colour, linestyle=style, linewidth=1.4, label=label)


def _draw_trained(axes: Axes, metrics: Records, step: int | None, quantity: str) -> None:
    """Mark the test result of the trained policy, at its step."""
    mean = held_out_mean(metrics, TRAINED, quantity)
    if step is not None and mean is not None:
        axes.plot([step], [mean], "D", color=TRAINING, markersize=6, label="trained, test")


def held_out_mean(metrics: Records, arm: str, quantity: str) -> float | None:
    """Return a policy's mean over the test tasks that did not fail; None if unknown."""
    rows = [row for record in metrics if record.get("arm") == arm for row in record["rows"]]
    values = [float(row[quantity]) for row in rows if row["stop_reason"] != "error"]
    return sum(values) / len(values) if values else None


def draw_stages(axes: Axes, steps: Records, words: bool = True) -> None:
    """Shade the stages of the horizon, the darker the longer, and write their turns above.

    ``words`` adds the word turns to the number if there is room.
    """
    stages: list[list[int]] = []  # first step, last step, turns
    for record in steps:
        if stages and stages[-1][2] == record["horizon"]:
            stages[-1][1] = record["step"]
        else:
            stages.append([record["step"], record["step"], record["horizon"]])
    max_turns = max((turns for _, _, turns in stages), default=1)
    labelled = -math.inf
    for first, last, turns in stages:
        shade = 0.25 * turns / max_turns
        axes.axvspan(first - 0.5, last + 0.5, color=BAND, alpha=shade, linewidth=0, zorder=0)
        # Above the panel, where no curve is, and only as far as there is room.
        centre = (first + last) / 2
        if centre - labelled < NARROW * len(steps):
            continue
        labelled = centre
        wide = words and last + 1 - first >= WIDE * len(steps)
        text = f"{turns} turns" if wide else f"{turns}"
        axes.annotate(
            text, (centre, 1), (0, 3), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", ha="center", va="bottom", fontsize=8, color=INK,
        )  # fmt: skip
