"""Load the instances of a published set from files, a folder of files, or the hub."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.core.row_splits import SPLIT_NAMES
from agentgym.core.tasks import SPLITS
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.official.hub import asked_once
from agentgym.envs.swe.official.rows import read_row
from agentgym.envs.swe.official.sets import DataSet, data_set, known_set, recognise
from agentgym.errors import ConfigurationError, DataError, TaskNotFound, require
from agentgym.support.datafiles import ENDINGS, JSON, read_records, stem

FILE_ENDINGS = (*ENDINGS, JSON)
"""Extensions of files that can be a source."""
SAVED = ("dataset_dict.json", "state.json")
"""Files that mark a folder as written by ``save_to_disk``, with several splits or one."""
_log = logging.getLogger(__name__)


class OfficialInstances:
    """The instances of a published set, in its own splits.

    Args:
        source: A file of rows (``.jsonl``, ``.jsonl.gz``, ``.json``, ``.parquet``); a folder with
            such files except ``.json``, as in a copy from the hub
            (``data/train-00000-of-00002.parquet``); a folder written by ``save_to_disk`` of the
            package ``datasets``; the name of a set (``swe-gym``) or its id on the hub
            (``SWE-Gym/SWE-Gym``), which that package downloads.
        data_set: Name or hub id of the set; None: recognised by the fields of its rows.
        image_mirror: Registry and namespace to pull images from, such as
            ``registry.example:5000/mine``; empty: those of the images' names.
        skip_broken_rows: Skip rows that cannot be used, instead of raising an error.

    Raises:
        ConfigurationError: An argument is invalid.
        DataError: The source does not exist, or a row cannot be used; the message names its
            position and field.
        DependencyNotInstalled: A package is missing; the message names it.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        data_set: str | None = None,
        image_mirror: str = "",
        skip_broken_rows: bool = False,
    ) -> None:
        self.data_set, self.recognised = _find_named_set(source, data_set)
        self.source = str(source)
        self.name = _name(self.source)
        """Short name, used in the ids of tasks."""
        self.image_mirror = image_mirror
        self.skip_broken_rows = skip_broken_rows
        self.left_out: list[str] = []
        """Problem and position of each skipped row."""
        self._places: dict[str, tuple[str, int]] = {}
        self._splits: dict[str, list[Instance]] = {}
        names: dict[str, str] = {}  # interned: rows of a repository share most test names
        for split, place, row in _rows(self.source):
            self._take(split, place, row, names)
        if not self._places:
            some = bool(self.left_out)
            first = f"; of {len(self.left_out):,} broken ones: {self.left_out[0]}" if some else ""
            raise DataError(f"expected rows of a data set in {source}, but there is none{first}")
        if self.left_out:
            _log.warning(
                "%d rows of %s are left out; the first: %s",
                len(self.left_out), source, self.left_out[0],
            )  # fmt: skip
        self.splits = tuple(split for split in SPLITS if split in self._splits)
        """The splits with at least one instance."""

    def len(self, split: str) -> int:
        """Return the number of instances in a split.

        Raises:
            TaskNotFound: There is no such split.
        """
        return len(self._split(split))

    def instance(self, split: str, index: int) -> Instance:
        """Return the instance at an index of a split.

        Raises:
            TaskNotFound: There is no such split or index.
        """
        instances = self._split(split)
        if not 0 <= index < len(instances):
            raise TaskNotFound(
                f"expected an index from 0 to {len(instances) - 1} in split {split!r} of "
                f"{self.source}, got {index}"
            )
        return instances[index]

    def find(self, instance_id: str) -> tuple[str, int] | None:
        """Return the split and index of the instance with this id, or None."""
        return self._places.get(instance_id)

    def _split(self, split: str) -> list[Instance]:
        if split not in self._splits:
            raise TaskNotFound(
                f"expected a split of {self.source}: one of {', '.join(self._splits)}; "
                f"got {split!r:.80}"
            )
        return self._splits[split]

    def _own_split(self) -> str:
        assert self.data_set is not None  # a row has been read
        return self.data_set.split

    def _take(self, split: str, place: str, row: Any, names: dict[str, str]) -> None:
        """Add the instance of a row; with ``skip_broken_rows``, record an unusable row instead."""
        try:
            if self.data_set is None:
                self.data_set = _recognised(place, row)
            elif self.recognised:
                _check_set(row, self.data_set)
            instance = _shared(read_row(row, self.data_set, self.image_mirror), names)
            if instance.id in self._places:
                raise DataError(f"expected every instance_id once, got {instance.id!r} again")
        except DataError as problem:
            if not self.skip_broken_rows:
                raise DataError(
                    f"{problem}; in {place}; correct the row, or leave such rows out with "
                    "skip_broken_rows=True"
                ) from None
            self.left_out.append(f"{problem}; in {place}")
            return
        split = split or self._own_split()
        instances = self._splits.setdefault(split, [])
        self._places[instance.id] = split, len(instances)
        instances.append(instance)


def open_official(
    source: str, *, image_mirror: str = "", skip_broken_rows: bool = False
) -> OfficialInstances:
    """Return the instances of a source.

    Args:
        source: As for :class:`OfficialInstances`; or ``NAME:PATH``, which also names the set, as in
            ``swe-bench-lite:rows.jsonl``.
        image_mirror: Registry and namespace to pull images from.
        skip_broken_rows: Skip rows that cannot be used.

    Raises:
        ConfigurationError: An argument is invalid.
        DataError: The source does not exist, or a row cannot be used.
        DependencyNotInstalled: A package is missing; the message names it.
    """
    name, _, path = source.partition(":")
    has_name = known_set(name) is not None and bool(path)
    return OfficialInstances(
        path if has_name else source,
        data_set=name if has_name else None,
        image_mirror=image_mirror,
        skip_broken_rows=skip_broken_rows,
    )


