"""Game files of one's own, made by ``tw-make`` or by hand, as tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.envs.textworld.generate import Game
from agentgym.envs.textworld.splits import fingerprint
from agentgym.envs.textworld.store import root, story
from agentgym.envs.textworld.tasks import GameSet, PlanLength, digest
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from agentgym.tasks import SPLITS, Task

Source = str | Path | Sequence[str | Path]

_PARTS = {"world": list, "quests": list, "infos": list, "KB": dict, "metadata": dict}
_HELD_OUT = 8
"""One game of so many is for ``test``, and one for ``valid``."""


class FileTasks(GameSet):
    """Game files as tasks.

    A game is a ``.json`` file that TextWorld wrote; a ``.z8`` stands for the ``.json`` beside it,
    and is what the Inform 7 engine then plays. Ids read ``textworld/files/<name>``.

    Args:
        source: A mapping from splits to files; or a folder with subfolders ``train``, ``valid``,
            ``test``; or a folder or list of files, which are then split by a hash of their content
            (an eighth each for valid and test; equal games stay together).
        folder: Folder of the cache, for story files compiled here.
        plan_length: Gives the length of the expert's plan for a game.

    Raises:
        ConfigurationError: A split is unknown or empty, two files have the same name, or there
            are too few to split.
        DataError: A file is missing or holds no game.
    """

    name = "textworld/files"
    foreign = True

    def __init__(
        self,
        source: Source | Mapping[str, Source],
        *,
        folder: Path | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__(plan_length)
        self._root = folder
        self._files = _by_split(source)
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

    def find(self, task_id: str) -> Task:
        """Return the task with this id."""
        head, _, stem = str(task_id).rpartition("/")
        if head != self.name or stem not in self._places:
            raise TaskNotFound(
                f"expected the id of a game file, {self.name}/<file name without ending>; got "
                f"{task_id!r}"
            )
        return self.task(*self._places[stem])

    def story(self, task: Task) -> Path:
        """Return the ``.z8`` file beside the game, or one compiled when it is first asked for."""
        own = self._files[task.split][task.index].with_suffix(".z8")
        if own.is_file():
            return own
        game = self.game(task)
        return story(root(self._root) / "files" / digest(game), game)

    def _id(self, place: tuple[str, int]) -> str:
        return f"{self.name}/{self._file(place).stem}"

    def _content(self, place: tuple[str, int]) -> dict[str, Any]:
        return {"file": self._file(place).stem}

    def _load(self, place: tuple[str, int]) -> Game:
        return read_file(self._file(place))

    def _file(self, place: tuple[str, int]) -> Path:
        return self._files[place[0]][place[1]]


def read_file(file: Path) -> Game:
    """Read a game that TextWorld wrote.

    Args:
        file: Path of the ``.json`` file.

    Returns:
        The game, without the path of the installation that made it.

    Raises:
        DataError: The file is missing or holds no game.
    """
    try:
        game = json.loads(file.read_bytes())
        wrong = [key for key, kind in _PARTS.items() if not isinstance(game.get(key), kind)]
        if wrong or game.get("version", 1) != 1 or not isinstance(game["KB"].get("logic"), str):
            raise ValueError(f"missing or wrong: {', '.join(wrong) or 'version or KB'}")
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"expected a game that TextWorld wrote (.json of version 1) in {file}, but it cannot "
            f"be read ({error}); make it with tw-make"
        ) from error
    game["KB"]["text_grammars_path"] = ""
    game.setdefault("objective", "")
    return dict(game)


def _by_split(source: Source | Mapping[str, Source]) -> dict[str, list[Path]]:
    """Find the files of each split."""
    if isinstance(source, Mapping):
        unknown = [split for split in source if split not in SPLITS]
        if unknown or not source:
            raise ConfigurationError(
                f"expected game files by split, one or more of {', '.join(SPLITS)}; got "
                f"{', '.join(map(repr, unknown)) or 'none'}"
            )
        return {split: _listed(files) for split, files in source.items()}
    if isinstance(source, (str, Path)):
        parts = {split: Path(source) / split for split in SPLITS}
        found = {split: part for split, part in parts.items() if part.is_dir()}
        if found:
            return {split: _listed(part) for split, part in found.items()}
    return _divide(_listed(source))


def _listed(source: Source) -> list[Path]:
    """Return the ``.json`` files of a folder in order of their names, or those of a list."""
    if isinstance(source, (str, Path)):
        place = Path(source).expanduser()
        entries: Iterable[Path] = sorted(place.glob("*.json")) if place.is_dir() else [place]
    else:
        entries = [Path(entry).expanduser() for entry in source]
    files = [entry.with_suffix(".json") for entry in entries]
    missing = [file for file in files if not file.is_file()]
    if missing or not files:
        raise DataError(
            f"expected game files (.json, or .z8 with a .json beside it), but "
            f"{missing[0] if missing else source} has none; make some with tw-make"
        )
    return files


def _divide(files: list[Path]) -> dict[str, list[Path]]:
    """Split files by content, so that equal games are on the same side."""
    prints = {file: fingerprint(read_file(file)) for file in files}
    order = sorted(set(prints.values()))
    share = max(1, len(order) // _HELD_OUT)
    if len(order) < 3:
        raise ConfigurationError(
            f"expected three or more different games to split, got {len(order)}; name the splits: "
            'game_files={"test": [...]}'
        )
    sides = {"test": order[:share], "valid": order[share : 2 * share], "train": order[2 * share :]}
    return {
        split: [file for file in files if prints[file] in set(sides[split])] for split in SPLITS
    }
