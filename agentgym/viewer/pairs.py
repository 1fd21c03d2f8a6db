"""Pair the episodes of two runs for display side by side."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Key = Callable[[Row], Hashable]


def pair_rows(first: Sequence[Row], second: Sequence[Row]) -> list[tuple[int, int, str]]:
    """Pair the episodes of two runs.

    Those of the same task, seed and options are paired first, then what is left of a task. Where
    a run has several such episodes (samples of one task), they are paired in their order. If both
    runs have parts, such as the policies that a training run compares, only those of a part's own
    name are paired.

    Args:
        first: Rows with ``task``, ``seed``, ``options`` and ``part``; an episode that failed before
            it had a task has an empty one and is never paired.
        second: Those of the other run.

    Returns:
        Pairs of indices, in the order of the first run, and by what they were paired: ``"seed"``
        or ``"task"``.
    """
    parts = min(len({row["part"] for row in rows}) for rows in (first, second))
    place: Key = (lambda row: row["part"]) if parts > 1 else (lambda row: "")
    keys: tuple[tuple[str, Key], ...] = (
        ("seed", lambda row: (place(row), row["task"], row["seed"], _options(row["options"]))),
        ("task", lambda row: (place(row), row["task"])),
    )
    first_indices = [index for index, row in enumerate(first) if row["task"]]
    second_indices = [index for index, row in enumerate(second) if row["task"]]
    pairs: list[tuple[int, int, str]] = []
    for name, key in keys:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for index in second_indices:
            waiting[key(second[index])].append(index)
        matches = []
        for index in first_indices:
            if queue := waiting[key(first[index])]:
                matches.append((index, queue.popleft(), name))
        pairs += matches
        taken_left, taken_right = ({pair[side] for pair in matches} for side in (0, 1))
        first_indices = [index for index in first_indices if index not in taken_left]
        second_indices = [index for index in second_indices if index not in taken_right]
    return sorted(pairs)


def _options(options: Mapping[str, Any]) -> str:
    """Return options as text that is equal where they are; where training was is no part of it."""
    compared = {name: value for name, value in options.items() if name != "training_step"}
    return json.dumps(compared, sort_keys=True)
