"""Game files of one's own, made by ``tw-make`` or by hand, as tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.core.row_splits import SplitRow, by_split
from agentgym.core.tasks import SPLITS, Task
from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.envs.textworld.games.game_set import (
    GameSet,
    PlanLength,
    digest,
    stored_plan_length,
)
from agentgym.envs.textworld.games.schema import check_game
from agentgym.envs.textworld.games.store import root, story
from agentgym.envs.textworld.generator.generate import Game
from agentgym.envs.textworld.generator.splits import fingerprint
from agentgym.envs.textworld.inform.story import Story
from agentgym.envs.textworld.sanitise import typable
from agentgym.errors import ConfigurationError, DataError

Files = str | Path | Sequence[str | Path]


class FileTasks(GameSet):
    """Game files as tasks.

    A game is a ``.json`` file that TextWorld wrote; a ``.z8`` stands for the ``.json`` beside it.
    The Inform 7 engine then plays that ``.z8`` in a separate process, since its origin is unknown.
    Ids read ``textworld/files/<name>`` and are seen by policies: names should not tell solutions.
    All files are read, and errors reported, when the set is made.

    Args:
        source: A mapping from splits to files; or a folder with subfolders ``train``, ``valid``,
            ``test``; or a file, or a folder or list of files, which are then dealt by their content
            (:mod:`agentgym.core.row_splits`: a single game is for ``test``).
        native: Whether the native engine is to play them, so that it must understand their texts
            and rules; Inform 7 understands more.
        folder: Folder of the cache, for story files compiled here.
        plan_length: Gives the length of the expert's plan for a game.

    Raises:
        ConfigurationError: A split is unknown or empty, or two files have the same name.
        DataError: A file is missing or holds no game.
    """

    foreign = True
    remedy = "the last part of an id is a file name without ending"

    def __init__(
        self,
        source: Files | Mapping[str, Files],
        *,
        native: bool = False,
        folder: Path | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__("textworld/files", plan_length or planned_length)
        self._root = folder
        self._files = _by_split(source)
        for files in self._files.values():
            for file in files:
                check_file(file, native=native)
        self.splits = tuple(split for split in SPLITS if split in self._files)
        self._places: dict[str, tuple[str, int]] = {}
        for split in self.splits:
            for index, file in enumerate(self._files[split]):
                if file.stem in self._places:
                    raise ConfigurationError(
                        f"expected game files of different names, got {file.stem!r} twice; "
                        "rename one"
                    )
                self._places[file.stem] = (split, index)

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        self.check(split)
        return len(self._files[split])

    def story(self, task: Task) -> Path:
        """Return the ``.z8`` file beside the game, or one compiled on first use."""
        path = self._files[task.split][task.index].with_suffix(".z8")
        if path.is_file():
            return path
        game = self.problem(task)
        return story(root(self._root) / "files" / digest(game), game)

    def _id(self, split: str, number: int) -> str:
        return f"{self.name}/{self._files[split][number].stem}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        head, _, stem = task_id.rpartition("/")
        return self._places.get(stem) if head == self.name else None

    def _source(self, split: str, number: int) -> dict[str, Any]:
        return {"file": self._files[split][number].stem}

    def _problem(self, split: str, number: int) -> Game:
        return read_file(self._files[split][number])


def planned_length(game: Game) -> int | None:
    """Return how many commands the expert types from the start of a game.

    The walkthrough of a game file may contain superfluous commands; the plan derived from the rules
    has none, so the expert follows it if there is one.
    """
    try:
        commands = Machine(GameWorld.of(game)).policy()
    except DataError:  # rules of its own, which only TextWorld's tracker understands
        commands = ()
    return len(commands) or stored_plan_length(game)


def read_file(file: Path) -> Game:
    """Read a ``.json`` that TextWorld wrote, without the path of the installation that made it.

    Raises:
        DataError: The file is missing or holds no game.
    """
    try:
        data = file.read_bytes()
        if b"\\ud" in data.lower():  # half of a character pair is no text that can be printed
            data = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
        game = json.loads(data)
        if isinstance(game, dict) and game.get("version", 1) != 1:
            raise DataError(f"expected version 1, got {game['version']!r:.40}")
        check_game(game)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"expected a game that TextWorld wrote (.json of version 1) in {file}, but it cannot "
            f"be read ({error}); make it with tw-make"
        ) from error
    game["KB"]["text_grammars_path"] = ""
    game["objective"] = game.get("objective") or ""
    return dict(game)


def check_file(file: Path, *, native: bool = False) -> str:
    """Read a game as far as its engine does, so that errors surface at once.

    With ``native``, that engine has to understand its texts and rules. Returns the fingerprint.

    Raises:
        DataError: The file is missing, or holds no game that can be played.
    """
    try:
        stat = file.stat()
    except OSError as error:
        raise DataError(f"expected a game file in {file}, but it cannot be read: {error}") from (
            error
        )
    return _checked(file, native, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=1 << 16)
def _checked(file: Path, native: bool, version: tuple[int, int]) -> str:
    """Examine a version of a file once, however many environments a process makes of it."""
    game = read_file(file)
    try:
        for key, info in game["infos"]:
            if info["type"] != "r" and info.get("name") and not typable(info["name"]):
                raise DataError(
                    f"expected a name for {key!r} that can be typed in a command, got "
                    f"{info['name']!r:.80}; leave out stops, commas, quotation marks, the word "
                    "'then', signs and blanks at the ends, and two blanks in a row"
                )
        if native:
            Story.of(game).check()
            GameWorld.of(game)
        return fingerprint(game)
    except DataError as error:
        raise DataError(f"in the game file {file}: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(
            f"expected a game whose facts fit each other in {file}, but reading it stopped with "
            f"{type(error).__name__}: {error}; make it again with tw-make"
        ) from error


def _by_split(source: Files | Mapping[str, Files]) -> dict[str, list[Path]]:
    """Find the files of each split."""
    if isinstance(source, Mapping):
        unknown = [split for split in source if split not in SPLITS]
        if unknown or not source:
            raise ConfigurationError(
                f"expected game files by split, one or more of {', '.join(SPLITS)}; got "
                f"{', '.join(map(repr, unknown)) or 'none'}"
            )
        return {split: _json_files(files) for split, files in source.items()}
    if isinstance(source, (str, Path)):
        parts = {split: Path(source) / split for split in SPLITS}
        folders = {split: part for split, part in parts.items() if part.is_dir()}
        if folders:
            return {split: _json_files(part) for split, part in folders.items()}
    return _split_by_content(_json_files(source))


def _json_files(source: Files) -> list[Path]:
    """Return the ``.json`` files of a folder in order of their names, or those of a list."""
    if isinstance(source, (str, Path)):
        place = Path(source).expanduser()
        entries: Iterable[Path] = sorted(place.glob("*.json")) if place.is_dir() else [place]
    elif isinstance(source, Iterable):
        entries = [_path(entry).expanduser() for entry in source]
    else:
        raise _not_a_path(source)
    files = [entry.with_suffix(".json") for entry in entries]
    missing = [file for file in files if not file.is_file()]
    if missing or not files:
        raise DataError(
            f"expected game files (.json, or .z8 with a .json beside it), but "
            f"{missing[0] if missing else source} has none; make some with tw-make"
        )
    return files


def _path(entry: Any) -> Path:
    if not isinstance(entry, str | Path):
        raise _not_a_path(entry)
    return Path(entry)


def _not_a_path(source: Any) -> ConfigurationError:
    return ConfigurationError(
        f"expected data= to be a path, a list of paths, or a dict from splits to either; got "
        f"{source!r:.80}"
    )


def _split_by_content(files: list[Path]) -> dict[str, list[Path]]:
    """Split files by content, so that equal games are on the same side."""
    rows = [SplitRow(check_file(file), None) for file in files]
    return {split: list(group) for split, group in by_split(files, rows).items()}
