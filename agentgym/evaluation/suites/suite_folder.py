"""The folder of a suite: a subfolder for each evaluation, and their leaderboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.evaluation.evaluation_folder import read_report
from agentgym.evaluation.reports.leaderboard import Leaderboard
from agentgym.evaluation.reports.report import Report
from agentgym.support.caching import write_atomically
from agentgym.support.strict_json import parse_json

EVALUATION = ("report.json", "evaluation.json")
"""Files by which the folder of a single evaluation is recognised."""
TABLE = "leaderboard.json"
"""File of the leaderboard as data, with the names of the subfolders."""


def write_leaderboard(folder: Path, board: Leaderboard, names: Sequence[str]) -> None:
    """Write the leaderboard of the evaluations played so far.

    Args:
        folder: Folder of the suite.
        board: The leaderboard.
        names: Names of the subfolders of its reports, in order.
    """
    data = {**board.to_dict(), "folders": list(names)}
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    write_atomically(folder / TABLE, text.encode())
    write_atomically(folder / "leaderboard.md", board.markdown().encode())


def holds_several(folder: Path) -> bool:
    """Return whether a folder is the folder of a suite."""
    return folder.is_dir() and (folder / TABLE).is_file()


def evaluation_folders(folder: Path) -> list[Path]:
    """Return the subfolders of a suite's evaluations, in the order of the leaderboard.

    Raises:
        DataError: The leaderboard is damaged.
    """
    file = folder / TABLE
    try:
        # Only the last component, so that an edited file cannot point to another folder.
        return [folder / Path(name).name for name in parse_json(file.read_text("utf-8"))["folders"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected {file} to hold a leaderboard, but: {error!r:.200}") from error


def reports_before(folder: Path) -> dict[str, Report]:
    """Return the reports of an existing leaderboard, by the names of their subfolders.

    Raises:
        ConfigurationError: The folder contains a single evaluation.
    """
    if (folder / "evaluation.json").exists():
        raise ConfigurationError(
            f"expected a new folder for several evaluations, or one of several, got {folder}, "
            "which holds a single one; choose another --out (out=)"
        )
    reports: dict[str, Report] = {}
    with suppress(AgentGymError):  # a damaged table is written again
        for path in evaluation_folders(folder) if holds_several(folder) else ():
            with suppress(AgentGymError):
                reports[path.name] = read_report(path)
    return reports


def reports_at(path: Path) -> list[Path]:
    """Return the paths of the reports at a path: of a suite, or of the folders directly below it.

    Raises:
        DataError: A leaderboard is damaged.
    """
    if holds_several(path):
        return evaluation_folders(path)
    if not path.is_dir() or any((path / name).exists() for name in EVALUATION):
        return [path]
    return sorted(file.parent for file in path.glob("*/report.json")) or [path]
