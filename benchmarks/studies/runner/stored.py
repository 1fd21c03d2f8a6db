"""Protect stored results from being overwritten.

A new result only replaces a stored one if it contains all of its runs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.phases.multirun.cache import Run

NAMED = 3
"""Most runs that an error names."""

Id = tuple[str, str]
"""The arm of a run and its key, which differs by settings and seed."""


def result_path(study: str, folder: Path) -> Path:
    """Return the file of a study's result in a folder."""
    return folder / f"{study}.json"


def ids_of(runs: Collection[Run]) -> set[Id]:
    """Return the ids of runs."""
    return {(run.arm, run.keys.run) for run in runs}


def ids_in(result: Mapping[str, Any]) -> dict[Id, str]:
    """Return the ids of the runs in a result, with their names."""
    return {
        (arm, fact["key"]): f"{arm}, seed {fact['seed']}"
        for arm, entry in result["runs"].items()
        for fact in entry["runs"]
    }


def check_replaceable(path: Path, ids: Collection[Id], description: str) -> None:
    """Check that a new result has all runs of the stored one.

    Args:
        path: File of the result, which need not exist.
        ids: Runs of the new result.
        description: Description of these runs for the error: ``measured``.

    Raises:
        ConfigurationError: Runs would be lost, or the file is of another kind.
    """
    if not path.exists():
        return
    advice = "give another folder by --results FOLDER, or --replace to lose what is in the file"
    try:
        stored = ids_in(json.loads(path.read_text()))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConfigurationError(
            f"expected {path} to be the result of a study, which lists its runs, or not to be "
            f"there; got something else ({type(error).__name__}); {advice}"
        ) from error
    missing = [name for key, name in stored.items() if key not in ids]
    if missing:
        named = "; ".join(missing[:NAMED]) + (
            f"; and {len(missing) - NAMED} more" * (len(missing) > NAMED)
        )
        raise ConfigurationError(
            f"expected all {len(stored)} runs of the result in {path} to be among the "
            f"{len(ids)} {description}, as it would be replaced; got none with the settings of: "
            f"{named}. Nothing was written: play or collect these too (--seeds, --only, --out), "
            f"{advice}"
        )
