"""How the bundled tasks are made: the libraries of each set, and how many faults of a kind."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.envs.swe import bundled
from agentgym.envs.swe import stored_instances as stored
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.task_builder import (
    BuildProgress,
    Watch,
    build_tasks,
    library_name,
)
from agentgym.envs.swe.stored_instances import (
    INSTANCES,
    InstanceRecord,
    digest,
    read_lines,
)

TASKS: Mapping[str, Mapping[str, int]] = {
    "bundled": {
        "two-faults": 7,
        "removed-feature": 7,
        "missing-validation": 4,
        "changed-interface": 3,
        "moved-function": 3,
        "regression": 6,
    },
    "bundled-tokens": {"mutation": 20},
}
"""Most tasks of a library, by set and kind."""
LATER: Mapping[str, str] = {
    "durationtext-1.1": "1.0",
    "linkquery-1.2": "1.1",
    "rollwindow-0.7": "0.6",
    "verrange-1.4": "1.3",
}
"""Later releases of bundled libraries, and the release before each. They have regressions alone."""
REGRESSIONS = bundled.BUNDLED / "regressions"
"""Patches that put regressions into these releases, a folder for each release."""
SEED = 0
"""Seed of the frozen faults."""
VALID = ("citepress", "inifold", "rollwindow", "statewalk", "workcal")
"""Libraries of the split ``valid``."""
TEST = ("laxjson", "liftsim", "linkquery", "pocketsql", "tallybook")
"""Libraries of the split ``test``."""


def repositories() -> list[str]:
    """Return the names of the bundled libraries, in order, and then of their later releases."""
    names = [path.name for path in bundled.REPOSITORIES.iterdir() if (path / "tests").is_dir()]
    return sorted(names, key=lambda name: (name in LATER, name))


def split_of(repository: str) -> str:
    """Return the split of a bundled library, or of a release of it."""
    repository = library_name(repository)
    return "valid" if repository in VALID else "test" if repository in TEST else "train"


def build_bundled(
    output: Path,
    set_name: str = "bundled",
    *,
    only: tuple[str, ...] = (),
    limit: int | None = None,
    boxes: Boxes | None = None,
    watch: Watch | None = None,
) -> list[BuildProgress]:
    """Make the bundled tasks, each library in a folder of its own.

    Args:
        output: Where the folders are made; an interrupted run resumes, and after a finished one
            only libraries that have changed are rebuilt.
        set_name: The set, a key of :data:`TASKS`.
        only: Names of libraries; all if empty.
        limit: Most tasks of a kind and library, if fewer than :data:`TASKS` says.
        boxes: How boxes are opened.
        watch: Called after every trial.

    Returns:
        The outcome of each library.
    """
    rows = []
    counts = {
        kind: min(full_count, limit or full_count) for kind, full_count in TASKS[set_name].items()
    }
    for name in only or repositories():
        stored_folder = output / name / stored.REPOSITORIES / name
        if stored_folder.is_dir() and digest(stored_folder) != digest(bundled.library(name)):
            shutil.rmtree(output / name)
        common: dict[str, Any] = {"boxes": boxes, "split": split_of(name), "watch": watch}
        kinds = {kind: n for kind, n in counts.items() if (kind == "regression") == (name in LATER)}
        if name in LATER:
            common |= {"regressions": REGRESSIONS / name, "release_before": LATER[name]}
        if kinds:
            rows.append(
                build_tasks(bundled.library(name), output / name, kinds, seed=SEED, **common)
            )
    return rows


def bundled_folders(output: Path) -> list[Path]:
    """Return the folders of :func:`build_bundled` that hold tasks."""
    return [output / name for name in repositories() if (output / name / INSTANCES).exists()]


def collect_banks(output: Path) -> None:
    """Put the held-out questions of the folders of :func:`build_bundled` into one."""
    target = output / stored.HELD_OUT
    target.mkdir(exist_ok=True)
    for folder in bundled_folders(output):
        for file in sorted((folder / stored.HELD_OUT).glob("*.json.gz")):
            shutil.copyfile(file, target / file.name)


def frozen_text(output: Path) -> str:
    """Return the text of a set's file from the folders of :func:`build_bundled`.

    Raises:
        DataError: A file of them is damaged.
    """
    lines = []
    for name in repositories():
        file = output / name / INSTANCES
        entries = [*read_lines(file)] if file.exists() else []
        tasks = [entry for entry in entries if isinstance(entry, InstanceRecord)]
        lines += [entry.line() for entry in entries if not isinstance(entry, InstanceRecord)]
        # Ordered, since kinds that were continued in a later run were written later.
        for task in sorted(tasks, key=lambda record: record.id):
            lines.append(replace(task, split=split_of(task.repo)).line())
    return "".join(lines)
