"""The bundled tasks: small libraries of our own, and faults in them that were validated once.

They lie as ``agentgym swe build`` lays tasks out. The name of their folder is no identifier, so
that nothing in it can be imported or be taken for a module of the package: it is data.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from agentgym.envs.swe.generator import stored_instances as stored
from agentgym.envs.swe.generator.stored_instances import (
    INSTANCES,
    InstanceRecord,
    StoredInstances,
    digest,
    read_lines,
)
from agentgym.envs.swe.generator.task_builder import BuildProgress, Watch, build_mutations
from agentgym.envs.swe.instance_boxes import Boxes

BUNDLED = Path(__file__).parents[1] / "bundled.d"
"""The folder of the tasks."""
REPOSITORIES = BUNDLED / stored.REPOSITORIES
"""The libraries, one folder each."""
FROZEN = BUNDLED / INSTANCES
"""Their faults."""
TASKS_PER_REPOSITORY = 20
"""Most tasks of a library."""
SEED = 0
"""Seed of the frozen faults."""
VALID = ("inifold", "rollwindow", "statewalk", "workcal")
"""Libraries of the split ``valid``."""
TEST = ("laxjson", "liftsim", "linkquery", "tallybook")
"""Libraries of the split ``test``."""


@cache
def bundled_instances() -> StoredInstances:
    """Return the bundled tasks: splits ``train``, ``valid`` and ``test``, disjoint by library.

    Raises:
        DataError: The installation lacks them.
    """
    return StoredInstances(BUNDLED)


def repositories() -> list[str]:
    """Return the names of the bundled libraries, in order."""
    return sorted(path.name for path in REPOSITORIES.iterdir() if (path / "tests").is_dir())


def split_of(repository: str) -> str:
    """Return the split of a bundled library."""
    return "valid" if repository in VALID else "test" if repository in TEST else "train"


def build_bundled(
    output: Path,
    *,
    only: tuple[str, ...] = (),
    limit: int = TASKS_PER_REPOSITORY,
    boxes: Boxes | None = None,
    watch: Watch | None = None,
) -> list[BuildProgress]:
    """Make the bundled tasks, each library in a folder of its own.

    Args:
        output: Where the folders are made; a run that was cut off goes on, and of a finished one
            only the libraries that have changed since are made anew.
        only: Names of libraries; all if empty.
        limit: Most tasks of a library.
        boxes: How boxes are opened.
        watch: Called after every trial.

    Returns:
        What came of each library.
    """
    rows = []
    for name in only or repositories():
        held = output / name / stored.REPOSITORIES / name
        if held.is_dir() and digest(held) != digest(REPOSITORIES / name):
            shutil.rmtree(output / name)
        common: dict[str, Any] = {"boxes": boxes, "split": split_of(name), "watch": watch}
        source = REPOSITORIES / name
        rows.append(build_mutations(source, output / name, limit=limit, seed=SEED, **common))
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
    """Return the text of :data:`FROZEN` from the folders of :func:`build_bundled`.

    Raises:
        DataError: A file of them is damaged.
    """
    lines = []
    for name in repositories():
        file = output / name / INSTANCES
        for entry in read_lines(file) if file.exists() else ():
            if isinstance(entry, InstanceRecord):
                entry = replace(entry, split=split_of(entry.repo))
            lines.append(entry.line())
    return "".join(lines)


def repository_digests() -> dict[str, str]:
    """Return the hash of every bundled library."""
    return {name: digest(REPOSITORIES / name) for name in repositories()}
