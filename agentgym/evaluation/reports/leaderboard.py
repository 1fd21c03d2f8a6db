"""`Leaderboard`: several evaluations in one table, ranked per panel, with paired differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from agentgym.evaluation.prices import dollars
from agentgym.evaluation.reports import charts, plot
from agentgym.evaluation.reports.comparison import Comparison, compare
from agentgym.evaluation.reports.matrix import (
    Matrix,
    incomplete,
    make_matrix,
    settings,
    short_names,
)
from agentgym.evaluation.reports.matrix_data import MatrixColumn
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_tables import (
    UNKNOWN,
    counted,
    headline_words,
    html,
    inline,
    interval,
    markdown_table,
)
from agentgym.protocols.schema import VALUES
from agentgym.registration.making import HOW_PLAYED
from agentgym.support.statistics import Estimate
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from rich.table import Table

FORMAT = "agentgym.leaderboard/1"
"""Name and version of the format of `Leaderboard.to_dict`; it changes when a reader must."""


@dataclass(frozen=True)
class Standing:
    """A policy on a panel of tasks."""

    environment: str
    """Name of the environment, made unique in the leaderboard."""
    policy: str
    """Name of the policy, made unique on the panel."""
    distinction: str
    """The part that makes the policy's name unique; empty if it is already unique."""
    report: Report
    """Report of the policy."""
    reference: str
    """Name of the reference: the first policy on this panel."""
    difference: Comparison | None
    """This policy minus the reference, over the tasks that count in both reports; None for the
    reference, or if there is no such task."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-safe data."""
        report, some = self.report, self.report.n > 0
        return {
            "environment": self.environment,
            "policy": self.policy,
            "env_id": report.env_id,
            "env_kwargs": dict(report.env_kwargs),
            "policy_facts": dict(report.policy_facts),
            "split": report.split,
            "seed": report.seed,
            "horizon": report.horizon,
            "limits": asdict(report.limits) if report.limits else None,
            "protocol": report.protocol.identity if report.protocol else None,
            "panel_sha256": report.panel_sha256,
            "samples": report.samples,
            "n": report.n,
            "errors": report.errors,
            "finished": report.finished,
            "incomplete": incomplete(report),
            "success_unknown": report.success_unknown,
            "success_lower_bound": _figure(report.success_lower_bound) if report.rows else None,
            "score_lower_bound": _figure(report.score_lower_bound) if report.rows else None,
            "score": _figure(report.score) if some else None,
            "success": _figure(report.success_estimate) if some else None,
            "failed": report.failed,
            "scaled": report.scaled if some else None,
            "turns_mean": report.turns_mean if some else None,
            "tokens": report.tokens,
            "cost": report.cost,
            "reference": self.reference,
            "difference": self.difference.to_dict() if self.difference else None,
            "commit": report.commit,
            "versions": dict(report.versions),
        }


