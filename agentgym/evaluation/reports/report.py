"""The report of an evaluation: its data, and its output formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.evaluation.reports.charts import chart_report
from agentgym.evaluation.reports.data import ReportData
from agentgym.evaluation.reports.report_json import report_to_dict
from agentgym.evaluation.reports.report_tables import (
    headline,
    report_html,
    report_markdown,
    report_table,
)
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from rich.table import Table


@dataclass(frozen=True, repr=False)
class Report(ReportData):
    """Result of `agentgym.evaluate`; its fields and figures are those of `ReportData`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-safe data; see `agentgym.evaluation.reports.report_json`."""
        return report_to_dict(self)

    def table(self, words: Callable[[str], str] = str) -> Table:
        """Return the summary as a rich table of two columns.

        Args:
            words: Rewrites advice, for example with the command's flags for Python names.
        """
        return report_table(self, words)

    def markdown(self) -> str:
        """Return the summary, and the results by kind of task, as Markdown."""
        return report_markdown(self)

    def chart(self, path: str | Path | None = None) -> Figure:
        """Draw the report, see `agentgym.evaluation.reports.charts.chart_report`."""
        return chart_report(self, path)

    def __repr__(self) -> str:
        """Return one line without the episodes, for interactive sessions."""
        summary = f"{printable(self.policy)} on {printable(self.env_name)}, {self.split}"
        summary += f", {self.n:,} episodes"
        if self.n:
            summary += f", {headline(self)}"
        summary += f", {self.errors:,} broken" if self.errors else ""
        return f"<Report: {summary}{', incomplete' if self.incomplete else ''}>"

    def _repr_html_(self) -> str:
        return report_html(self)
