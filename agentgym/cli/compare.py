"""``agentgym compare``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Compare
    from agentgym.evaluation import Report


def compare(command: Compare, console: Console) -> int:
    """Compare two trainings or two reports, or show several reports in one table."""
    from agentgym.evaluation import Comparison, Leaderboard, compare
    from agentgym.evaluation.training_runs import is_run, matching_paths

    paths = [path for pattern in command.paths for path in matching_paths(pattern)]
    if any(map(is_run, paths)):
        return _compare_trainings(command, paths, console)
    reports = _reports(paths)
    board = Leaderboard(reports)
    if command.chart:
        board.chart(command.chart)
    if command.format in ("latex", "csv"):
        sys.stdout.write(board.latex() if command.format == "latex" else board.csv())
        return 0
    two = len(reports) == 2 and len(paths) == 2
    result = compare(*reports) if two else board
    if command.format == "json":
        sys.stdout.write(json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n")
    elif command.format == "markdown":
        sys.stdout.write(result.markdown())
    else:
        tables = [result.table()] if isinstance(result, Comparison) else result.tables()
        console.print(*tables, sep="\n")
    return 0


def _compare_trainings(command: Compare, paths: Sequence[Path], console: Console) -> int:
    """Compare two trainings by the folders of their runs."""
    from agentgym.evaluation.reports.training_comparison import compare_read
    from agentgym.evaluation.suites.suite_folder import EVALUATION, holds_several
    from agentgym.evaluation.training_runs import two_trainings

    for path in paths:
        if holds_several(path) or any((path / name).exists() for name in EVALUATION):
            raise ConfigurationError(
                f"expected two trainings or two evaluations, got both, {path} among the latter: "
                "play the trained policy with agentgym eval --policy RUN --out FOLDER first"
            )
    if command.chart or command.format in ("latex", "csv"):
        raise ConfigurationError(
            "expected --format table, markdown or json, and no --chart, for the folders of "
            "trainings: these are for evaluations, such as of agentgym eval --policy RUN"
        )
    comparison = compare_read(*two_trainings(command.paths))
    if command.format == "json":
        sys.stdout.write(json.dumps(comparison.to_dict(), indent=2, allow_nan=False) + "\n")
    elif command.format == "markdown":
        sys.stdout.write(comparison.markdown())
    else:
        console.print(comparison.table())
    return 0


def _reports(paths: Sequence[Path]) -> list[Report]:
    """Read the reports at paths; those of a suite are in the order of the suite."""
    from agentgym.evaluation import read_report
    from agentgym.evaluation.suites.suite_folder import reports_at
    from agentgym.viewer import is_html

    reports: list[Report] = []
    for path in paths:
        if is_html(path):
            raise ConfigurationError(
                f"expected folders of evaluations, or report.json files, got {path}, a page for "
                "the browser; leave it out"
            )
        reports += map(read_report, reports_at(path))
    if len(reports) < 2:
        raise ConfigurationError(
            "expected two evaluations or more to compare, or the folder of several, got "
            f"{' '.join(map(str, paths)) or 'none'}"
        )
    return reports
