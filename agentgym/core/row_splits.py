"""Which split a row of a data set belongs to: one rule for the data of every family.

A row belongs to the split that its field ``split`` names. Where it names none, its file's name does
(``train.jsonl``). Where that says nothing either, rows are dealt by a hash of their content: an
eighth, but at least one, to ``test``, as many to ``valid``, and the rest to ``train``. Equal rows
stay together, so that no test task is trained on. Of two different rows one is for ``train`` and
one for ``test``; a single row is for ``test``. A split that some rows name gets no others: where
test rows are marked, the rest is for ``train`` and ``valid``.
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
"""What splits are called in rows and files -> what they are called here."""
FILE_NAMES: Mapping[str, str] = {**SPLIT_NAMES, "standard": "test"}
"""The same of file names; ``standard`` is AgentBench's word for its test set."""
HELD_OUT = 8
"""One of so many rows that name no split is for ``test``, and one for ``valid``."""


def named_split(name: object) -> str | None:
    """Read the field ``split`` of a row.

    Args:
        name: What the field holds; None or an empty text names no split.

    Returns:
        The split, or None.

    Raises:
        ValueError: It is none of :data:`SPLIT_NAMES`.
    """
    if name is None or name == "":
        return None
    if not isinstance(name, str) or name.lower() not in SPLIT_NAMES:
        raise ValueError(f"expected a split among {', '.join(SPLIT_NAMES)}, got {name!r:.80}")
    return SPLIT_NAMES[name.lower()]


def file_split(file: Path) -> str | None:
    """Return the split that the name of a file says, as ``dev.jsonl`` does; None for others."""
    return FILE_NAMES.get(stem(file).lower())


class Row(NamedTuple):
    """Where a row of a data set stands, and what it says of its split."""

    content: str
    """What makes it the task that it is, such as its question: equal contents stay together."""
    split: str | None
    """The split that it or its file names; None if it is to be dealt."""


def deal(rows: Sequence[Row], held_out: int = HELD_OUT) -> list[str]:
    """Return the split of every row, the same on every machine.

    A row that names no split, but has the content of one that does, follows that one.

    Args:
        rows: The rows.
        held_out: One of so many different contents is for ``test``, and one for ``valid``.

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


def by_split(items: Sequence[Item], rows: Sequence[Row]) -> dict[str, tuple[Item, ...]]:
    """Group what was read from rows by their splits, in order; no split is empty."""
    splits = deal(rows)
    grouped = {
        name: tuple(item for item, split in zip(items, splits, strict=True) if split == name)
        for name in SPLITS
    }
    return {name: group for name, group in grouped.items() if group}


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
