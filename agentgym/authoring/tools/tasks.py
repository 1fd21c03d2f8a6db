"""Rows of a data set as tasks in disjoint splits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from agentgym.core import row_splits
from agentgym.core.tasks import SPLITS, Task, TaskList, TaskSet, canonical_json
from agentgym.errors import ConfigurationError
from agentgym.support.datafiles import read_records

GOALS = ("goal", "question", "instruction", "prompt", "problem", "task")
"""Columns that may hold the instruction; the first that a row has is taken."""
HELD_OUT = 5
"""One of so many instructions is for test, and one for valid, where one data set is dealt."""

Row = Mapping[str, Any]
Rows = str | Path | Iterable[Row]
Goal = str | Callable[[Row], str] | None


def tool_tasks(
    source: Rows | Mapping[str, Rows] | TaskSet, *, name: str = "tools", goal: Goal = None
) -> TaskSet:
    """Make a task set from a data set.

    Args:
        source: Rows, a file of rows (JSON lines, gzipped or not, JSON or parquet), or a mapping of
            names of splits to these. A row of one data set belongs to the split that its column
            ``split`` names; the others are dealt to ``train``, ``valid`` and ``test``, 60 to 20 to
            20, by hashes of the instructions: equal ones come into the same split. Rows that are
            equal in everything count once. A task set is returned as it is.
        name: Name of the set, which begins the id of every task. An id ends in the row's ``id``,
            or in its hash if it has none.
        goal: The column that holds the instruction, or a function of the row that returns it; the
            first of :data:`GOALS` if left out.

    Returns:
        The tasks; each has its row as its content.

    Raises:
        ConfigurationError: A row has no instruction or is no JSON, two rows have the same id, or
            there are too few for three splits.
        DataError: A file cannot be read.
    """
    if isinstance(source, TaskSet):
        return source
    if isinstance(source, Mapping):
        named = {split: _read_rows(rows, goal) for split, rows in source.items()}
        _check_disjoint(named)
    else:
        named = _dealt(_read_rows(source, goal))
    for split, rows in named.items():
        if not rows:
            raise ConfigurationError(f"expected a row or more for the split {split!r}, got none")
    return TaskList(
        name,
        {
            split: [
                Task(f"{name}/{row.get('id', digest)}", split, index, text, row)
                for index, (digest, (text, row)) in enumerate(rows.items())
            ]
            for split, rows in named.items()
        },
    )


Read = dict[str, tuple[str, dict[str, Any]]]
"""Instruction and row by the row's hash."""


def _read_rows(source: Rows, goal: Goal) -> Read:
    """Return the rows of a data set in their order."""
    if isinstance(source, str | Path):
        # The extra brings pyarrow, for parquet.
        places: Iterable[tuple[str, Any]] = read_records(Path(source).expanduser(), "search")
    else:
        places = ((f"row {number}", row) for number, row in enumerate(source))
    row_read: Read = {}
    for place, row in places:
        if not isinstance(row, Mapping):
            raise ConfigurationError(f"expected {place} to be a mapping, got {row!r:.120}")
        try:
            text = canonical_json(dict(row))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"expected {place} to be JSON: {error}") from error
        digest = _hash(text)[:16]
        row_read[digest] = (_goal(row, goal, place), dict(row))
    return row_read


def _goal(row: Row, goal: Goal, place: str) -> str:
    """Return the instruction of a row."""
    if callable(goal):
        instruction: Any = goal(row)
    else:
        instruction = next(
            (row[name] for name in ((goal,) if goal else GOALS) if name in row), None
        )
    if not isinstance(instruction, str) or not instruction.strip():
        source = "goal(row)" if callable(goal) else " or ".join((goal,) if goal else GOALS)
        raise ConfigurationError(
            f"expected {place} to hold an instruction as {source}, got {instruction!r:.80} in "
            f"{row!r:.200}"
        )
    return instruction


def _dealt(rows: Read) -> dict[str, Read]:
    """Deal rows to three splits, so that equal instructions stay together."""
    try:
        places = [
            row_splits.SplitRow(text, row_splits.named_split(row.get("split")))
            for text, row in rows.values()
        ]
    except ValueError as error:
        raise ConfigurationError(f"{error} in a row") from None
    different = len({place.content for place in places})
    if different < len(SPLITS) and not any(place.split for place in places):
        raise ConfigurationError(
            f"expected at least {len(SPLITS)} different instructions, one for each split, got "
            f"{different}; name the splits yourself: tasks={{'train': rows, 'test': others}}"
        )
    dealt: dict[str, Read] = {split: {} for split in SPLITS}
    splits = row_splits.deal(places, HELD_OUT)
    for split, (digest, split_rows) in zip(splits, rows.items(), strict=True):
        dealt[split][digest] = split_rows
    return {split: members for split, members in dealt.items() if members}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _check_disjoint(named: Mapping[str, Read]) -> None:
    """Refuse a row that stands in two splits."""
    owners: dict[str, str] = {}
    for split, rows in named.items():
        for digest, (text, _) in rows.items():
            if digest in owners:
                raise ConfigurationError(
                    f"expected disjoint splits, got the row {text!r:.80} in {owners[digest]!r} and "
                    f"{split!r}"
                )
            owners[digest] = split
