"""The bundled tasks: small libraries of our own, and faults in them that were validated once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from agentgym.envs.swe.boxes import Boxes
from agentgym.envs.swe.generator.building import Progress, Watch, build_mutations
from agentgym.envs.swe.generator.stored import (
    INSTANCES,
    Record,
    StoredInstances,
    digest,
    read_lines,
)

REPOSITORIES = Path(__file__).parents[1] / "repositories"
"""The libraries, one folder each."""
FROZEN = Path(__file__).with_name("mutations.jsonl")
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
    return StoredInstances(REPOSITORIES.parent, FROZEN, REPOSITORIES)


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
) -> list[Progress]:
    """Make the bundled tasks anew, each library in a folder of its own.

    Args:
        output: Where the folders are made; a run that was cut off goes on.
        only: Names of libraries; all if empty.
        limit: Most tasks of a library.
        boxes: How boxes are opened.
        watch: Called after every trial.

    Returns:
        What came of each library.
    """
    return [
        build_mutations(
            REPOSITORIES / name,
            output / name,
            limit=limit,
            seed=SEED,
            boxes=boxes,
            split=split_of(name),
            watch=watch,
        )
        for name in only or repositories()
    ]


def frozen_text(output: Path) -> str:
    """Return the text of :data:`FROZEN` from the folders of :func:`build_bundled`.

    Raises:
        DataError: A file of them is damaged.
    """
    lines = []
    for name in repositories():
        file = output / name / INSTANCES
        for entry in read_lines(file) if file.exists() else ():
            if isinstance(entry, Record):
                entry = replace(entry, split=split_of(entry.repo))
            lines.append(entry.line())
    return "".join(lines)


def repository_digests() -> dict[str, str]:
    """Return the hash of every bundled library."""
    return {name: digest(REPOSITORIES / name) for name in repositories()}
