"""Compare policies on the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from agentgym.errors import ConfigurationError
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.reports.data import FAILED
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_tables import REMEDY, UNKNOWN, interval, markdown_table
from agentgym.support.statistics import Estimate, mcnemar, paired_difference
from agentgym.support.terminal import cell, printable, table_text

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")
FORMAT = "agentgym.comparison/1"
"""Name and version of a comparison's format."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The paired difference of two reports on one panel: the first minus the second."""

    first: str
    """Name of the first policy."""
    second: str
    """Name of the second policy."""
    env_id: str
    """Id of the environment."""
    env_name: str
    """Display name of the environment: task set and arguments."""
    panel_sha256: str
    """Hash of the content of the tasks."""
    n: int
    """Number of tasks that count in both reports."""
    left_out: int
    """Number of tasks that do not count in one of them."""
    score: Estimate
    """Mean difference of the scores."""
    success: Estimate
    """Difference of the shares of solved tasks."""
    only_first: int | None
    """Number of tasks that only the first solves; None if tasks have several samples."""
    only_second: int | None
    """Number of tasks that only the second solves; None likewise."""
    p_value: float | None
    """p value of McNemar's exact test on these tasks."""
    differing: Mapping[str, tuple[Any, Any]]
    """Settings in which the two reports differ."""
    broken: tuple[int, int] = (0, 0)
    """Numbers of broken episodes of the first and of the second that are left out."""
    incomplete: tuple[bool, bool] = (False, False)
    """Whether the first and the second report are incomplete, see `Report.incomplete`."""
    all_counted: Comparison | None = None
    """The same comparison with broken episodes counted as unsolved; None if no episode is left
    out."""
    success_unknown: bool = False
    """Whether some episode's environment does not report success."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-safe data."""
        return {"format": FORMAT, **asdict(self)}

    def table(self) -> Table:
        """Return the comparison as a rich table of two columns."""
        from rich.table import Table

        title = f"{self.first} minus {self.second} on {self.env_name}"
        table = Table(title=cell(title), show_header=False)
        for name, text in self._cells():
            table.add_row(cell(name), cell(text))
        return table

    def __str__(self) -> str:
        """Return the table as text."""
        return table_text(self.table())

    def __repr__(self) -> str:
        """Return one line without settings, for interactive sessions."""
        names = f"{printable(self.first)} minus {printable(self.second)} on "
        comparison = self.all_counted or self
        figures = f"score {comparison.score.value:+.3f}, success {comparison.success.value:+.3f}"
        summary = UNKNOWN if self.success_unknown else figures
        return f"<Comparison: {names}{printable(self.env_id)}, {comparison.n:,} tasks, {summary}>"

    def markdown(self) -> str:
        """Return the comparison as a Markdown table."""
        return markdown_table([f"{self.first} minus {self.second}", self.env_name], self._cells())

    def _cells(self) -> list[tuple[str, str]]:
        cells = (self.all_counted or self)._figures()
        if self.all_counted is not None:
            broken = ", ".join(f"{count:,} of {name}" for name, count in self._sides(self.broken))
            reason = "the figures above count them as unsolved, as episodes do not break at random"
            cells.append(("broken", f"{broken}: {reason}; those below leave them out"))
            cells += self._figures()
        if incomplete := [name for name, flag in self._sides(self.incomplete) if flag]:
            cells.append(("incomplete", " and ".join(incomplete)))
        for name, (first, second) in self.differing.items():
            cells.append((f"differs: {name}", f"{first!r:.80} and {second!r:.80}"))
        return cells

    def _sides(self, values: tuple[T, T]) -> Iterator[tuple[str, T]]:
        return zip((self.first, self.second), values, strict=True)

    def _figures(self) -> list[tuple[str, str]]:
        if self.success_unknown:
            return [("success", f"{UNKNOWN}: {REMEDY}")]
        tasks = f"{self.n:,}" + (f" ({self.left_out:,} left out)" if self.left_out else "")
        cells = [
            ("score", interval(self.score)),
            ("success", interval(self.success)),
            ("tasks", tasks),
        ]
        if self.only_first is not None:
            solved = f"{self.first} {self.only_first:,}, {self.second} {self.only_second:,}"
            cells.append(("solved by one only", f"{solved}; p = {self.p_value:.3g}"))
        return cells


def compare(first: Report, second: Report) -> Comparison:
    """Compare two reports task by task.

    Args:
        first: A report.
        second: Another report on the same panel.

    Returns:
        Mean of first - second with 95 % intervals over the tasks that count in both; several
        samples of a task are averaged. If broken episodes are left out, the result also contains
        the comparison over all tasks with these as unsolved.

    Raises:
        ConfigurationError: The panels differ, or no task counts in both.
    """
    if (first.env_id, first.panel_sha256) != (second.env_id, second.panel_sha256):
        raise ConfigurationError(
            f"expected two reports on one panel, got {first.env_name} with sha256 "
            f"{first.panel_sha256[:16]} and {second.env_name} with {second.panel_sha256[:16]}: "
            "evaluate both with the same environment arguments, split, n and seed"
        )
    first_tasks, second_tasks = first.by_task, second.by_task
    shared = [task_id for task_id in first_tasks if task_id in second_tasks]
    if not shared:
        raise ConfigurationError("expected a task that counts in both reports, got none")
    pairs = [(first_tasks[task_id], second_tasks[task_id]) for task_id in shared]
    # McNemar's test needs one binary outcome per task and policy, not means of several samples.
    single = all(len(a) == len(b) == 1 for a, b in pairs)
    only_first = sum(a[0].success > b[0].success for a, b in pairs) if single else None
    only_second = sum(a[0].success < b[0].success for a, b in pairs) if single else None
    return Comparison(
        first.policy,
        second.policy,
        first.env_id,
        first.env_name,
        first.panel_sha256,
        len(shared),
        len({**first_tasks, **second_tasks}) - len(shared),
        _difference(pairs, lambda row: row.score),
        _difference(pairs, lambda row: float(row.success)),
        only_first,
        only_second,
        mcnemar(only_first or 0, only_second or 0) if single else None,
        _differing(first, second),
        (first.left_out, second.left_out),
        (first.incomplete, second.incomplete),
        # The recursion ends, because reports that count broken episodes leave none out.
        compare(counted(first), counted(second)) if first.left_out or second.left_out else None,
        first.success_unknown or second.success_unknown,
    )


def counted(report: Report) -> Report:
    """Return a report with broken episodes counted as unsolved."""
    return replace(report, failed="count")


def _difference(
    pairs: Sequence[tuple[list[EpisodeResult], list[EpisodeResult]]],
    value: Callable[[EpisodeResult], float],
) -> Estimate:
    means = [[sum(map(value, rows)) / len(rows) for rows in pair] for pair in pairs]
    return paired_difference([first for first, _ in means], [second for _, second in means])


def _differing(first: Report, second: Report) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which two evaluations differ, with both values."""
    facts = [
        {
            "protocol": report.protocol.identity if report.protocol else None,
            "horizon": report.horizon,
            "limits": asdict(report.limits) if report.limits else None,
            "samples": report.samples,
            "failed": report.failed if report.errors else FAILED[0],
            "seed": report.seed,
            "commit": report.commit,
            **{f"env.{name}": value for name, value in report.env_kwargs.items()},
            **{f"policy.{name}": value for name, value in report.policy_facts.items()},
        }
        for report in (first, second)
    ]
    names = {**facts[0], **facts[1]}
    return {
        name: (facts[0].get(name), facts[1].get(name))
        for name in names
        if facts[0].get(name) != facts[1].get(name)
    }
