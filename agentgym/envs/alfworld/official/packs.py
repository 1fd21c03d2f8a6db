"""Games in one file per split: a JSON list, usually gzipped.

Its items read ``{id, task_type, scene, pddl_params, desc, pddl_problem}``.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.alfworld.engine.household import TASK_TYPES, digest
from agentgym.envs.alfworld.official.gamefile import (
    GameEntry,
    check_playable,
    checked_problem,
    clean_goal,
    scene_name,
)
from agentgym.envs.alfworld.progress_bar import tracked
from agentgym.errors import DataError
from agentgym.support import caching
from agentgym.support.strict_json import parse_json

SUFFIXES = (".json.gz", ".json")
LARGEST_PACK = 1 << 30
"""Bytes of a pack when unpacked; the official training games have about 0.12 thousand million."""

LONGEST_ID = 300
PLAYABLE_VERSION = 1
"""Raise it when fewer problems can be played than before."""
_KEYS = "a JSON list of {id, task_type, scene, desc, pddl_problem}"


class Pack:
    """The games of one file.

    Problems are kept compressed: 3,553 of them are 120 MB of text.

    Raises:
        DataError: It cannot be read or has another layout, or a problem in it cannot be played.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: tuple[GameEntry, ...]
        self._problems: tuple[bytes, ...]
        by_id: dict[str, tuple[GameEntry, str]] = {}
        items, content = _load(path)
        for number, item in enumerate(items):
            entry, problem = _checked(item, f"item {number} of {path}")
            if entry.id in by_id:
                raise DataError(f"expected every id once in {path}, got {entry.id!r} twice")
            by_id[entry.id] = entry, problem
        problems = [problem for _, problem in by_id.values()]
        _check_playable(problems, path, content)
        self.entries = tuple(entry for entry, _ in by_id.values())
        self._problems = tuple(
            zlib.compress(problem.encode("utf-8", "surrogatepass"), 1) for problem in problems
        )

    def problem(self, number: int) -> str:
        """Return the PDDL problem of one game."""
        return zlib.decompress(self._problems[number]).decode("utf-8", "surrogatepass")


class PackSource:
    """The games of one file, which is read on first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pack: Pack | None = None

    def __getstate__(self) -> dict[str, object]:
        """Travel without the games; they are read again from the file."""
        return {"path": self.path, "_pack": None}

    def entries(self) -> tuple[GameEntry, ...]:
        """Return the games in the order of the file."""
        return self._load_pack().entries

    def problem(self, number: int) -> str:
        """Return the PDDL problem of one game."""
        return self._load_pack().problem(number)

    def skipped(self) -> Mapping[str, int]:
        """Return an empty mapping: a pack holds only games."""
        return {}

    def _load_pack(self) -> Pack:
        if self._pack is None:
            try:
                state = self.path.stat()
            except OSError as error:
                raise DataError(
                    f"expected a pack at {self.path}, but it is gone ({error}); put it back"
                ) from error
            self._pack = _shared(self.path, state.st_size, state.st_mtime_ns)
        return self._pack


@lru_cache(maxsize=4)
def _shared(path: Path, size: int, changed: int) -> Pack:
    """Read a pack; the environments of a process share it while the file stays as it is."""
    return Pack(path)


def split_name(path: Path) -> str:
    """Return the split that a file is named after: ``valid_seen.json.gz`` holds ``valid_seen``."""
    name = path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _load(path: Path) -> tuple[list[Any], str]:
    """Read a file; return its items and the SHA-256 of its content."""
    try:
        with path.open("rb") as file:
            packed = path.suffix == ".gz"
            with gzip.GzipFile(fileobj=file) if packed else file as unpacked:
                data = unpacked.read(LARGEST_PACK + 1)
        content = parse_json(data) if len(data) <= LARGEST_PACK else None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(
            f"expected {_KEYS} at {path}, but it cannot be read ({error}); fetch it again"
        ) from error
    if not isinstance(content, list) or not content:
        raise DataError(
            f"expected {_KEYS} of at most {LARGEST_PACK} bytes at {path}, got something else; name "
            "one file per split, for example valid_seen.json.gz"
        )
    return content, hashlib.sha256(data).hexdigest()


def _checked(item: Any, source_name: str) -> tuple[GameEntry, str]:
    """Return one game of a file, and its problem."""
    if not isinstance(item, dict):
        raise DataError(f"expected {_KEYS}, but {source_name} is no object")
    name, goal, task_type = item.get("id"), clean_goal(item.get("desc")), item.get("task_type")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_ID or not name.isprintable():
        raise DataError(
            f"expected an id of 1 to {LONGEST_ID} printable characters in {source_name}, got "
            f"{str(name)[:80]!r}"
        )
    if not goal:
        raise DataError(
            f"expected a sentence under desc in {source_name}, got {str(item.get('desc'))[:80]!r}"
        )
    if task_type not in TASK_TYPES:
        raise DataError(
            f"expected a task_type in {source_name}: one of {', '.join(TASK_TYPES)}; got "
            f"{str(task_type)[:80]!r}"
        )
    problem = checked_problem(item.get("pddl_problem"), source_name)
    scene = scene_name(item.get("scene"))
    return GameEntry(name, task_type, scene, goal, "", digest(problem)), problem


def _check_playable(problems: Sequence[str], path: Path, content: str) -> None:
    """Compile every problem of a file, two milliseconds each, unless that was done before."""
    key = f"{PLAYABLE_VERSION} {content}"
    marker = caching.entry_path("alfworld", "playable", key)
    if caching.load_json(marker, key) is None:
        for number, problem in enumerate(tracked(problems, len(problems), f"Checking {path.name}")):
            check_playable(problem, f"item {number} of {path}")
        caching.save_json(marker, key, True)
