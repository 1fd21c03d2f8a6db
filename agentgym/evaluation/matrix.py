"""The table of a paper: policies in rows, environments in columns, and their average."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.errors import ConfigurationError, require
from agentgym.evaluation.protocols.schema import VALUES
from agentgym.evaluation.report import Report
from agentgym.policies.blind import BLIND
from agentgym.statistics import Estimate, mean_of_estimates

if TYPE_CHECKING:
    from rich.table import Table

YARDSTICKS = ("random", *BLIND, "oracle")
"""Policies that a table has for comparison: floors, and the expert. They are never its best."""
AVERAGE = "average"
"""Name of the column of averages."""


class Figure(NamedTuple):
    """A number of the table, from 0 to 1."""

    value: float
    """The number."""
    low: float | None = None
    """Lower end of its 95 % interval; None where the interval is unknown."""
    high: float | None = None
    """Upper end."""

    @property
    def half(self) -> float | None:
        """The longer side of the interval.

        Value ± this covers the interval, which is not symmetrical: of 60 successes in 60 tasks it
        is all on one side, and half its width would promise twice as much as was measured.
        """
        if self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)


@dataclass(frozen=True)
class Column:
    """An environment, with the tasks that were played."""

    name: str
    """A short name, which no other column has."""
    env_id: str
    """Id of the environment."""
    panel: str
    """Which tasks of it, in words."""
    panel_sha256: str
    """Hash over the content of the tasks."""


@dataclass(frozen=True)
class Entry:
    """What a policy reached on an environment, or on average."""

    figures: Mapping[str, Figure]
    """``success`` and ``score``, as far as they are known."""
    n: int | None = None
    """Episodes that count; None where that is unknown, and for an average."""
    broken: int | None = None
    """Episodes in which something failed."""
    incomplete: bool = False
    """Whether too many episodes are broken, or not all were played."""
    source: str = "report"
    """``report``; ``scale``: the reports of others, which carry both ends of their scale."""


@dataclass(frozen=True)
class MatrixRow:
    """A policy on every environment."""

    policy: str
    """Its name, with what tells it apart from others of this name."""
    yardstick: bool
    """Whether it is there for comparison: a floor, or the expert."""
    entries: tuple[Entry | None, ...]
    """One for each column; None where it was not played."""
    differing: tuple[str, ...] = ()
    """Settings of the policy that are not the same in all environments."""

    @cached_property
    def average(self) -> Entry | None:
        """The mean over all columns; None where one of them is missing.

        An average over fewer environments is another number, and not to be compared. The interval
        is that of `agentgym.statistics.mean_of_estimates`.
        """
        played = [each for each in self.entries if each is not None]
        if len(played) < len(self.entries):
            return None
        figures = {
            value: _mean([each.figures[value] for each in played])
            for value in VALUES
            if all(value in each.figures for each in played)
        }
        incomplete = any(each.incomplete for each in played)
        return Entry(figures, incomplete=incomplete) if figures else None


@dataclass(frozen=True, repr=False)
class Matrix:
    """The table of a paper, made by `agentgym.Leaderboard.matrix`.

    Models stand first, the best average at the top; then floors and expert.
    """

    value: str
    """What its cells show: ``success`` or ``score``."""
    columns: tuple[Column, ...]
    """The environments."""
    rows: tuple[MatrixRow, ...]
    """The policies."""

    @property
    def averages(self) -> bool:
        """Whether there is a column of averages: some policy was played everywhere."""
        return len(self.columns) > 1 and any(self.figure(row.average) for row in self.rows)

    @property
    def header(self) -> list[str]:
        """Names of the columns of numbers."""
        return [
            *(column.name for column in self.columns),
            *([AVERAGE.capitalize()] if self.averages else []),
        ]

    def entries(self, row: MatrixRow) -> list[Entry | None]:
        """Return a row's entries, its average among them if there is such a column."""
        return [*row.entries, *([row.average] if self.averages else [])]

    def figure(self, entry: Entry | None) -> Figure | None:
        """Return the number that the table shows of an entry; None if it is unknown."""
        return entry.figures.get(self.value) if entry else None

    @cached_property
    def best(self) -> Mapping[int, MatrixRow]:
        """Column -> its best model, where its interval lies above those of all others.

        Intervals that do not overlap are a stricter test than the paired difference, and they are
        what a reader of the table can check. Incomplete entries are never the best, but the best
        must exceed them.
        """
        models = [row for row in self.rows if not row.yardstick]
        found = {}
        for index in range(len(self.header)):
            shown = [(row, self.entries(row)[index]) for row in models]
            known = [(row, entry, figure) for row, entry in shown if (figure := self.figure(entry))]
            for row, entry, figure in known:
                others = [other.high for each, _, other in known if each is not row]
                above = all(_below(high, figure.low) for high in others)
                if others and above and not (entry and entry.incomplete):
                    found[index] = row
        return found

    def records(self) -> list[dict[str, Any]]:
        """Return a flat mapping for each policy and environment, and for each average.

        Numbers are from 0 to 1, and None where they are unknown; the average's ``environment`` is
        ``average``.
        """
        found = []
        for row in self.rows:
            pairs: list[tuple[Column | None, Entry | None]] = [
                *zip(self.columns, row.entries, strict=True)
            ]
            if len(self.columns) > 1:
                pairs.append((None, row.average))
            found += [_record(row, column, entry) for column, entry in pairs]
        return found

    def shows_the_same(self, other: Matrix) -> bool:
        """Return whether the values of another matrix of the same reports are those of this one."""
        theirs = {row.policy: row for row in other.rows}
        pairs = (
            (self.figure(mine), other.figure(its))
            for row in self.rows
            for mine, its in zip(row.entries, theirs[row.policy].entries, strict=True)
        )
        return all((a and a.value) == (b and b.value) for a, b in pairs)

    def to_frame(self) -> Any:
        """Return `records` as a pandas data frame.

        ``frame.pivot(index="policy", columns="environment", values="success")`` is the table.

        Raises:
            DependencyNotInstalled: pandas is absent.
        """
        return require("pandas", "notebooks").DataFrame(self.records())

    def csv(self) -> str:
        """Return `records` as CSV, a number a cell, with names that no spreadsheet computes."""
        from agentgym.evaluation.matrix_formats import to_csv

        return to_csv(self)

    def latex(self) -> str:
        """Return the table for LaTeX; it needs the package booktabs, as its first line says."""
        from agentgym.evaluation.matrix_formats import to_latex

        return to_latex(self)

    def markdown(self) -> str:
        """Return the table as Markdown, with its notes."""
        from agentgym.evaluation.matrix_formats import to_markdown

        return to_markdown(self)

    def table(self) -> Table:
        """Return a rich table, with what its marks mean below."""
        from agentgym.evaluation.matrix_formats import to_table

        return to_table(self)

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Matrix: {self.value}, {len(self.rows)} policies x {len(self.columns)} panels>"

    def _repr_html_(self) -> str:
        from agentgym.evaluation.matrix_formats import to_html

        return to_html(self)


