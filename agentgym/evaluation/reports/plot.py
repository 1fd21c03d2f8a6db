"""Draw rows of scores with their intervals; `charts` selects the rows.

Everything is placed in inches, so that charts with any number of rows are readable. pyplot is not
used, because it needs a display and the main thread.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.core.outcome import reason_words
from agentgym.errors import ConfigurationError, require
from agentgym.evaluation.reports.scale import Scale
from agentgym.support.caching import write_atomically
from agentgym.support.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = {".png": {"Software": None}, ".svg": {"Date": None}}
"""File types -> metadata to leave out, so that equal charts are equal files."""
LABEL = 2.7
"""Maximum width of a label in inches; longer labels lose their middle."""
WIDTH, EDGE, DPI = 9.5, 0.18, 130
"""Width of a chart and of its margin in inches, and dots per inch."""
TITLE_ROOM, HEADING, HEADER, ROW, LINE, NUMBERS, GAP = 0.36, 0.25, 0.24, 0.27, 0.14, 0.22, 0.2
"""Heights in inches: of the title, a section's heading, the names of the quantities, a row, a
second line of its label, the numbers below the rows, and the room between sections."""
FIGURES, BETWEEN, EPISODES = 1.36, 0.2, 0.62
"""Widths in inches: of the figures beside the rows, of the room between two columns, and of the
numbers of episodes at the end."""
COLOURS = {"score": "#3f83d9", "success": "#2f9a68"}
"""The quantities, which are the columns, and their colours."""
REASONS = {"success": COLOURS["success"], "error": "#cf4b57"}
OTHER_REASON = "#8fa3bf"
"""Colours of the reasons for which episodes end."""
MARKS = {"random": "#878d96", "expert": "#d9881c"}
"""Colours of the two ends of the scale."""
FONT, SIZE, HUGE = "DejaVu Sans", 9, 12.5
"""A font that comes with matplotlib, so that charts are the same on every machine; the sizes of
text and title, in points."""
INK, SOFT, GRID = "#22272e", "#5c636d", "#dde1e6"
STYLE = {
    "font.family": FONT,
    "font.size": SIZE,
    "text.color": INK,
    "axes.edgecolor": "#aab1ba",
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": SOFT,
    "xtick.labelsize": 8,
    "ytick.labelcolor": INK,
    "svg.hashsalt": "agentgym",
}


class PlotRow(NamedTuple):
    """A row of a chart."""

    label: str
    """Label beside the row."""
    note: str
    """Additional text in brackets; may be empty."""
    score: Estimate | None
    """Mean score."""
    success: Estimate | None
    """Share of solved tasks."""
    episodes: int
    """Number of episodes; with 0 there is nothing to draw."""
    scale: Scale | None = None
    """Scores of the random policy and the expert, to be marked in the row."""


class PlotSection(NamedTuple):
    """Rows under a common heading."""

    heading: str
    """The heading."""
    rows: Sequence[PlotRow]
    """The rows, from top to bottom."""
    bars: bool = False
    """Whether to draw bars instead of dots."""


def draw(
    sections: Sequence[PlotSection],
    title: str = "",
    reasons: Mapping[str, int] | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Draw sections below each other.

    Args:
        sections: At least one, each with at least one row.
        title: Title above the sections; may be empty.
        reasons: Number of episodes by stop reason, drawn below the sections.
        path: PNG or SVG file to write; None: none.

    Returns:
        The figure.

    Raises:
        ConfigurationError: The file is of another kind, or cannot be written.
        DependencyNotInstalled: matplotlib is missing.
    """
    check_drawable(path)
    style = require("matplotlib.style", "notebooks")
    with style.context(["default", STYLE]):
        figure = _Page(sections, title, reasons or {}).figure
        if path is not None:
            _write(figure, Path(path))
    # Notebooks only display figures made by pyplot, unless they have this method.
    vars(figure)["_repr_png_"] = partial(_encoded, figure, ".png")
    return figure


def check_drawable(path: str | Path | None) -> None:
    """Check that a chart can be drawn and written, before the evaluation that it shows.

    Args:
        path: The file to write; None: none.

    Raises:
        ConfigurationError: The file is of another kind.
        DependencyNotInstalled: matplotlib is missing.
    """
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise ConfigurationError(
            f"expected a chart to be a file that ends in {' or '.join(SUFFIXES)}, got {path}"
        )
    require("matplotlib", "notebooks")


