"""A split as a folder of trials, with an index of its games in the cache folder.

A folder of the official training data has 8,810 trials of which 3,553 are games; reading them all
takes many seconds, so the index is stored. It is rebuilt when a folder is added or removed, or a
file in one; a game whose content changed is detected when it is read.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from agentgym.envs.alfworld.engine.household import TASK_TYPES, digest
from agentgym.envs.alfworld.official.gamefile import (
    GAME_FILE,
    TRAJECTORY_FILE,
    GameEntry,
    check_playable,
    read_game,
    read_trajectory,
    scene_name,
)
from agentgym.envs.alfworld.progress_bar import tracked
from agentgym.errors import DataError
from agentgym.support import caching

INDEX_VERSION = 2
"""Increase it when the stored form or the collected data changes."""

LEFT_OUT = ("movable", "Sliced")
"""Words in the names of folders that alfworld's own environment passes over."""

DEEPEST = 8
"""Levels of folders below a split that are looked into."""


@dataclass(frozen=True, slots=True)
class SplitIndex:
    """The games of one split."""

    entries: tuple[GameEntry, ...]
    """The games, sorted by id."""
    skipped: Mapping[str, int]
    """Reasons for which trials are not games, and how many."""


class GameFolder:
    """The games of a folder of trials."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._index: SplitIndex | None = None

    def entries(self) -> tuple[GameEntry, ...]:
        """Return the games, sorted by the names of their folders."""
        return self._load_index().entries

    def problem(self, number: int) -> str:
        """Read the PDDL problem of one game from its file."""
        return read_problem(self.path, self._load_index().entries[number])

    def skipped(self) -> Mapping[str, int]:
        """Return why trials are not games, and how many."""
        return self._load_index().skipped

    def _load_index(self) -> SplitIndex:
        if self._index is None:
            self._index = folder_index(self.path)
        return self._index


def folder_index(folder: Path) -> SplitIndex:
    """Return the games below a split's folder, from the cache if it has not changed.

    They are those that alfworld's own ``AlfredTWEnv`` would collect, in the order of their names.

    Raises:
        DataError: A file is damaged; the message names it.
    """
    folders = list(_walk(folder))
    key = _key(folder, folders)
    path = _cache_path(folder)
    cached = caching.load_json(path, key)
    if cached is not None:
        return SplitIndex(tuple(GameEntry(*row) for row in cached["entries"]), cached["skipped"])
    try:
        index = _collect(folder, [relative for relative, _ in folders])
    except OSError as error:
        raise DataError(
            f"expected to read what lies below {folder}, but it fails ({error}); check its "
            "permissions"
        ) from error
    rows = [astuple(entry) for entry in index.entries]
    caching.save_json(path, key, {"entries": rows, "skipped": dict(index.skipped)})
    return index


def read_problem(folder: Path, entry: GameEntry) -> str:
    """Read the PDDL problem of a game in a split's folder.

    Raises:
        DataError: The file is damaged, or has changed since the index was made.
    """
    path = folder / entry.id / GAME_FILE
    problem = read_game(path).problem
    if digest(problem) != entry.sha256:
        with suppress(OSError):
            _cache_path(folder).unlink()
        raise DataError(
            f"expected {path} as it was when its folder was indexed, but its problem has changed; "
            "the index has been removed: make the environment again"
        )
    return problem


def _cache_path(folder: Path) -> Path:
    return caching.entry_path("alfworld", "index", str(folder.resolve()))


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield every folder below, and itself, with the time of its last change in nanoseconds."""
    pending = [("", 0)]
    while pending:
        relative, depth = pending.pop()
        parent = folder / relative
        try:
            yield relative, parent.stat().st_mtime_ns
            with os.scandir(parent) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            raise DataError(
                f"expected to read the folder {parent}, but it fails ({error}); check its "
                "permissions"
            ) from error
        if depth < DEEPEST:
            below = sorted(names, reverse=True)
            pending += [(f"{relative}/{name}" if relative else name, depth + 1) for name in below]


def _key(folder: Path, folders: list[tuple[str, int]]) -> str:
    """Return a text that changes when a folder below changes."""
    lines = "\n".join(f"{relative}\t{time}" for relative, time in folders)
    return f"{INDEX_VERSION} {folder.resolve()} {len(folders)} {digest(lines)}"


def _collect(folder: Path, folders: list[str]) -> SplitIndex:
    """Read every trial."""
    entries: list[GameEntry] = []
    skipped: Counter[str] = Counter()
    for relative in tracked(sorted(folders), len(folders), f"Indexing {folder.name}"):
        outcome = _trial(folder, relative)
        if isinstance(outcome, GameEntry):
            entries.append(outcome)
        elif outcome:
            skipped[outcome] += 1
    return SplitIndex(tuple(entries), dict(sorted(skipped.items())))


def _trial(folder: Path, relative: str) -> GameEntry | str:
    """Return the game in a folder, or why there is none; empty if the folder is no trial."""
    trial = folder / relative
    if not (trial / TRAJECTORY_FILE).is_file():
        return f"without {TRAJECTORY_FILE}" if (trial / GAME_FILE).is_file() else ""
    if any(word in relative for word in LEFT_OUT):
        return "movable or sliced"
    trajectory = read_trajectory(trial / TRAJECTORY_FILE)
    if trajectory.task_type not in TASK_TYPES:
        return "of another task type"
    if not (trial / GAME_FILE).is_file():
        return f"without {GAME_FILE}"
    game = read_game(trial / GAME_FILE)
    if not game.solvable:
        return "not marked solvable or unsolvable" if game.solvable is None else "unsolvable"
    check_playable(game.problem, str(trial / GAME_FILE))
    scene = trajectory.scene or _scene_of_folder(relative)
    return GameEntry(
        relative,
        trajectory.task_type,
        scene,
        game.goal,
        trajectory.human_goal,
        digest(game.problem),
    )


def _scene_of_folder(relative: str) -> str:
    """Read the floor plan off a folder such as ``pick_and_place_simple-Mug-None-Desk-305/...``."""
    match = re.search(r"-(\d{1,4})(?:/|$)", relative)
    return scene_name(int(match[1])) if match else ""