def _find_named_set(source: Any, name: str | None) -> tuple[DataSet | None, bool]:
    """Return the set that the arguments name, if any, and whether to recognise it by its rows."""
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        raise ConfigurationError(
            f"expected the path of a file or folder, or the name of a data set, got {source!r:.80}"
        )
    if name is not None:
        return data_set(name), False
    named_set = known_set(str(source))
    return named_set, named_set is None


def _name(source: str) -> str:
    """Return the name of a set, file or folder, with characters that are safe in ids."""
    named_set = known_set(source)
    name = named_set.name if named_set else stem(Path(os.path.abspath(os.path.expanduser(source))))
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "rows"


def _recognised(place: str, row: Any) -> DataSet:
    recognised_set = recognise(_fields(row))
    _log.info("rows of the data set %s, to judge by the fields of %s", recognised_set.name, place)
    return recognised_set


def _fields(row: Any) -> list[str]:
    return [key for key, value in row.items() if value is not None] if isinstance(row, dict) else []


def _check_set(row: Any, data_set: DataSet) -> None:
    """Check that a row is of the set of the first row, whose images and directions it would get.

    Raises:
        DataError: It is of another set.
    """
    try:
        own_set = recognise(_fields(row))
    except DataError:  # it lacks a field, which its reader names
        return
    if own_set is not data_set and not (own_set.image and own_set.image == data_set.image):
        raise DataError(
            f"expected rows of {data_set.name}, as the first one is, got one of {own_set.name}; "
            "give each data set a file or folder of its own"
        )


def _shared(instance: Instance, names: dict[str, str]) -> Instance:
    """Intern the names of tests to save memory: SWE-smith has thousands in each row."""
    fails, passes = (
        tuple(names.setdefault(test, test) for test in tests)
        for tests in (instance.fail_to_pass, instance.pass_to_pass)
    )
    return replace(instance, fail_to_pass=fails, pass_to_pass=passes)


def _rows(source: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a source: the split or "", the position for messages, and the row."""
    root = Path(os.path.expanduser(source))
    if any((root / name).is_file() for name in SAVED):
        yield from _saved_rows(root)
        return
    if root.exists():
        for file in _files(root):
            for place, row in read_records(file, "swe"):
                yield _split_of(stem(file)), f"{file}, {place}", row
        return
    named_set = known_set(source)
    hub = named_set.hub[0] if named_set and source.lower() == named_set.name else source
    if named_set is None and (hub.count("/") != 1 or hub.endswith(FILE_ENDINGS)):
        raise DataError(
            f"expected a file that ends with {', '.join(FILE_ENDINGS)}, a folder with such "
            f"files, the name of a data set, or its id on the hub, got {source}, which does not "
            "exist; rows on disk are named by their path"
        )
    yield from _hub_rows(hub)


def _files(root: Path) -> list[Path]:
    """Return the files of a source, sorted so that the order is the same on every machine."""
    if root.is_file():
        if not root.name.endswith(FILE_ENDINGS):
            raise DataError(f"expected a file that ends with {', '.join(FILE_ENDINGS)}, got {root}")
        return [root]
    files = [
        file
        for file in sorted(root.rglob("*"))
        if file.is_file()
        and file.name.endswith(ENDINGS)
        and not any(part.startswith(".") for part in file.relative_to(root).parts)
    ]
    if not files:
        raise DataError(f"expected files that end with {', '.join(ENDINGS)} in {root}, got none")
    return files


def _saved_rows(root: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a folder that ``save_to_disk`` has written."""
    datasets = require("datasets", "swe")
    try:
        dataset = datasets.load_from_disk(str(root))
    except Exception as error:  # damaged files raise errors of many kinds
        raise DataError(
            f"expected a folder that save_to_disk has written, got {root}, which cannot be read "
            f"({type(error).__name__}: {error}); write it again with to_parquet or to_json"
        ) from error
    splits = dataset if isinstance(dataset, dict) else {str(dataset.split or ""): dataset}
    for name, rows in splits.items():
        for number, row in enumerate(rows):
            yield _split_of(name), f"{root}, split {name or root.name}, row {number}", row


def _split_of(name: str) -> str:
    """Return the split in a file's name, such as ``train-00000-of-00002``, or ""."""
    return SPLIT_NAMES.get(name.lower().partition("-")[0], "")


def _hub_rows(hub: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a data set on the hub."""
    datasets = require("datasets", "swe")
    try:
        with asked_once():
            splits = datasets.load_dataset(hub)
    except Exception as error:  # of many kinds: from the hub, the network, or files
        message = " ".join(str(error).split())[:300]
        raise DataError(
            f"expected to load the data set {hub} from the hub, got {type(error).__name__}: "
            f"{message}; if the hub cannot be reached from here, download its files elsewhere "
            f"(`hf download --repo-type dataset {hub} --local-dir FOLDER`) and name their folder "
            "or a file of rows (.jsonl, .parquet) as data"
        ) from error
    named_splits = [name for name in splits if _split_of(name)]
    # Other splits are subsets: "filtered" of SWE-rebench is a part of its "test".
    if named_splits and len(named_splits) < len(splits):
        _log.warning("of %s the splits %s are read, of %s", hub, named_splits, list(splits))
    for name in named_splits or splits:
        for number, row in enumerate(splits[name]):
            yield _split_of(name), f"{hub}, split {name}, row {number}", row