class Leaderboard:
    """Reports in one table, the best score of each panel first.

    A panel is an environment with the content of its tasks. The policies on a panel are compared
    task by task with the first one.

    Args:
        reports: Reports of `agentgym.evaluate` or `agentgym.read_report`.

    Raises:
        ConfigurationError: There is no report.
    """

    def __init__(self, reports: Sequence[Report]) -> None:
        if not reports:
            raise ConfigurationError("expected at least one report, got none")
        self.reports = tuple(reports)
        """The reports, in the given order."""
        panels: dict[tuple[str, str], list[Report]] = {}
        for report in reports:
            panels.setdefault((report.env_id, report.panel_sha256), []).append(report)
        groups = list(panels.values())
        names = [group[0].env_name for group in groups]
        distinctions = _distinctions(names, [_task_facts(group[0]) for group in groups])
        self.panels: Mapping[str, tuple[Standing, ...]] = {
            name: tuple(_ranked(name, group))
            for name, group in zip(map(_named, names, distinctions), groups, strict=True)
        }
        """The standings of each panel, by the name of its environment."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """All rows, panel after panel."""
        return tuple(standing for rows in self.panels.values() for standing in rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the leaderboard as JSON-safe data, in the format ``agentgym.leaderboard/1``.

        Returns:
            ``format``; ``rows``: see `Standing.to_dict`; ``matrix``: see `Matrix.records`.
        """
        return {
            "format": FORMAT,
            "rows": [standing.to_dict() for standing in self.standings],
            "matrix": self.matrix().records(),
        }

    def matrix(self, value: str = "success") -> Matrix:
        """Return the table of a paper: policies in rows, environments in columns.

        Args:
            value: Value of the cells, ``success`` or ``score``.

        Raises:
            ConfigurationError: The value is neither.
        """
        panels = [[row.report for row in rows] for rows in self.panels.values()]
        names = [reports[0].env_name for reports in panels]
        suffixes = [
            panel.removeprefix(name) for panel, name in zip(self.panels, names, strict=True)
        ]
        columns = [
            MatrixColumn(name, reports[0].env_id, _panel(reports[0]), reports[0].panel_sha256)
            for name, reports in zip(short_names(names, suffixes), panels, strict=True)
        ]
        return make_matrix([*zip(columns, panels, strict=True)], value)

    def matrices(self) -> list[Matrix]:
        """Return the matrix of success and, if its numbers differ, the matrix of scores."""
        # VALUES stand as score, success; a table of a paper leads with success.
        success, score = (self.matrix(value) for value in reversed(VALUES))
        return [success] if success.shows_the_same(score) else [success, score]

    def to_frame(self) -> Any:
        """Return the numbers of `matrix` as a pandas data frame, see `Matrix.to_frame`.

        Raises:
            DependencyNotInstalled: pandas is absent.
        """
        return self.matrix().to_frame()

    def latex(self) -> str:
        """Return `matrices` for LaTeX, see `Matrix.latex`."""
        return "\n".join(matrix.latex() for matrix in self.matrices())

    def csv(self) -> str:
        """Return the numbers of `matrix` as CSV, see `Matrix.csv`."""
        return self.matrix().csv()

    def tables(self) -> list[Table]:
        """Return a rich table for each panel and, for several panels, the tables of `matrices`."""
        from rich.table import Table

        tables = []
        for title, (header, *lines) in self._tables():
            table = Table(title=cell(title))
            for name in header:
                table.add_column(cell(name), overflow="fold", no_wrap=name == "score")
            for line in lines:  # intervals below their numbers, for narrow terminals
                table.add_row(*(cell(text.replace("  [", "\n[")) for text in line))
            tables.append(table)
        return [*tables, *(matrix.table() for matrix in self._matrices_of_several())]

    def _matrices_of_several(self) -> list[Matrix]:
        return self.matrices() if len(self.panels) > 1 else []

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield title and lines for each panel, and for the figures of its protocol."""
        for environment, rows in self.panels.items():
            yield f"{environment}: {_panel(rows[0].report)}", _lines(rows)
            protocol = _protocol(rows)
            if protocol:
                yield f"{environment}: {protocol[0]}", protocol[1]

    def markdown(self) -> str:
        """Return the leaderboard as Markdown: the tables of `matrices`, then one per panel."""
        parts = [matrix.markdown() for matrix in self._matrices_of_several()]
        for environment, rows in self.panels.items():
            header, *lines = _lines(rows)
            title = f"## {inline(environment)}\n\nOn {inline(_panel(rows[0].report))}\n\n"
            parts.append(title + markdown_table(header, lines))
            protocol = _protocol(rows)
            if protocol:
                header, *lines = protocol[1]
                parts.append(f"{inline(protocol[0])}\n\n" + markdown_table(header, lines))
        return "\n".join(parts)

    def chart(self, path: str | Path | None = None) -> Figure:
        """Draw score and success of each report with 95 % intervals, panel by panel.

        If the scale was measured, the scores of random policy and expert are marked.

        Args:
            path: PNG or SVG file to write; None: none.

        Returns:
            The figure, which a notebook shows.

        Raises:
            ConfigurationError: The file is of another kind, or cannot be written.
            DependencyNotInstalled: matplotlib is missing.
        """
        return plot.draw([_section(rows) for rows in self.panels.values()], path=path)

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Leaderboard: {len(self.reports):,} reports, panels: {len(self.panels):,}>"

    def _repr_html_(self) -> str:
        several = "".join(matrix._repr_html_() for matrix in self._matrices_of_several())
        return several + "".join(
            f"<table><caption>{html(title)}</caption>" + "".join(_html_rows(lines)) + "</table>"
            for title, lines in self._tables()
        )


def _section(standings: Sequence[Standing]) -> plot.PlotSection:
    """Return a panel as a section of the chart."""
    rows = []
    reports = [standing.report for standing in standings]
    for standing, report in zip(standings, reports, strict=True):
        notes = [standing.distinction] if standing.distinction else []
        notes += [f"{report.errors:,} broken{counted(report)}"] if report.errors else []
        rows += charts.report_rows(report.policy, report, ", ".join(notes))
    called = reports[0].env_name
    heading = f"{plot.short(called, charts.NAME)}: {charts.panel(reports[0])}"
    shared = [
        f"{name}={value!s:.60}"
        for name, value in reports[0].env_kwargs.items()
        if all(report.env_kwargs.get(name) == value for report in reports)
        and (called == reports[0].env_id or name in HOW_PLAYED)  # else the name contains it
    ]
    return plot.PlotSection(", ".join([heading, *shared]), rows)


def _ranked(environment: str, reports: Sequence[Report]) -> list[Standing]:
    """Return the standings of a panel, the best score first, incomplete reports last."""
    distinctions = _distinctions(
        [r.policy for r in reports], [settings(report) for report in reports]
    )
    first = reports[0]
    reference = _named(first.policy, distinctions[0])
    rows = [
        Standing(
            environment,
            _named(report.policy, distinction),
            distinction,
            report,
            reference,
            _minus(report, first),
        )
        for distinction, report in zip(distinctions, reports, strict=True)
    ]
    return sorted(rows, key=_place)


def _place(row: Standing) -> tuple[bool, float]:
    """Return the sort key of a standing: complete reports first, then by descending score."""
    report = row.report
    return incomplete(report), -report.headline_score.value if report.n else 1.0


def _minus(report: Report, reference: Report) -> Comparison | None:
    if report is reference or not (report.by_task.keys() & reference.by_task.keys()):
        return None
    return compare(report, reference)


def _task_facts(report: Report) -> dict[str, Any]:
    """Return the facts in which panels of the same environment may differ."""
    return {
        **report.env_kwargs, "split": report.split, "seed": report.seed, "n": report.planned
    }  # fmt: skip


def _distinctions(names: Sequence[str], facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Make equal names unique: describe the differing facts of each, or else number them."""
    distinctions: list[str] = []
    counts = Counter[tuple[str, str]]()
    for index, name in enumerate(names):
        alike = [facts[position] for position, other_name in enumerate(names) if other_name == name]
        difference = ", ".join(
            f"{key}={value!s:.60}"
            for key, value in facts[index].items()
            if value is not None and any(rival.get(key) != value for rival in alike)
        )
        counts[name, difference] += 1
        number = counts[name, difference]
        suffix = [f"no. {number}"] if number > 1 else []
        distinctions.append(", ".join([*filter(None, [difference]), *suffix]))
    return distinctions


