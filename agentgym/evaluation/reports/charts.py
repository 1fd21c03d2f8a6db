"""Charts of reports: select what to draw; `plot` draws it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.evaluation.reports.data import ReportData, mean_score, success_rate
from agentgym.evaluation.reports.plot import PlotRow, PlotSection, draw, short
from agentgym.evaluation.reports.report_tables import UNKNOWN, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = 38
"""Maximum number of characters of a name in a heading; longer names lose their middle."""
MOST_KINDS = 50
"""Maximum number of kinds of task that are drawn for a label."""


def chart_report(report: ReportData, path: str | Path | None = None) -> Figure:
    """Draw a report: score and success with 95 % intervals, by kind of task, and why episodes end.

    Args:
        report: The report.
        path: PNG or SVG file to write; None: none.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ConfigurationError: The file is of another kind, or cannot be written.
        DependencyNotInstalled: matplotlib is missing.
    """
    sections = [_overall(report), *_kinds(report)]
    title = f"{short(report.policy, NAME)} on {short(report.env_name, NAME)}"
    return draw(sections, title, report.stop_reasons, path)


def _overall(report: ReportData) -> PlotSection:
    """Return the figures over all tasks."""
    rows = report_rows("all tasks", report)
    if report.n and report.samples > 1:
        k = report.draws
        rows += [
            PlotRow(f"pass@{k}", "", None, report.pass_at(k), report.n),
            PlotRow(f"pass^{k}", "", None, report.pass_hat(k), report.n),
        ]
    return PlotSection(_describe_panel(report), rows)


def _kinds(report: ReportData) -> Iterator[PlotSection]:
    """Yield the figures by kind of task; if there are too many kinds, the most frequent ones."""
    for name, values in report.by_label().items() if not report.success_unknown else ():
        heading = f"by {name.replace('_', ' ')}"
        kinds = sorted(values, key=lambda value: -len(values[value]))[:MOST_KINDS]
        if len(kinds) < len(values):
            heading += f": the {len(kinds)} of {len(values)} with the most episodes"
        rows = [
            PlotRow(value, "", mean_score(episodes), success_rate(episodes), len(episodes))
            for value, episodes in values.items()
            if value in kinds
        ]
        yield PlotSection(heading, rows, bars=True)


def report_rows(label: str, report: ReportData, note: str = "") -> list[PlotRow]:
    """Return a report as rows of the chart: the headline, then without broken episodes."""
    if not report.n:
        return [PlotRow(label, note, None, None, 0, report.scale)]
    if report.success_unknown:
        remark = ", ".join(filter(None, (note, UNKNOWN)))
        return [PlotRow(label, remark, None, None, report.n)]
    score, success = report.headline_score, report.headline_success
    if not report.left_out:
        return [PlotRow(label, note, score, success, report.n, report.scale)]
    return [
        PlotRow(label, note or "broken as unsolved", score, success, report.size, report.scale),
        PlotRow("without the broken", "", report.score, report.success_estimate, report.n),
    ]


def panel(report: ReportData) -> str:
    """Describe which tasks were played."""
    tasks = -(-(report.planned or len(report.rows)) // report.samples)
    panel = f", panel {report.panel_sha256[:8]}" if report.panel_sha256 else ""
    return f"{tasks:,} task{'s' * (tasks != 1)} of {report.split}, seed {report.seed}{panel}"


def _describe_panel(report: ReportData) -> str:
    text = panel(report)
    if report.samples > 1:
        text += f", {report.samples} samples of each"
    if report.errors:
        text += f"; {report.errors:,} of {len(report.rows):,} episodes broken{counted(report)}"
    if not report.finished:
        text += f"; {len(report.rows):,} of {report.planned:,} episodes played so far"
    if report.n and report.scaled is not None:
        text += f"; {report.scaled:.1f} where random is 0 and the expert 100"
    return text
