"""From a game to a story file, with the Inform 7 that comes with TextWorld."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.envs.textworld.generator import upstream
from agentgym.errors import ConfigurationError, DataError, EnvFailure

_OPTIONS = "-E2wSv8F0"
"""As TextWorld calls Inform 6: strict, a story of version 8, without temporary files."""
_SAID = 2000
"""Characters of a compiler's complaint that are passed on."""


def compile_game(game: Mapping[str, Any], path: Path) -> Path:
    """Compile a game to a story file.

    Beside the story file stands the game as ``.json``, as TextWorld's environments want it. Both
    are moved into place when they are whole, the story file last.

    Args:
        game: The game as JSON.
        path: Where to put the story file, ending in ``.z8``; its folder need not exist.

    Returns:
        The path.

    Raises:
        ConfigurationError: The path has another ending.
        DataError: TextWorld does not understand the game.
        EnvFailure: The compiler cannot run on this machine, or refuses the game.
        DependencyNotInstalled: The package ``textworld`` is missing.
    """
    path = Path(path)
    if path.suffix != ".z8":
        raise ConfigurationError(f"expected a path that ends in .z8, got {path}")
    upstream.load_textworld()
    source = _source(game)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".compiling-", dir=path.parent) as scratch:
            story, description = Path(scratch, "game.z8"), Path(scratch, "game.json")
            _compile(source, Path(scratch), story)
            description.write_text(json.dumps(game))
            os.replace(description, path.with_suffix(".json"))
            os.replace(story, path)
    except (subprocess.CalledProcessError, OSError) as error:
        said = error.output[-_SAID:] if isinstance(error, subprocess.CalledProcessError) else ""
        raise EnvFailure(
            "expected TextWorld's Inform 7 compiler to make a story file, but it failed; its "
            f"programs must be able to run on this machine, there must be room in {path.parent}, "
            "and a game must fit in a .z8 file: use the native engine, or a smaller setting "
            f"({error}){said}"
        ) from error
    return path


def _source(game: Mapping[str, Any]) -> str:
    """Return a game as source for the compiler."""
    from textworld.generator import Game
    from textworld.generator.inform7 import generate_inform7_source

    try:
        with upstream.lock:
            return str(generate_inform7_source(Game.deserialize(game)))
    except Exception as error:  # TextWorld takes every part of a game for granted
        raise DataError(
            f"expected a game that TextWorld can compile, but it stopped with "
            f"{type(error).__name__}: {error}; make the game with tw-make"
        ) from error


def _compile(source: str, scratch: Path, story: Path) -> None:
    """Do what TextWorld's ``compile_inform7_game`` does, but leave nothing behind.

    Inform 7 writes a folder of documentation into the home of the user, or into the working
    directory of a user without one; here its home is the scratch folder.
    """
    from textworld.generator.inform7 import world2inform7

    tools = Path(os.environ.get("INFORM_HOME") or world2inform7.I7_DEFAULT_PATH) / "share/inform7"
    project = scratch / "game.inform"
    (project / "Source").mkdir(parents=True)
    (project / "uuid.txt").touch()
    (project / "Source" / "story.ni").write_text(source)
    compilers = tools / "Compilers"
    commands: tuple[list[str | Path], ...] = (
        [compilers / "ni", "--internal", tools / "Internal", "--format=.z8", "--project", project],
        [compilers / "inform6", _OPTIONS, project / "Build" / "auto.inf", story],
    )
    for command in commands:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=True, cwd=scratch,
            env={**os.environ, "HOME": str(scratch)},
        )  # fmt: skip