def _named(name: str, distinction: str) -> str:
    return f"{name} ({distinction})" if distinction else name


def _panel(report: Report) -> str:
    """Describe the tasks of a panel."""
    tasks = len({row.task_id for row in report.rows})
    samples = f", {report.samples} of each" if report.samples > 1 else ""
    panel = f"panel {report.panel_sha256[:16]}"
    return f"{report.split}, {tasks:,} tasks{samples}, seed {report.seed}, {panel}"


def _lines(rows: Sequence[Standing]) -> list[list[str]]:
    """Return the table of a panel: its header, then a line for each policy.

    Empty columns are left out.
    """
    reference = rows[0].reference
    columns = {
        "policy": [row.policy for row in rows],
        "score": [_headline(row.report, "score") for row in rows],
        "success": [_headline(row.report, "success") for row in rows],
        "success without the broken": [
            _format_estimate(
                row.report.success_estimate if row.report.left_out and row.report.n else None
            )
            for row in rows
        ],
        f"success minus {reference}": [_minus_reference(row.difference) for row in rows],
        "0 to 100": [_number(row.report.scaled if row.report.n else None, ".1f") for row in rows],
        "turns": [_number(row.report.turns_mean if row.report.n else None, ".1f") for row in rows],
        "tokens": [_number(sum(row.report.tokens.values()) or None, ",") for row in rows],
        "US dollars": ["" if row.report.cost is None else dollars(row.report.cost) for row in rows],
        "episodes": [_episodes(row.report) for row in rows],
    }
    if {*columns["episodes"]} == {f"{len(rows[0].report.rows):,}"}:
        del columns["episodes"]  # the title contains it
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    return [list(filled), *map(list, zip(*filled.values(), strict=True))]


def _protocol(rows: Sequence[Standing]) -> tuple[str, list[list[str]]] | None:
    """Return name and table of figures of a panel's protocol, if all policies follow the same."""
    used = {row.report.protocol.identity if row.report.protocol else "" for row in rows}
    figures = [row.report.figures() for row in rows]
    if len(used) > 1 or not figures[0]:
        return None
    lines = [["policy", *(figure.name for figure in figures[0])]]
    for row, measured in zip(rows, figures, strict=True):
        values = [(figure.estimate and figure.estimate.value, figure.scale) for figure in measured]
        lines.append([row.policy, *(_number(v, ".1f" if s >= 10 else ".3f") for v, s in values)])
    departs = any(row.report.departures for row in rows)
    return f"protocol {used.pop()}{', with other settings' if departs else ''}", lines


def _episodes(report: Report) -> str:
    broken = f" ({report.errors:,} broken{counted(report)})" if report.errors else ""
    count = f"{report.n:,}{broken}" + ("" if report.finished else f" of {report.planned:,}")
    return f"{count}, incomplete" if incomplete(report) else count


def _headline(report: Report, value: str) -> str:
    """Format the headline figure of a report."""
    if not report.n:
        return ""
    if report.success_unknown:
        return UNKNOWN if value == "success" else ""
    return headline_words(
        report, report.headline_score if value == "score" else report.headline_success
    )


def _minus_reference(difference: Comparison | None) -> str:
    """Format a difference in success, with broken episodes as unsolved."""
    if difference is None or difference.success_unknown:
        return ""
    return _format_estimate((difference.all_counted or difference).success)


def _format_estimate(estimate: Estimate | None) -> str:
    return interval(estimate) if estimate else ""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _figure(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _html_rows(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for index, line in enumerate(lines):
        tag = "td" if index else "th"
        yield "<tr>" + "".join(f"<{tag}>{html(text)}</{tag}>" for text in line) + "</tr>"
