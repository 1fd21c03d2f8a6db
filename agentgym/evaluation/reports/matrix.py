"""`Matrix`: the table of a paper, with policies in rows, environments in columns, and averages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from agentgym.evaluation.reports.matrix_data import (
    Figure,
    MatrixColumn,
    MatrixData,
    MatrixEntry,
    MatrixRow,
)
from agentgym.evaluation.reports.matrix_formats import (
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    to_table,
)
from agentgym.evaluation.reports.report import Report
from agentgym.policies.blind import is_reference_policy
from agentgym.protocols.schema import VALUES

if TYPE_CHECKING:
    from rich.table import Table

_ID = re.compile(r"[\w.-]+/([\w.-]+)-v\d+", re.ASCII)


@dataclass(frozen=True, repr=False)
class Matrix(MatrixData):
    """The table of a paper, made by `agentgym.Leaderboard.matrix`; see `MatrixData`."""

    def csv(self) -> str:
        """Return `records` as CSV; spreadsheets cannot take names for formulas."""
        return to_csv(self)

    def latex(self) -> str:
        """Return the table as LaTeX; it needs the package booktabs."""
        return to_latex(self)

    def markdown(self) -> str:
        """Return the table as Markdown, with its notes."""
        return to_markdown(self)

    def table(self) -> Table:
        """Return a rich table, with a legend of its marks."""
        return to_table(self)

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Matrix: {self.value}, {len(self.rows)} policies x {len(self.columns)} panels>"

    def _repr_html_(self) -> str:
        return to_html(self)


def make_matrix(
    panels: Sequence[tuple[MatrixColumn, Sequence[Report]]], value: str = "success"
) -> Matrix:
    """Arrange reports in the table of a paper.

    Args:
        panels: The columns, each with its reports.
        value: ``success`` or ``score``.

    Raises:
        ConfigurationError: The value is unknown.
    """
    if value not in VALUES:
        raise ConfigurationError(f"expected one of {', '.join(VALUES)}, got {value!r:.80}")
    columns = [column for column, _ in panels]
    by_policy: dict[str, list[Report | None]] = {}
    groups = [reports for _, reports in panels]
    for index, (names, reports) in enumerate(zip(_named_apart(groups), groups, strict=True)):
        for name, report in zip(names, reports, strict=True):
            by_policy.setdefault(name, [None] * len(columns))[index] = report
    rows = _with_scales([_row(name, reports) for name, reports in by_policy.items()], groups)

    def rank(row: MatrixRow) -> tuple[bool, float]:
        figure = row.average.figures.get(value) if row.average else None
        return row.yardstick, -figure.value if figure else 1.0

    return Matrix(value, tuple(columns), tuple(sorted(rows, key=rank)))


def short_names(names: Sequence[str], suffixes: Sequence[str]) -> list[str]:
    """Return short names of environments; the id ``my/Lock-v0``, for example, becomes ``Lock``.

    Args:
        names: Names from `agentgym.registration.making.env_name`. Ids are not shortened if short
            names would be ambiguous.
        suffixes: A text for each name that makes its panel unique; appended to the name.
    """
    short = {name: (_ID.fullmatch(name) or [name, name])[1] for name in names}
    if len({*short.values()}) < len(short):
        short = {name: name for name in names}
    return [short[name] + more for name, more in zip(names, suffixes, strict=True)]


def settings(report: Report) -> dict[str, Any]:
    """Return the facts, by name, in which policies with the same name may differ."""
    return {
        "protocol": report.protocol.identity if report.protocol else None,
        "horizon": report.horizon,
        "samples": report.samples,
        "limits": report.limits,
        **_flat({**report.env_kwargs, **report.policy_facts}),
    }


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with nested mappings flattened by one level."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    return flat


def _differing(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the facts that differ between the mappings."""
    names = dict.fromkeys(name for mapping in facts for name in mapping)
    return [n for n in names if any(mapping.get(n) != facts[0].get(n) for mapping in facts)]


def _named_apart(panels: Sequence[Sequence[Report]]) -> list[list[str]]:
    """Name the reports of panels so that a policy has the same name on every panel.

    Equal names are made unique by the settings in which any two of them differ on a panel.
    """
    apart: dict[str, dict[str, None]] = {}
    for reports in panels:
        for report in reports:
            alike = [
                settings(report_with_policy)
                for report_with_policy in reports
                if report_with_policy.policy == report.policy
            ]
            apart.setdefault(report.policy, {}).update(dict.fromkeys(_differing(alike)))
    names: list[list[str]] = []
    for reports in panels:
        counts = Counter[str]()
        names.append([])
        for report in reports:
            report_settings = settings(report)
            details = [
                f"{n}={report_settings[n]!s:.60}"
                for n in apart[report.policy]
                if report_settings.get(n) is not None
            ]
            name = f"{report.policy} ({', '.join(details)})" if details else report.policy
            counts[name] += 1
            names[-1].append(f"{name} no. {counts[name]}" if counts[name] > 1 else name)
    return names


def _row(name: str, reports: Sequence[Report | None]) -> MatrixRow:
    existing = [report for report in reports if report is not None]
    yardstick = is_reference_policy(existing[0].policy)  # only for comparison: never the best
    differing = [] if yardstick else _differing([_flat(report.policy_facts) for report in existing])
    entries = tuple(_entry(report) if report else None for report in reports)
    return MatrixRow(name, yardstick, entries, tuple(differing))


def _entry(report: Report) -> MatrixEntry:
    has_figures = report.n > 0 and not report.success_unknown
    estimates = (
        {"success": report.headline_success, "score": report.headline_score} if has_figures else {}
    )
    return MatrixEntry(
        {name: Figure(*estimate) for name, estimate in estimates.items()},
        report.n,
        report.errors,
        incomplete(report),
    )


def incomplete(report: Report) -> bool:
    """Return whether too many episodes of a report are broken, or not all were played."""
    return report.n == 0 or report.incomplete


def _with_scales(rows: list[MatrixRow], panels: Sequence[Sequence[Report]]) -> list[MatrixRow]:
    """Add rows for random policy and expert from the reports' scales, if they have no reports."""
    by_name = {row.policy: row for row in rows}
    for name in ("random", "oracle"):
        old = by_name.get(name)
        old_entries = old.entries if old else [None] * len(panels)
        pairs = zip(old_entries, panels, strict=True)
        entries = tuple(entry or _end(name, reports) for entry, reports in pairs)
        if any(entries):
            by_name[name] = MatrixRow(name, True, entries)
    return [*by_name.values()]


def _end(name: str, reports: Sequence[Report]) -> MatrixEntry | None:
    """Return the score of one end of the scale, if all reports of a panel agree on it, or None."""
    scales = [report.scale for report in reports if report.scale]
    ends = {
        (scale.random, scale.random_success)
        if name == "random"
        else (scale.expert, scale.expert_success)
        for scale in scales
    }
    if len(ends) != 1:
        return None
    [(score, success)] = ends
    numbers = {"success": success, "score": score}
    figures = {value: Figure(number) for value, number in numbers.items() if number is not None}
    return MatrixEntry(figures, source="scale") if figures else None
