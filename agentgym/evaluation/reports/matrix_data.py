"""The numbers of the table of a paper: policies in rows, environments in columns."""

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
    """Lower end of its 95 % interval; None where the interval is unknown."""
    high: float | None = None
    """Upper end."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, which is not symmetrical; None where it is unknown."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class MatrixColumn:
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
class MatrixEntry:
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
    entries: tuple[MatrixEntry | None, ...]
    """One for each column; None where it was not played."""
    differing: tuple[str, ...] = ()
    """Settings of the policy that are not the same in all environments."""

    @cached_property
    def average(self) -> MatrixEntry | None:
        """The mean over all columns; None where one of them is missing.

        An average over fewer environments is another number, and not to be compared. The interval
        is that of `agentgym.support.statistics.mean_of_estimates`.
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
    """The numbers of the table, and what is marked in it.

    Models stand first, the best average at the top; then floors and expert.
    """

    value: str
    """What its cells show: ``success`` or ``score``."""
    columns: tuple[MatrixColumn, ...]
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

    def entries(self, row: MatrixRow) -> list[MatrixEntry | None]:
        """Return a row's entries, its average among them if there is such a column."""
        return [*row.entries, *([row.average] if self.averages else [])]

    def figure(self, entry: MatrixEntry | None) -> Figure | None:
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
        winners = {}
        for index in range(len(self.header)):
            cells = [(row, self.entries(row)[index]) for row in models]
            candidates = [
                (row, entry, figure) for row, entry in cells if (figure := self.figure(entry))
            ]
            for row, entry, figure in candidates:
                highs = [other.high for rival, _, other in candidates if rival is not row]
                above = all(_below(high, figure.low) for high in highs)
                if highs and above and not (entry and entry.incomplete):
                    winners[index] = row
        return winners

    def records(self) -> list[dict[str, Any]]:
        """Return a flat mapping for each policy and environment, and for each average.

        Numbers are from 0 to 1, and None where they are unknown; the average's ``environment`` is
        ``average``.
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
        """Return whether the values of another matrix of the same reports are those of this one."""
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
    """Return whether an interval ends below another; an unknown one does not."""
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
