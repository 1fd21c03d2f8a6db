"""The data of a paper's table: policies in rows, environments in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agentgym.errors import require
from agentgym.protocols.schema import VALUES
from agentgym.support.statistics import Estimate, mean_of_estimates

AVERAGE = "average"
"""Name of the column of averages."""


class Figure(NamedTuple):
    """A number of the table, from 0 to 1."""

    value: float
    """The number."""
    low: float | None = None
    """Lower end of its 95 % interval; None if unknown."""
    high: float | None = None
    """Upper end; None if unknown."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, which need not be symmetrical; None if unknown."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class MatrixColumn:
    """An environment, with the tasks that were played."""

    name: str
    """Short name, unique among the columns."""
    env_id: str
    """Id of the environment."""
    panel: str
    """Description of the tasks."""
    panel_sha256: str
    """Hash of the content of the tasks."""


@dataclass(frozen=True)
class MatrixEntry:
    """Results of a policy on an environment, or on average."""

    figures: Mapping[str, Figure]
    """``success`` and ``score``, if known."""
    n: int | None = None
    """Number of episodes that count; None if unknown, and for an average."""
    broken: int | None = None
    """Number of broken episodes."""
    incomplete: bool = False
    """Whether too many episodes are broken, or not all were played."""
    source: str = "report"
    """``report``, or ``scale``: taken from the scale in reports of other policies."""


@dataclass(frozen=True)
class MatrixRow:
    """A policy on every environment."""

    policy: str
    """Name of the policy, made unique."""
    yardstick: bool
    """Whether it is a reference policy: random, blind or an expert."""
    entries: tuple[MatrixEntry | None, ...]
    """One entry per column; None if the policy was not evaluated there."""
    differing: tuple[str, ...] = ()
    """Settings of the policy that differ between environments."""

    @cached_property
    def average(self) -> MatrixEntry | None:
        """The mean over all columns; None if one of them is missing.

        An average over fewer environments would not be comparable. The interval is computed by
        `agentgym.support.statistics.mean_of_estimates`.
        """
        entries = [entry for entry in self.entries if entry is not None]
        if len(entries) < len(self.entries):
            return None
        figures = {
            value: _mean([entry.figures[value] for entry in entries])
            for value in VALUES
            if all(value in entry.figures for entry in entries)
        }
        incomplete = any(entry.incomplete for entry in entries)
        return MatrixEntry(figures, incomplete=incomplete) if figures else None


@dataclass(frozen=True, repr=False)
class MatrixData:
    """The numbers of the table, and its best entries.

    Models come first, with the best average at the top, then the reference policies.
    """

    value: str
    """Quantity in the cells: ``success`` or ``score``."""
    columns: tuple[MatrixColumn, ...]
    """The environments."""
    rows: tuple[MatrixRow, ...]
    """The policies."""

    @property
    def averages(self) -> bool:
        """Whether there is a column of averages: some policy was evaluated everywhere."""
        return len(self.columns) > 1 and any(self.figure(row.average) for row in self.rows)

    @property
    def header(self) -> list[str]:
        """Names of the columns of numbers."""
        return [
            *(column.name for column in self.columns),
            *([AVERAGE.capitalize()] if self.averages else []),
        ]

    def entries(self, row: MatrixRow) -> list[MatrixEntry | None]:
        """Return a row's entries, followed by its average if there is such a column."""
        return [*row.entries, *([row.average] if self.averages else [])]

    def figure(self, entry: MatrixEntry | None) -> Figure | None:
        """Return the number of an entry that the table shows; None if unknown."""
        return entry.figures.get(self.value) if entry else None

    @cached_property
    def best(self) -> Mapping[int, MatrixRow]:
        """Column -> its best model, if its interval lies above the intervals of all others.

        Disjoint intervals are a stricter test than the paired difference, and readers can check
        them in the table. An incomplete entry is never the best, but the best must exceed it.
        """
        models = [row for row in self.rows if not row.yardstick]
        winners = {}
        for index in range(len(self.header)):
            cells = [(row, self.entries(row)[index]) for row in models]
            candidates = [
                (row, entry, figure) for row, entry in cells if (figure := self.figure(entry))
            ]
            for row, entry, figure in candidates:
                highs = [value.high for rival, _, value in candidates if rival is not row]
                above = all(_below(high, figure.low) for high in highs)
                if highs and above and not (entry and entry.incomplete):
                    winners[index] = row
        return winners

    def records(self) -> list[dict[str, Any]]:
        """Return a flat mapping for each policy and environment, and for each average.

        Numbers are from 0 to 1, or None if unknown; ``environment`` of an average is ``average``.
        """
        records = []
        for row in self.rows:
            pairs: list[tuple[MatrixColumn | None, MatrixEntry | None]] = [
                *zip(self.columns, row.entries, strict=True)
            ]
            if len(self.columns) > 1:
                pairs.append((None, row.average))
            records += [_record(row, column, entry) for column, entry in pairs]
        return records

    def shows_the_same(self, other: MatrixData) -> bool:
        """Return whether another matrix of the same reports shows the same numbers."""
        other_rows = {row.policy: row for row in other.rows}
        pairs = (
            (self.figure(entry), other.figure(its))
            for row in self.rows
            for entry, its in zip(row.entries, other_rows[row.policy].entries, strict=True)
        )
        return all((a and a.value) == (b and b.value) for a, b in pairs)

    def to_frame(self) -> Any:
        """Return `records` as a pandas data frame.

        ``frame.pivot(index="policy", columns="environment", values="success")`` is the table.

        Raises:
            DependencyNotInstalled: pandas is absent.
        """
        return require("pandas", "notebooks").DataFrame(self.records())


def _below(high: float | None, low: float | None) -> bool:
    """Return whether an interval ends below another one; False if an end is unknown."""
    return high is not None and low is not None and high < low


def _mean(figures: Sequence[Figure]) -> Figure:
    estimates = [Estimate(v, a, b) for v, a, b in figures if a is not None and b is not None]
    if len(estimates) < len(figures):
        return Figure(sum(figure.value for figure in figures) / len(figures))
    return Figure(*mean_of_estimates(estimates))


def _record(
    row: MatrixRow, column: MatrixColumn | None, entry: MatrixEntry | None
) -> dict[str, Any]:
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
