"""The table of published sets: how to recognise their rows, and the layout of their images.

``sets.yaml`` holds it, with the source of each fact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.errors import ConfigurationError, DataError
from agentgym.support.bundled_files import read_table

CONDA = ("/opt/miniconda3/envs/testbed/bin", "/opt/miniconda3/bin")
"""Folders of Python in images built like SWE-bench's [SWE-bench: harness/dockerfiles]."""


@dataclass(frozen=True)
class DataSet:
    """Properties of a published set."""

    name: str
    """Name in agentgym."""
    hub: tuple[str, ...]
    """Its ids on the Hugging Face hub."""
    split: str
    """Split of rows whose source names none."""
    fields: tuple[str, ...]
    """Fields that all its rows have; they recognise the set."""
    without: tuple[str, ...] = ()
    """Fields that none of its rows has."""
    image: str = ""
    """Image of rows that name none: ``{id}`` is the instance's id, ``{repo}`` the repository."""
    separator: str = "_1776_"
    """Replacement for ``__`` of an id in the image's name, where Docker does not allow it."""
    workdir: str = "/testbed"
    """Path of the repository in the images; ``{repo}`` is the last part of its name."""
    path: tuple[str, ...] = CONDA
    """Folders in the images to put first in ``PATH``: those of the repository's Python."""
    hidden: tuple[str, ...] = ()
    """Files and folders in the images to hide from agents, because they reveal the tests."""
    protected: tuple[str, ...] = ()
    """Patterns of files in the repository in which the agent's changes do not count."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of commands and tests."""


DATA_SETS: Mapping[str, DataSet] = {
    dataset.name: dataset for dataset in read_table(tuple[DataSet, ...], __file__)
}
"""The supported sets, by name."""


NOT_PLAYED: Mapping[str, tuple[str, ...]] = {
    # [SWE-bench_Pro-os: swe_bench_pro_eval.py, run_scripts: a script and a parser per instance].
    "SWE-bench Pro": ("before_repo_set_cmd", "selected_test_files_to_run"),
    "Multi-SWE-bench": ("org", "number", "fix_patch"),
    "SWE-PolyBench": ("F2P", "P2P"),
}
"""Known sets that are not supported, and the fields that recognise them."""


def data_set(name: Any) -> DataSet:
    """Return the set with a name, or with an id on the hub.

    Raises:
        ConfigurationError: There is no such set; the message lists those that exist.
    """
    dataset = known_set(name) if isinstance(name, str) else None
    if dataset is None:
        raise ConfigurationError(
            f"expected a data set among {', '.join(DATA_SETS)}, or its id on the hub; "
            f"got {name!r:.100}"
        )
    return dataset


def known_set(name: str) -> DataSet | None:
    """Return the set of a name, or of an id on the hub; None if there is no such set."""
    lowered = name.lower()
    for dataset in DATA_SETS.values():
        if lowered == dataset.name or lowered in map(str.lower, dataset.hub):
            return dataset
    return None


def recognise(fields: Collection[str]) -> DataSet:
    """Return the set whose rows have these fields.

    Raises:
        DataError: No set's rows look like this.
    """
    for name, needed in NOT_PLAYED.items():
        if all(field_ in fields for field_ in needed):
            raise DataError(
                f"expected rows of a set among {', '.join(DATA_SETS)}, got rows of {name}: how its "
                "tests are run and read does not stand in them, so they cannot be played here"
            )
    for dataset in DATA_SETS.values():
        if all(name in fields for name in dataset.fields) and not any(
            name in fields for name in dataset.without
        ):
            return dataset
    raise DataError(
        f"expected rows of a set among {', '.join(DATA_SETS)}, got rows with the fields "
        f"{', '.join(map(str, fields))!r:.300}; say which set it is if you know it"
    )
