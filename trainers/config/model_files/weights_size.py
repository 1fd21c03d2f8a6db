"""Check that a model's weights fit into memory, from the headers of its files alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.support.process_memory import available_bytes

__all__ = ["check_room", "stored_bytes"]

GIB = 2**30
LENGTH = 8
"""Bytes before the header of a safetensors file, which hold its length."""
MOST_HEAD = 100 * 2**20
"""Bytes of the longest header that the format allows."""


def stored_bytes(folder: Path, bytes_each: int | None = None) -> int:
    """Return the bytes of the weights in a folder; 0 if it has no readable safetensors files.

    Args:
        folder: A folder of a model.
        bytes_each: Bytes of a weight once it is loaded; None: as it is stored.
    """
    return sum(
        tensor["data_offsets"][1] - tensor["data_offsets"][0]
        if bytes_each is None
        else math.prod(tensor["shape"]) * bytes_each
        for path in sorted(folder.glob("*.safetensors"))
        for tensor in _tensors(path)
    )


def check_room(name: str | Path, needed: int, use: str = "its weights take") -> None:
    """Check that part of a model fits into the free memory, before it is read.

    Args:
        name: The model.
        needed: Bytes that are needed; 0: unknown.
        use: What they are for.

    Raises:
        ConfigurationError: It does not.
    """
    free_bytes = available_bytes()
    if free_bytes is not None and needed > free_bytes:
        raise ConfigurationError(
            f"expected a model that fits the {free_bytes / GIB:.1f} GiB of memory that are free, "
            f"got {name}: {use} {needed / GIB:.1f} GiB; choose a smaller model, end other "
            "programs, or use a machine with more memory"
        )


def _tensors(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the header entry of each tensor of a safetensors file; nothing if it is damaged.

    The damage is reported when the file is loaded.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH), "little")
            head = json.loads(file.read(length)) if length <= MOST_HEAD else {}
        tensors = [value for name, value in head.items() if name != "__metadata__"]
    except (OSError, ValueError, AttributeError):
        return
    yield from (tensor for tensor in tensors if {"shape", "data_offsets"} <= {*tensor})