def make_matrix(
    panels: Sequence[tuple[Column, Sequence[Report]]], value: str = "success"
) -> Matrix:
    """Put reports into the table of a paper.

    Args:
        panels: The columns, each with its reports.
        value: ``success`` or ``score``.

    Raises:
        ConfigurationError: The value is neither.
    """
    if value not in VALUES:
        raise ConfigurationError(f"expected one of {', '.join(VALUES)}, got {value!r:.80}")
    columns = [column for column, _ in panels]
    found: dict[str, list[Report | None]] = {}
    groups = [reports for _, reports in panels]
    for index, (names, reports) in enumerate(zip(_named_apart(groups), groups, strict=True)):
        for name, report in zip(names, reports, strict=True):
            found.setdefault(name, [None] * len(columns))[index] = report
    rows = _with_scales([_row(name, reports) for name, reports in found.items()], groups)

    def rank(row: MatrixRow) -> tuple[bool, float]:
        figure = row.average.figures.get(value) if row.average else None
        return row.yardstick, -figure.value if figure else 1.0

    return Matrix(value, tuple(columns), tuple(sorted(rows, key=rank)))


def short_names(ids: Sequence[str], told: Sequence[str]) -> list[str]:
    """Return short names of environments, such as WebShop; ids where these would be ambiguous.

    Args:
        ids: Ids, such as ``agentgym/WebShop-v0``.
        told: What tells each panel apart from others of its id, to stand behind its name.
    """
    short = {name: re.sub(r"^.*/|-v\d+$", "", name) or name for name in ids}
    if len({*short.values()}) < len(short):
        short = {name: name for name in ids}
    return [short[name] + more for name, more in zip(ids, told, strict=True)]


