"""Reports as pictures: one of a report, and one that sets several beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.evaluation.drawing import Row, Section, draw, short
from agentgym.evaluation.rendering import counted
from agentgym.evaluation.report import Report, mean_score, success_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agentgym.evaluation.leaderboard import Leaderboard, Standing

NAME = 38
"""Characters from which on a name in a heading is shortened in its middle."""
MOST_KINDS = 50
"""Most kinds of task that are drawn of a label."""


def chart_report(report: Report, path: str | Path | None = None) -> Figure:
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
    title = f"{short(report.policy, NAME)} on {short(report.env_id, NAME)}"
    return draw(sections, title, report.stop_reasons, path)


def chart_leaderboard(board: Leaderboard, path: str | Path | None = None) -> Figure:
    """Draw a leaderboard: score and success of each report with 95 % intervals, panel by panel.

    Where the scale was measured, the scores of the random policy and of the expert are marked.

    Args:
        board: The leaderboard.
        path: PNG or SVG file to write; None: none.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ConfigurationError: The file is of another kind, or cannot be written.
        DependencyNotInstalled: matplotlib is missing.
    """
    return draw([_group(rows) for rows in board.panels.values()], path=path)


def _overall(report: Report) -> Section:
    """Return the figures over all tasks."""
    rows = [_row("all tasks", report)]
    if report.left_out:
        rows.append(_bound(report))
    if report.n and report.samples > 1:
        k = report.draws
        rows += [
            Row(f"pass@{k}", "", None, report.pass_at(k), report.n),
            Row(f"pass^{k}", "", None, report.pass_hat(k), report.n),
        ]
    return Section(_played(report), rows)


def _kinds(report: Report) -> Iterator[Section]:
    """Yield the figures by kind of task: of very many kinds those with the most episodes."""
    for name, values in report.by_label().items():
        heading = f"by {name.replace('_', ' ')}"
        kept = sorted(values, key=lambda value: -len(values[value]))[:MOST_KINDS]
        if len(kept) < len(values):
            heading += f": the {len(kept)} of {len(values)} with the most episodes"
        rows = [
            Row(value, "", mean_score(found), success_rate(found), len(found))
            for value, found in values.items()
            if value in kept
        ]
        yield Section(heading, rows, bars=True)


def _group(standings: Sequence[Standing]) -> Section:
    """Return the figures of policies on the same tasks."""
    rows = []
    reports = [each.report for each in standings]
    for standing, report in zip(standings, reports, strict=True):
        told = [standing.distinction] if standing.distinction else []
        told += [f"{report.errors:,} broken{counted(report)}"] if report.errors else []
        rows.append(_row(report.policy, report, ", ".join(told)))
        if report.left_out:
            rows.append(_bound(report))
    heading = f"{short(reports[0].env_id, NAME)}: {_panel(reports[0])}"
    shared = [
        f"{name}={value!s:.60}"
        for name, value in reports[0].env_kwargs.items()
        if all(each.env_kwargs.get(name) == value for each in reports)
    ]
    return Section(", ".join([heading, *shared]), rows)


def _row(label: str, report: Report, note: str = "") -> Row:
    if not report.n:
        return Row(label, note, None, None, 0, report.scale)
    return Row(label, note, report.score, report.success_estimate, report.n, report.scale)


def _bound(report: Report) -> Row:
    """Return success over all that was planned, as the line below the one without broken ones."""
    return Row("at least", "the broken as unsolved", None, report.success_lower_bound, report.size)


def _panel(report: Report) -> str:
    tasks = -(-(report.planned or len(report.rows)) // report.samples)
    panel = f", panel {report.panel_sha256[:8]}" if report.panel_sha256 else ""
    return f"{tasks:,} task{'s' * (tasks != 1)} of {report.split}, seed {report.seed}{panel}"


def _played(report: Report) -> str:
    told = _panel(report)
    if report.samples > 1:
        told += f", {report.samples} samples of each"
    if report.errors:
        told += f"; {report.errors:,} of {len(report.rows):,} episodes broken{counted(report)}"
    if not report.finished:
        told += f"; {len(report.rows):,} of {report.planned:,} episodes played so far"
    if report.n and report.scaled is not None:
        told += f"; {report.scaled:.1f} where random is 0 and the expert 100"
    return told
