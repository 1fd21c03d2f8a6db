"""Generated games on disk: made once, read by every process.

A game lies at ``<cache>/textworld/<version>/<setting>/<split>-<index>.json.gz``, its story file,
if one was asked for, beside it as ``.z8`` with a plain ``.json``. Files are moved into place when
they are whole: writers cannot disturb each other (the last one wins, and writes the same), and one
that is killed leaves a scratch file that nobody reads. A file that cannot be read is made again.
The cache grows by 3 to 11 KB for a game and 0.4 MB for a story file and is never emptied; remove
its folder, or call :func:`clear`, at any time.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import shutil
import tempfile
import zlib
from pathlib import Path

from agentgym.caching import cache_folder
from agentgym.envs.textworld import splits
from agentgym.envs.textworld.generate import Game, compile_game, version
from agentgym.envs.textworld.knobs import Settings

FORMAT = 1
"""Raise it when the stored form changes."""

_log = logging.getLogger(__name__)


class GameStore:
    """The generated games of one setting; threads and processes may share it.

    Args:
        settings: The setting.
        folder: Folder of the cache; the default is ``agentgym.caching.cache_folder()``.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self.settings = settings
        self._root = folder

    def game(self, split: str, index: int) -> Game:
        """Return a game from disk, or generate and store it.

        Args:
            split: ``train``, ``valid`` or ``test``.
            index: Its number.

        Returns:
            The game as JSON.

        Raises:
            ConfigurationError: The setting has no such game.
            DependencyNotInstalled: It must be generated, and ``textworld`` is missing.
        """
        path = self.folder() / f"{split}-{int(index)}.json.gz"
        game = read(path)
        if game is None:
            game = splits.deal(self.settings, split, int(index))
            write(path, game)
        return game

    def story(self, split: str, index: int, game: Game | None = None) -> Path:
        """Return the story file of a game, compiled when it is first asked for.

        Args:
            split: ``train``, ``valid`` or ``test``.
            index: Its number.
            game: The game, where the caller has it.

        Returns:
            Path of the ``.z8`` file; the game's plain ``.json`` lies beside it.

        Raises:
            EnvFailure: The compiler cannot run on this machine.
        """
        path = self.folder() / f"{split}-{index}.z8"
        if not (path.is_file() and path.with_suffix(".json").is_file()):
            compile_game(game or self.game(split, index), path)
        return path

    def folder(self) -> Path:
        """Return the folder of this setting's games; it need not exist."""
        key = self.settings.key()
        name = f"{key[:80]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        stamp = f"textworld-{version() or 'none'}-rule{splits.RULE}-format{FORMAT}"
        return root(self._root) / stamp / name


def read(path: Path) -> Game | None:
    """Read a stored game; None where there is none or the file is damaged."""
    try:
        game = json.loads(gzip.decompress(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        _log.warning("making the damaged game %s again: %s", path, error)
        return None
    return game if isinstance(game, dict) else None


def write(path: Path, game: Game) -> bool:
    """Store a game; tell whether it could be. The same game always makes the same bytes."""
    data = gzip.compress(json.dumps(game, separators=(",", ":")).encode(), 6, mtime=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    except OSError as error:
        _log.info("no cache in %s (%s); the game stays in memory", path.parent, error)
        return False
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except OSError as error:
        _log.warning("cannot store the game %s (%s); it stays in memory", path, error)
        Path(scratch).unlink(missing_ok=True)
        return False
    return True


def root(folder: Path | None = None) -> Path:
    """Return the folder of all stored TextWorld games; it need not exist."""
    return (folder or cache_folder()) / "textworld"


def clear(folder: Path | None = None) -> None:
    """Remove all stored TextWorld games and story files; they are made again when needed."""
    shutil.rmtree(root(folder), ignore_errors=True)
