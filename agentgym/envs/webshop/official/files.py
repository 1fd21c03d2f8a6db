"""Reading the official data files from a folder."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.envs.webshop.official.schema import Origins
from agentgym.errors import DataError

ITEMS = ("items_shuffle.json", "items_shuffle_1000.json")
INSTRUCTIONS = ("items_ins_v2.json", "items_ins_v2_1000.json")
HUMAN = ("items_human_ins.json",)
SMALL_SET = 1000


@dataclass(frozen=True)
class OfficialFiles:
    """Paths of the official files."""

    items: Path
    """Products."""
    instructions: Path
    """Attributes and synthetic instructions."""
    human: Path | None
    """Instructions written by people, if present."""

    def key(self) -> list[object]:
        """Return a key that changes when a file changes."""
        paths = [path for path in (self.items, self.instructions, self.human) if path]
        return [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in paths]

    @property
    def origins(self) -> Origins:
        """Names of the files in error messages."""
        return Origins(str(self.items), str(self.instructions), str(self.human))


def locate(folder: str | os.PathLike[str], num_products: int | None = None) -> OfficialFiles:
    """Find the official files in a folder, plain or ``.gz``; up to 1,000 products the small ones.

    Raises:
        DataError: The folder lacks the items or the instructions.
    """
    small = num_products is not None and num_products <= SMALL_SET
    order = -1 if small else 1
    root = Path(folder)
    try:
        paths = [
            next((path for name in names[::order] if (path := _file(root, name))), None)
            for names in (ITEMS, INSTRUCTIONS, HUMAN)
        ]
    except OSError as error:
        raise DataError(f"expected a readable folder as data=, got {error}") from error
    if paths[0] is None or paths[1] is None:
        absent = " and ".join(
            " or ".join(names)
            for names, path in zip((ITEMS, INSTRUCTIONS), paths, strict=False)
            if path is None
        )
        raise DataError(
            f"expected {absent} (or .gz) in data={root}, {_describe_folder(root)}; the original's "
            "setup.sh downloads the files"
        )
    return OfficialFiles(paths[0], paths[1], paths[2])


def read_items(files: OfficialFiles, num_products: int | None = None) -> Sequence[Any]:
    """Read the first ``num_products`` products."""
    items: list[Any] = _load(files.items, list)
    return items[:num_products]


def read_instructions(files: OfficialFiles) -> Mapping[str, Any]:
    """Read attributes and synthetic instructions by asin."""
    instructions: Mapping[str, Any] = _load(files.instructions, dict)
    return instructions


def read_human(files: OfficialFiles) -> Mapping[str, Any]:
    """Read the instructions written by people, by asin.

    Raises:
        DataError: The file does not exist.
    """
    if files.human is None:
        raise DataError(
            f"expected {HUMAN[0]} (or .gz) beside {files.items} for human_goals=True, but it is "
            "not there; add the file, or use human_goals=False"
        )
    human: Mapping[str, Any] = _load(files.human, dict)
    return human


def load_json(path: Path) -> Any:
    """Read a JSON file, plain or ``.gz``.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        data = path.read_bytes()
        return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        raise DataError(
            f"expected a JSON file at {path}, but it cannot be read ({error}); download it again"
        ) from error


def _load(path: Path, kind: type) -> Any:
    data = load_json(path)
    if not isinstance(data, kind):
        raise DataError(
            f"expected {path} to hold a JSON {kind.__name__}, got {type(data).__name__}; compare "
            "it with the official file of that name"
        )
    return data


def _file(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _describe_folder(folder: Path) -> str:
    """Describe the folder's content where the files are missing."""
    if not folder.exists():
        return "which does not exist"
    if not folder.is_dir():
        return "which is no folder"
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        return f"which cannot be listed ({error})"
    listing = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"which holds {listing or 'nothing'}"