def settings(report: Report) -> dict[str, Any]:
    """Return what may tell a policy apart from another of the same name, each fact by its name."""
    return {
        "protocol": report.protocol.identity if report.protocol else None,
        "horizon": report.horizon,
        "samples": report.samples,
        "limits": report.limits,
        **_flat({**report.env_kwargs, **report.policy_facts}),
    }


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts, those that are mappings by the names of their parts."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        found.update(value if isinstance(value, dict) else {name: value})
    return found


def _differing(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the facts that are not the same everywhere."""
    names = dict.fromkeys(name for each in facts for name in each)
    return [n for n in names if any(each.get(n) != facts[0].get(n) for each in facts)]


def _named_apart(panels: Sequence[Sequence[Report]]) -> list[list[str]]:
    """Name the reports of panels, so that one policy has the same name on every panel.

    Policies of one name are told apart by the settings in which any two of them differ on a panel.
    """
    apart: dict[str, dict[str, None]] = {}
    for reports in panels:
        for report in reports:
            alike = [settings(other) for other in reports if other.policy == report.policy]
            apart.setdefault(report.policy, {}).update(dict.fromkeys(_differing(alike)))
    found: list[list[str]] = []
    for reports in panels:
        seen = Counter[str]()
        found.append([])
        for report in reports:
            mine = settings(report)
            told = [f"{n}={mine[n]!s:.60}" for n in apart[report.policy] if mine.get(n) is not None]
            name = f"{report.policy} ({', '.join(told)})" if told else report.policy
            seen[name] += 1
            found[-1].append(f"{name} no. {seen[name]}" if seen[name] > 1 else name)
    return found


def _row(name: str, reports: Sequence[Report | None]) -> MatrixRow:
    played = [report for report in reports if report is not None]
    yardstick = played[0].policy in YARDSTICKS
    differing = [] if yardstick else _differing([_flat(each.policy_facts) for each in played])
    entries = tuple(_entry(report) if report else None for report in reports)
    return MatrixRow(name, yardstick, entries, tuple(differing))


def _entry(report: Report) -> Entry:
    some = report.n > 0
    estimates = {"success": report.success_estimate, "score": report.score} if some else {}
    return Entry(
        {name: Figure(*estimate) for name, estimate in estimates.items()},
        report.n,
        report.errors,
        incomplete(report),
    )


def incomplete(report: Report) -> bool:
    """Return whether too many episodes of a report are broken, or not all were played."""
    return report.n == 0 or report.incomplete


def _with_scales(rows: list[MatrixRow], panels: Sequence[Sequence[Report]]) -> list[MatrixRow]:
    """Add what the scales of the reports say of random policy and expert, where no report does."""
    by_name = {row.policy: row for row in rows}
    for name in ("random", "oracle"):
        old = by_name.get(name)
        own = old.entries if old else [None] * len(panels)
        pairs = zip(own, panels, strict=True)
        entries = tuple(entry or _end(name, reports) for entry, reports in pairs)
        if any(entries):
            by_name[name] = MatrixRow(name, True, entries)
    return [*by_name.values()]


def _end(name: str, reports: Sequence[Report]) -> Entry | None:
    """Return an end of the scale that all reports of a panel agree on; None if they do not."""
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
    known = {"success": success, "score": score}
    figures = {value: Figure(number) for value, number in known.items() if number is not None}
    return Entry(figures, source="scale") if figures else None


def _below(high: float | None, low: float | None) -> bool:
    """Return whether an interval ends below another; an unknown one does not."""
    return high is not None and low is not None and high < low


def _mean(figures: Sequence[Figure]) -> Figure:
    known = [Estimate(v, a, b) for v, a, b in figures if a is not None and b is not None]
    if len(known) < len(figures):
        return Figure(sum(figure.value for figure in figures) / len(figures))
    return Figure(*mean_of_estimates(known))


def _record(row: MatrixRow, column: Column | None, entry: Entry | None) -> dict[str, Any]:
    figures = entry.figures if entry else {}
    numbers: dict[str, float | None] = {}
    for value in VALUES[::-1]:
        figure = figures.get(value)
        numbers[value] = figure.value if figure else None
        numbers[f"{value}_low"] = figure.low if figure else None
        numbers[f"{value}_high"] = figure.high if figure else None
    return {
        "policy": row.policy,
        "environment": column.name if column else AVERAGE,
        **numbers,
        "n": entry.n if entry else None,
        "broken": entry.broken if entry else None,
        "incomplete": entry.incomplete if entry else None,
        "source": "missing" if entry is None else entry.source if column else AVERAGE,
        "env_id": column.env_id if column else None,
        "panel_sha256": column.panel_sha256 if column else None,
    }