def short(text: str, limit: int) -> str:
    """Shorten text to one line by cutting its middle, because long names differ at their ends."""
    flat = _flat(text)
    if len(flat) <= limit:
        return flat
    tail = max((limit - 1) // 2, 1)
    return f"{flat[: limit - 1 - tail]}…{flat[-tail:]}"


def _flat(text: str) -> str:
    """Return text on one line, without characters that cannot be drawn."""
    drawable = text.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in drawable).split()) or "unnamed"


def _encoded(figure: Figure, suffix: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix[1:], dpi=DPI, metadata=SUFFIXES[suffix])
    return buffer.getvalue()


def _write(figure: Figure, path: Path) -> None:
    try:
        write_atomically(path, _encoded(figure, path.suffix.lower()))
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(
            f"expected a file that can be written, got {path}: {reason}"
        ) from error


class _Page:
    """A figure that is filled from top to bottom.

    Args:
        sections: Sections to draw.
        title: Title above them.
        reasons: Number of episodes by stop reason.
    """

    def __init__(
        self, sections: Sequence[PlotSection], title: str, reasons: Mapping[str, int]
    ) -> None:
        from matplotlib.figure import Figure

        self._labels = [[_label(row) for row in section.rows] for section in sections]
        self._labels.append(
            [_fitted(reason_words(reason) or "unknown", LABEL) for reason in reasons]
        )
        self._left = EDGE + max(_width(label) for labels in self._labels for label in labels) + 0.15
        self._size = (WIDTH - EPISODES - self._left - EDGE - BETWEEN - 2 * FIGURES) / 2
        self._height = (
            2 * EDGE + (TITLE_ROOM if title else 0.0) + HEADER + NUMBERS
            + sum(HEADING + len(labels) * _row_height(labels) + GAP for labels in self._labels[:-1])
            + (HEADING + len(reasons) * ROW if reasons else -GAP)
        )  # fmt: skip
        self._below = self._height - EDGE
        self.figure = Figure(figsize=(WIDTH, self._height), dpi=DPI)
        if title:
            self._say(title, size=HUGE, weight="bold")
            self._below -= TITLE_ROOM
        for number, section in enumerate(sections):
            self._draw(section, self._labels[number], number == 0, number == len(sections) - 1)
        if reasons:
            self._draw_reasons(reasons)

    def _column(self, number: int) -> float:
        """Return the left edge of a column, in inches."""
        return self._left + number * (self._size + FIGURES + BETWEEN)

    def _say(self, text: str, inches: float = EDGE, color: str = INK, **style: Any) -> None:
        """Write a line of text at the current height."""
        place = inches / WIDTH, self._below / self._height
        text = _fitted(text, WIDTH - inches - EDGE, **style)
        self.figure.text(*place, text, ha="left", va="top", parse_math=False, color=color, **style)

    def _say_episodes(self, text: str, below: float = 0.0, **style: Any) -> None:
        """Write into the column of episode counts, ``below`` inches under the current height."""
        place = (WIDTH - EDGE) / WIDTH, (self._below - below) / self._height
        align = {"va": "center_baseline" if below else "top", "ha": "right", "size": 8.5}
        self.figure.text(*place, text, **{"color": SOFT, **align, **style})

    def _axes(self, column: int, labels: Sequence[str]) -> Axes:
        """Place axes from 0 to 1 with a row for every label, below the content drawn so far."""
        height = _row_height(labels) * len(labels)
        axes = self.figure.add_axes(
            (
                self._column(column) / WIDTH,
                (self._below - height) / self._height,
                self._size / WIDTH,
                height / self._height,
            )
        )
        axes.set(xlim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1), ylim=(len(labels) - 0.5, -0.5))
        axes.set_xticklabels(["0", "", "0.5", "", "1"])
        axes.set_yticks(range(len(labels)), [] if column else labels, parse_math=False)
        axes.grid(axis="x", clip_on=False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", pad=8)
        return axes

    def _draw(self, section: PlotSection, labels: Sequence[str], first: bool, last: bool) -> None:
        """Draw a section; the first one has the column headers, the last one the axis numbers."""
        self._say(section.heading, color=SOFT)
        self._below -= HEADING
        if first:
            self._draw_header(any(row.scale for row in section.rows))
        for column, (quantity, colour) in enumerate(COLOURS.items()):
            axes = self._axes(column, labels)
            axes.tick_params(labelbottom=last)
            for place, row in enumerate(section.rows):
                estimate = row.score if quantity == "score" else row.success
                if estimate is not None:
                    _draw_estimate(axes, place, estimate, colour, section.bars)
                elif not row.episodes:
                    _beside(axes, place, "no episode counts")
                if row.scale and quantity == "score":
                    _draw_scale(axes, place, row.scale)
        height = _row_height(labels)
        for place, row in enumerate(section.rows):
            self._say_episodes(f"{row.episodes:,}", (place + 0.5) * height)
        self._below -= len(labels) * height + GAP + (NUMBERS if last else 0.0)

    def _draw_header(self, scaled: bool) -> None:
        """Write the column headers, and a legend of the scale's marks if there are any."""
        for column, (quantity, colour) in enumerate(COLOURS.items()):
            self._say(quantity, self._column(column), color=colour, weight="bold")
        if scaled:
            right_edge = self._column(0) + self._size + 0.1
            for name, colour in MARKS.items():
                self._say(f"| {name}", right_edge, color=colour, size=8, weight="bold")
                right_edge += _width(f"| {name}") + 0.1
        self._say_episodes("episodes", size=8)
        self._below -= HEADER

    def _draw_reasons(self, reasons: Mapping[str, int]) -> None:
        """Draw the number of episodes by stop reason."""
        self._say("episodes ended by", color=SOFT)
        self._below -= HEADING
        axes = self._axes(0, self._labels[-1])
        axes.tick_params(labelbottom=False)
        total = sum(reasons.values())
        for place, (reason, number) in enumerate(reasons.items()):
            colour = REASONS.get(reason, OTHER_REASON)
            axes.barh(place, number / total, 0.6, color=colour, alpha=0.75, linewidth=0)
            _beside(axes, place, f"{number:,}  ({number / total:.0%})")


def _draw_estimate(axes: Axes, place: float, estimate: Estimate, colour: str, bars: bool) -> None:
    """Draw a value with its interval, and write both beside the row."""
    value, low, high = estimate
    if bars:
        axes.barh(place, value, 0.6, color=colour, alpha=0.4, linewidth=0)
    axes.plot(
        [low, high], [place, place], color=colour, linewidth=1.4 if bars else 2.4,
        solid_capstyle="butt" if bars else "round", clip_on=False, zorder=3,
    )  # fmt: skip
    size = 3.5 if bars else 7.5
    axes.plot(
        [value], [place], "o", color=colour, markersize=size, markeredgewidth=0,
        clip_on=False, zorder=3,
    )  # fmt: skip
    _beside(axes, place, f"{value:.2f}  [{low:.2f}, {high:.2f}]")


def _draw_scale(axes: Axes, place: float, scale: Scale) -> None:
    """Mark the scores of the random policy and of the expert in a row."""
    for colour, score in zip(MARKS.values(), (scale.random, scale.expert), strict=True):
        if score is not None:
            axes.plot(
                [score, score], [place - 0.36, place + 0.36], color=colour, linewidth=2,
                solid_capstyle="butt", clip_on=False, zorder=2.8,
            )  # fmt: skip


def _beside(axes: Axes, place: float, text: str) -> None:
    axes.annotate(
        text, (1, place), (8, 0), xycoords=axes.get_yaxis_transform(),
        textcoords="offset points", va="center_baseline", size=8.5, color=INK, parse_math=False,
    )  # fmt: skip


def _label(row: PlotRow) -> str:
    """Return the label of a row with its note, on one line if it fits, else on two."""
    if not row.note:
        return _fitted(row.label, LABEL)
    line = _flat(f"{row.label} ({row.note})")
    if _width(line) <= LABEL:
        return line
    return f"{_fitted(row.label, LABEL)}\n({_fitted(row.note, LABEL - 0.1)})"


def _row_height(labels: Sequence[str]) -> float:
    """Return the height of a row in inches."""
    return ROW + (LINE if any("\n" in label for label in labels) else 0.0)


def _fitted(text: str, inches: float, **style: Any) -> str:
    """Shorten text that is wider than ``inches``."""
    flat = _flat(text)
    longest = len(flat)
    if longest <= 3 or _width(flat, **style) <= inches:
        return flat
    lengths = range(3, longest)
    wide = bisect_right(lengths, inches, key=lambda length: _width(short(flat, length), **style))
    return short(flat, lengths[max(wide - 1, 0)])


def _width(text: str, size: float = SIZE, weight: str = "normal") -> float:
    """Return the width of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size, weight=weight)
    lines = [
        text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]
        for line in text.split("\n")
    ]
    # The extents are in points, 1/72 of an inch.
    return float(max(lines)) / 72
