"""Generated games on disk: made once, read by every process.

A game lies at ``<cache>/textworld/<version>/<setting>/<split>-<index>.game``, its story file, if
requested, in the folder ``<split>-<index>.story`` beside it, as ``game.z8`` with a plain
``game.json``. Both are verified by size and SHA-256 before they are used (the interpreter of story
files ends the process on a damaged one) and regenerated where they do not match; how they are
written is described in :mod:`agentgym.support.caching`. Where nothing can be written games stay in
memory, and a story file lies among the system's temporary files until the process ends. The cache
grows by 3 to 11 KB for a game and 0.4 MB for a story file and is never emptied by itself:
:meth:`GameStore.clear` removes the games of a setting, :func:`clear` all of them, at any time.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import os
import shutil
import tempfile
import zlib
from functools import cache, partial
from pathlib import Path

from agentgym.envs.textworld.generator import splits
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import Game, version
from agentgym.envs.textworld.original.story_file import compile_game
from agentgym.errors import DataError, EnvFailure
from agentgym.support.caching import cache_folder, check_folder, load, save, save_folder

FORMAT = 2
"""Raise it when the stored form changes."""

STORY = "game.z8"
"""Name of a story file in its folder; ``game.json`` is the game."""

_NO_ROOM = (
    "expected to write a story file of 0.4 MB to {} or to a temporary folder, but neither can hold "
    "it; set AGENTGYM_CACHE or TMPDIR to a folder with room, or use engine='native', which writes "
    "no files"
)

_log = logging.getLogger(__name__)


class GameStore:
    """The generated games of one setting; threads and processes may share it.

    Args:
        config: The setting.
        folder: Folder of the cache; the default is ``agentgym.support.caching.cache_folder()``.
    """

    def __init__(self, config: GeneratorConfig, folder: Path | None = None) -> None:
        self.config = config
        self._root = folder

    def game(self, split: str, index: int) -> Game:
        """Return a game from disk, or generate and store it.

        Raises:
            ConfigurationError: The setting has no such game.
            DependencyNotInstalled: It must be generated, and ``textworld`` is missing.
        """
        path = self.folder() / f"{split}-{int(index)}.game"
        game = read(path)
        if game is None:
            game = splits.make_split_game(self.config, split, int(index))
            write(path, game)
        return game

    def story(self, split: str, index: int, game: Game | None = None) -> Path:
        """Return the story file of a game, compiled when it is first asked for.

        Returns:
            Path of the ``.z8`` file; the game's plain ``.json`` lies beside it.

        Raises:
            EnvFailure: The compiler cannot run on this machine.
        """
        return story(self.folder() / f"{split}-{int(index)}", game or self.game(split, int(index)))

    def folder(self) -> Path:
        """Return the folder of this setting's games; it need not exist."""
        key = self.config.key()
        name = f"{key[:80]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        stamp = f"textworld-{version() or 'none'}-rule{splits.GENERATOR_VERSION}-format{FORMAT}"
        return root(self._root) / stamp / name

    def clear(self) -> None:
        """Remove the stored games and story files of this setting; they are made again."""
        shutil.rmtree(self.folder(), ignore_errors=True)


def read(path: Path) -> Game | None:
    """Read a stored game; None where there is none or the file is damaged."""
    data = load(path, path.name)
    if data is None:
        return None
    try:
        game = json.loads(zlib.decompress(data))
    except (ValueError, zlib.error) as error:
        _log.warning("making the game %s again, which cannot be read: %s", path, error)
        return None
    return game if isinstance(game, dict) else None


def write(path: Path, game: Game) -> bool:
    """Store a game; tell whether it could be. The same game always makes the same bytes."""
    data = zlib.compress(json.dumps(game, separators=(",", ":")).encode(), 6)
    return save(path, path.name, data)


def story(name: Path, game: Game) -> Path:
    """Return the verified ``.z8`` of a game, from a folder named ``<name>.story``, or compile it.

    Raises:
        EnvFailure: The compiler cannot run on this machine, or nothing can be written.
    """
    folder = name.with_name(f"{name.name}.story")
    try:
        places = (folder, _temporary() / hashlib.sha256(str(folder).encode()).hexdigest())
        for place in places:
            if _is_sound(place):
                return place / STORY
        with tempfile.TemporaryDirectory(prefix="agentgym-") as scratch:
            compiled = compile_game(game, Path(scratch, STORY))
            for place in places:
                if save_folder(place, partial(_copy, compiled)) and _is_sound(place):
                    return place / STORY
    except OSError as error:
        raise EnvFailure(f"{_NO_ROOM.format(folder.parent)} ({error})") from error
    raise EnvFailure(_NO_ROOM.format(folder.parent))


def root(folder: Path | None = None) -> Path:
    """Return the folder of all stored TextWorld games; it need not exist."""
    return (folder or cache_folder()) / "textworld"


def clear(folder: Path | None = None) -> None:
    """Remove all stored TextWorld games and story files; they are made again when needed."""
    shutil.rmtree(root(folder), ignore_errors=True)


def _copy(compiled: Path, folder: Path) -> None:
    """Copy a story file and the game beside it into a folder."""
    for file in (compiled, compiled.with_suffix(".json")):
        shutil.copyfile(file, folder / file.name)


def _is_sound(folder: Path) -> bool:
    """Tell whether a stored story is there and whole; a damaged one is removed."""
    if not folder.is_dir():
        return False
    try:
        check_folder(folder)
    except DataError as error:
        _log.warning("compiling a damaged story file again: %s", error)
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


@cache
def _temporary() -> Path:
    """Return a folder for story files that no cache can hold; it ends with the process."""
    folder = tempfile.mkdtemp(prefix="agentgym-stories-")
    atexit.register(_remove, folder, os.getpid())
    return Path(folder)


def _remove(folder: str, owner: int) -> None:
    """Remove a folder at the end of the process that made it, not of one forked from that."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
