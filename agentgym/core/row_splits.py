"""Assign the rows of a data set to splits, by one rule for all families.

The field ``split`` of a row names its split; without it, the name of the file does
(``train.jsonl``). Otherwise rows are assigned by a hash of their content: an eighth, but at least
one, to ``test``, as many to ``valid``, and the rest to ``train``. Equal rows stay together, so that
no test task is trained on. Of two different rows one goes to ``train`` and one to ``test``; a
single row goes to ``test``. If some rows name ``test`` or ``valid``, that split gets no other rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from agentgym.core.tasks import SPLITS
from agentgym.support.datafiles import stem

Item = TypeVar("Item")
SPLIT_NAMES: Mapping[str, str] = {
    **{split: split for split in SPLITS}, "dev": "valid", "val": "valid", "validation": "valid",
}  # fmt: skip
"""Names of splits in rows and files -> names in agentgym."""
FILE_NAMES: Mapping[str, str] = {**SPLIT_NAMES, "standard": "test"}
"""Names of splits in file names; ``standard`` is AgentBench's name of its test set."""
HELD_OUT = 8
"""One of this many rows without a split goes to ``test``, and one to ``valid``."""


def named_split(name: object) -> str | None:
    """Read the field ``split`` of a row.

    Args:
        name: Value of the field; None or an empty text names no split.

    Returns:
        The split, or None.

    Raises:
        ValueError: The name is not one of :data:`SPLIT_NAMES`.
    """
    if name is None or name == "":
        return None
    if not isinstance(name, str) or name.lower() not in SPLIT_NAMES:
        raise ValueError(f"expected a split among {', '.join(SPLIT_NAMES)}, got {name!r:.80}")
    return SPLIT_NAMES[name.lower()]


def file_split(file: Path) -> str | None:
    """Return the split named by a file such as ``dev.jsonl``; None for other files."""
    return FILE_NAMES.get(stem(file).lower())


class SplitRow(NamedTuple):
    """A row of a data set, with its place and its split."""

    content: str
    """Content that identifies the task, such as its question: rows with equal content stay
    together."""
    split: str | None
    """The split named by the row or its file; None if it is to be assigned."""


def deal(rows: Sequence[SplitRow], held_out: int = HELD_OUT) -> list[str]:
    """Return the split of every row, the same on every machine.

    A row without a split follows a row with a split and the same content.

    Args:
        rows: The rows.
        held_out: One of this many distinct contents goes to ``test``, and one to ``valid``.

    Returns:
        A split for each row, in their order.
    """
    homes: dict[str, str] = {}
    for row in rows:
        if row.split is not None:
            homes.setdefault(row.content, row.split)
    loose = {_hash(row.content): row.content for row in rows if row.content not in homes}
    named = set(homes.values())
    share = max(1, len(loose) // held_out)
    first_test = len(loose) - (0 if "test" in named else share)
    first_valid = first_test - (0 if "valid" in named or first_test < 2 else share)
    for place, key in enumerate(sorted(loose)):
        dealt = "train" if place < first_valid else "valid" if place < first_test else "test"
        homes[loose[key]] = dealt
    return [row.split or homes[row.content] for row in rows]


def by_split(items: Sequence[Item], rows: Sequence[SplitRow]) -> dict[str, tuple[Item, ...]]:
    """Group values of rows by split, in order; splits without rows are left out."""
    splits = deal(rows)
    grouped = {
        name: tuple(item for item, split in zip(items, splits, strict=True) if split == name)
        for name in SPLITS
    }
    return {name: group for name, group in grouped.items() if group}


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
