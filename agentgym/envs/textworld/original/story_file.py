"""Story files: compiled with the Inform 7 that TextWorld includes, and checked before they run.

Jericho's interpreter is C in the same process: a truncated or damaged story file makes it call
``exit``, which ends the process. The Z-Machine Standards Document (1.1, section 11) puts the data
to detect damage into a story's header, big-endian:

* byte 0x00: version of the machine, 8 for TextWorld's stories;
* word 0x1A: length of the story in units of 8 bytes;
* word 0x1C: sum of all bytes from 0x40 to that length, modulo 2**16;
* words 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E: addresses within it (high memory, first instruction,
  dictionary, objects, globals, static memory).

This detects every damage of one byte behind the header and all but one in 65,536 of the others. It
does not protect against malicious stories, so stories of unknown origin run in a separate process:
:mod:`agentgym.envs.textworld.original.isolated_session`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agentgym.envs.textworld.generator import upstream
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.support.caching import publish

VERSION = 8
HEADER = 64
"""Bytes of the header, which the checksum leaves out."""
LARGEST = 512 * 1024
"""Most bytes of a story of version 8."""
UNIT = 8
"""Bytes for each unit of the length in the header."""
ADDRESSES = {
    0x04: "high memory", 0x06: "first instruction", 0x08: "dictionary", 0x0A: "objects",
    0x0C: "globals", 0x0E: "static memory",
}  # fmt: skip
_OPTIONS = "-E2wSv8F0"
"""As TextWorld calls Inform 6: strict, a story of version 8, without temporary files."""
_SAID = 2000
"""Characters of a compiler's complaint that are passed on."""


def compile_game(game: Mapping[str, Any], path: Path) -> Path:
    """Compile a game to the story file ``path`` (``.z8``), whose folder need not exist.

    Beside the story file stands the game as ``.json``, as TextWorld's environments want it. Both
    are moved into place when they are complete, the story file last.

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
            publish(description, path.with_suffix(".json"))
            publish(story, path)
    except (subprocess.CalledProcessError, OSError) as error:
        output = error.output[-_SAID:] if isinstance(error, subprocess.CalledProcessError) else ""
        raise EnvFailure(
            "expected TextWorld's Inform 7 compiler to make a story file, but it failed; its "
            f"programs must be able to run on this machine, there must be room in {path.parent}, "
            "and a game must fit in a .z8 file: use the native engine, or a smaller difficulty "
            f"({error}){output}"
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
    """Compile like TextWorld's ``compile_inform7_game``, without leaving files behind.

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


def check_story(path: Path) -> int:
    """Refuse a damaged ``.z8``; return a checksum (CRC-32) of the whole file, to know it again.

    Raises:
        DataError: It cannot be read, is no story of version 8, or is not whole.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST + HEADER * UNIT else b""
    except OSError as error:
        raise DataError(f"expected a story file in {path}, but it cannot be read: {error}") from (
            error
        )
    problem = damage(data) if data or not size else f"it has {size} bytes"
    if problem:
        raise DataError(
            f"expected a whole story file of version {VERSION} in {path}, but {problem}; compile "
            "it again with tw-make, or remove it, and it is compiled from the .json beside it"
        )
    return zlib.crc32(data)


def damage(data: bytes) -> str:
    """Describe the damage of a story; nothing if its header agrees with its content."""
    if len(data) <= HEADER:
        return f"it has {len(data)} bytes, not even a header and a story"
    if data[0] != VERSION:
        return f"its first byte says version {data[0]}"
    length, checksum = _word(data, 0x1A) * UNIT, _word(data, 0x1C)
    if not HEADER < length <= len(data):
        return f"its header says {length} bytes, and it has {len(data)}"
    for place, name in ADDRESSES.items():
        if not HEADER <= _word(data, place) < length:
            return f"the address of its {name} is outside of the story"
    computed = int(np.frombuffer(data, np.uint8, length - HEADER, HEADER).sum()) & 0xFFFF
    return (
        ""
        if computed == checksum
        else f"its checksum is {computed}, and its header says {checksum}"
    )


def _word(data: bytes, address: int) -> int:
    return int.from_bytes(data[address : address + 2], "big")
