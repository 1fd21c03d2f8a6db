"""Check that the files of a checkpoint are complete and readable.

A list of files and sizes is written last into a checkpoint. Even without it, each file is opened in
the format of its suffix; nothing in it is executed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from agentgym.errors import DataError
from agentgym.support.caching import write_atomically
from agentgym.support.text_lines import error_line

__all__ = ["check_policy", "damage", "newest_whole", "was_finished", "write_sizes"]

SIZES = "files.json"
"""File of a checkpoint with the names and sizes of all others."""

logger = logging.getLogger(__name__)


def write_sizes(checkpoint: Path) -> None:
    """Note the files of a checkpoint that is otherwise finished."""
    files = (path for path in sorted(checkpoint.rglob("*")) if path.is_file())
    sizes = {
        path.relative_to(checkpoint).as_posix(): path.stat().st_size
        for path in files
        if path.name != SIZES
    }
    write_atomically(checkpoint / SIZES, json.dumps(sizes, indent=1).encode())


def was_finished(checkpoint: Path) -> bool:
    """Return whether a checkpoint was completely written at some time."""
    return (checkpoint / SIZES).exists()


def damage(checkpoint: Path) -> str:
    """Return the damaged file of a checkpoint and the damage; empty if there is none."""
    for path, size in _noted(checkpoint):
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != size:
            return f"{path} has {path.stat().st_size} bytes instead of {size}"
    for path in sorted(checkpoint.rglob("*")):
        if path.is_file() and (reason := _unreadable(path)):
            return f"{path} cannot be read ({reason})"
    return ""


def newest_whole(checkpoints: Iterable[Path]) -> tuple[Path | None, list[str]]:
    """Return the newest undamaged checkpoint.

    Returns:
        The checkpoint, or None, and the damage of each newer one.
    """
    passed: list[str] = []
    for checkpoint in checkpoints:
        reason = damage(checkpoint)
        if not reason:
            return checkpoint, passed
        logger.warning("the checkpoint %s is damaged: %s", checkpoint.name, reason)
        passed.append(reason)
    return None, passed


def check_policy(folder: Path, phase: str) -> None:
    """Check that a saved policy is undamaged.

    Args:
        folder: Its folder.
        phase: The phase that creates it, and recreates it if it is deleted.

    Raises:
        DataError: It is damaged.
    """
    if reason := damage(folder):
        raise DataError(
            f"expected a whole policy in {folder}, but {reason}: restore the file, or remove "
            f"{folder} to repeat {phase}"
        )


def _noted(checkpoint: Path) -> list[tuple[Path, int]]:
    """Return the files and sizes that a checkpoint lists; none if it has no list."""
    try:
        sizes = json.loads((checkpoint / SIZES).read_text("utf-8"))
        return [(checkpoint / str(name), int(size)) for name, size in sizes.items()]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _unreadable(path: Path) -> str:
    """Return why a file cannot be read in the format of its suffix; empty if it can."""
    try:
        if path.suffix == ".safetensors":
            from safetensors import safe_open

            with safe_open(path, framework="pt") as opened:
                opened.keys()
        elif path.suffix in (".pt", ".pth"):
            import torch
            from transformers.trainer import safe_globals

            with safe_globals():
                torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        elif path.suffix == ".json":
            json.loads(path.read_text("utf-8"))
    except Exception as error:  # damaged files fail in as many ways as there are parsers
        return error_line(error)[:200]
    return ""
