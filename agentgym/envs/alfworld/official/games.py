"""The official games, wherever a user keeps them: folders of alfworld-download, or packs."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agentgym.envs.alfworld.official.folders import GameFolder
from agentgym.envs.alfworld.official.gamefile import GAME_FILE, GameEntry
from agentgym.envs.alfworld.official.packs import SUFFIXES, PackSource, split_name
from agentgym.errors import ConfigurationError, DataError, TaskNotFound

EXPECTED: dict[str, int] = {
    "train": 3553,
    "valid_seen": 140,
    "valid_unseen": 134,
    "valid_train": 200,
}
"""Official splits and their numbers of games; ``valid_train`` is the test set of AgentGym."""

DATA_VARIABLE = "ALFWORLD_DATA"
_VERSION = re.compile(r"json_(\d+(?:\.\d+)*)")
_LAYOUTS = (
    "a folder with json_2.1.1 (or a later version) in it, such a folder with train, valid_seen and "
    "valid_unseen in it, the folder of one split, a pack such as valid_seen.json.gz, or a folder "
    "of packs"
)

_log = logging.getLogger(__name__)


Source = GameFolder | PackSource
"""The games of one split."""


class OfficialGames:
    """The official splits that were found; each is read when it is first used.

    Args:
        data: Path of the data; None: the value of ``ALFWORLD_DATA``.

    Raises:
        ConfigurationError: Neither is given.
        DataError: There are no games; the message says which layouts are known.
    """

    def __init__(self, data: str | Path | None = None) -> None:
        self.path = _data_path(data)
        try:
            self._sources = dict(_ordered(_sources(self.path)))
        except OSError as error:
            raise DataError(
                f"expected to read {self.path}, but it fails ({error}); give {_LAYOUTS}"
            ) from error
        self.notes: dict[str, str] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, official ones first and in their usual order."""
        return tuple(self._sources)

    def entries(self, split: str) -> Sequence[GameEntry]:
        """Return the games of a split and, the first time, warn if their number is not official.

        The warning goes to the log and into :attr:`notes` under the split's name; there the text
        is empty if all is as it should be.

        Raises:
            TaskNotFound: There is no such split.
            DataError: A file is damaged.
        """
        source = self._source(split)
        entries = source.entries()
        if split not in self.notes:
            if not entries:
                raise DataError(
                    f"expected games for {split} in {source.path}, but there are none"
                    f"{_reasons(source.skipped())}; fetch the data with alfworld-download"
                )
            self.notes[split] = note = count_note(split, len(entries), source)
            if note:
                _warn(note)
        return entries

    def problem(self, split: str, number: int) -> str:
        """Return the PDDL problem of a game.

        Raises:
            DataError: Its file is damaged or has changed.
        """
        return self._source(split).problem(number)

    def _source(self, split: str) -> Source:
        if split not in self._sources:
            raise TaskNotFound(
                f"expected a split that {self.path} holds: {', '.join(self.splits)}; got {split!r}"
            )
        return self._sources[split]


@lru_cache(maxsize=64)
def _warn(note: str) -> None:
    """Log a warning, once in a process however many environments there are."""
    _log.warning("%s", note)


def count_note(split: str, count: int, source: Source) -> str:
    """Return a remark on the number of games, empty if it is the official one."""
    expected = EXPECTED.get(split)
    if expected is None or count == expected:
        return ""
    advice = (
        "the data is incomplete: run alfworld-download again"
        if count < expected
        else "there are more than in the official data"
    )
    return (
        f"found {count} of {expected} {split} games in {source.path}"
        f"{_reasons(source.skipped())}; {advice}; results are not comparable with published ones"
    )


def _reasons(skipped: Mapping[str, int]) -> str:
    if not skipped:
        return ""
    return f" (left out: {', '.join(f'{count} {reason}' for reason, count in skipped.items())})"


def _data_path(data: str | Path | None) -> Path:
    """Return the path that the user names, by argument or environment."""
    if not isinstance(data, str | os.PathLike | None):
        raise ConfigurationError(f"expected data= to be a path, got {data!r:.80}")
    named = os.environ.get(DATA_VARIABLE) if data is None else data
    if not named:
        raise ConfigurationError(
            f"expected data=, or the environment variable {DATA_VARIABLE}, to name the official "
            f"games: {_LAYOUTS}; got neither; leave both out for generated games"
        )
    path = Path(os.path.expanduser(os.path.expandvars(str(named))))  # never raises, without a home
    if not os.path.exists(path):
        raise DataError(
            f"expected official games at {path}, but there is nothing; give {_LAYOUTS}, or fetch "
            "the data with alfworld-download"
        )
    return path


def _sources(path: Path) -> dict[str, Source]:
    """Recognise the layout of a path."""
    if path.is_file():
        return {split_name(path): PackSource(path)}
    for root in (path, *_versions(path)):
        folders: dict[str, Source] = {
            name: GameFolder(root / name) for name in EXPECTED if (root / name).is_dir()
        }
        if folders:
            return folders
    packs: dict[str, Source] = {
        name: PackSource(path / f"{name}{suffix}")
        for suffix in reversed(SUFFIXES)
        for name in EXPECTED
        if (path / f"{name}{suffix}").is_file()
    }
    if packs:
        return packs
    if _has_game(path):
        return {path.resolve().name: GameFolder(path)}
    raise DataError(
        f"expected official games at {path}, but found none; give {_LAYOUTS}, or fetch the data "
        "with alfworld-download"
    )


def _versions(path: Path) -> list[Path]:
    """Return the ``json_*`` folders of a download that hold games, newest first."""
    versions = []
    for folder in sorted(path.iterdir()):
        version = _VERSION.fullmatch(folder.name)
        if version and folder.is_dir():
            versions.append((tuple(map(int, version[1].split("."))), folder))
    newest_first = [folder for _, folder in sorted(versions, reverse=True)]
    return [folder for folder in newest_first if _has_game(folder)] or newest_first


def _has_game(folder: Path) -> bool:
    """Return whether a game file is anywhere below."""
    return any(GAME_FILE in files for _, _, files in os.walk(folder))


def _ordered(sources: Mapping[str, Source]) -> Iterator[tuple[str, Source]]:
    official = [name for name in EXPECTED if name in sources]
    for name in (*official, *sorted(set(sources) - set(official))):
        yield name, sources[name]
