"""Checks of the tasks: ids, splits, seeds, and that an id keeps its tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from agentgym.certification.result import Measured, NotApplicable
from agentgym.certification.subject import Subject
from agentgym.core.tasks import Task, canonical_json

MOST_TASKS = 300
"""Maximum number of tasks of each split that are compared."""
NEAR = 0.9
"""Jaccard similarity of three-word sequences from which two tasks are near-duplicates."""
NEAR_TASKS = 100
"""About how many tasks of each split are compared word by word."""
LONGEST = 20_000
"""Maximum number of characters of a task that are compared."""
SEEDS = 8
"""Number of seeds that are compared."""


def unique_ids(subject: Subject) -> Measured:
    """The ids of tasks are counted.

    A pass means that an id names one task, in all splits together.
    """
    tasks = [task for tasks in _split_tasks(subject).values() for task in tasks]
    counts = Counter(task.id for task in tasks)
    ambiguous = [f"{task_id} names {count} tasks" for task_id, count in counts.items() if count > 1]
    summary = f"{len(tasks):,} tasks, {len(ambiguous)} ambiguous ids"
    return Measured(not ambiguous, summary, len(tasks), ambiguous)


def disjoint_splits(subject: Subject) -> Measured:
    """Goal and content of tasks are compared between splits, without their ids.

    A pass means that no task looked at is in two splits under different ids.
    """
    by_split = _several(subject)
    contents = {
        split: {canonical_json([task.goal, dict(task.content)]): task.id for task in tasks}
        for split, tasks in by_split.items()
    }
    shared = [
        f"{contents[a][content]} ({a}) = {contents[b][content]} ({b})"
        for a, b in combinations(contents, 2)
        for content in contents[a].keys() & contents[b].keys()
    ]
    n = sum(map(len, by_split.values()))
    return Measured(not shared, f"{n:,} tasks, {len(shared)} in two splits", n, sorted(shared))


def near_duplicates(subject: Subject) -> Measured:
    """Sequences of three words of goal and content are compared between splits.

    A pass means that no two tasks looked at share nine tenths of them (Jaccard similarity).
    """
    by_split = {
        split: [(task.id, shingles(task)) for task in tasks[:: max(1, len(tasks) // NEAR_TASKS)]]
        for split, tasks in _several(subject).items()
    }
    near = []
    for a, b in combinations(by_split, 2):
        for first_id, first in by_split[a]:
            subject.budget.check()
            near += [
                f"{first_id} ({a}) is like {second_id} ({b})"
                for second_id, second in by_split[b]
                if len(first & second) >= NEAR * len(first | second)
            ]
    n = sum(map(len, by_split.values()))
    return Measured(not near, f"{n:,} tasks, {len(near)} pairs", n, near)


def shingles(task: Task) -> frozenset[tuple[str, ...]]:
    """Return the sequences of three words of a task's goal and content."""
    text = f"{task.goal} {canonical_json(dict(task.content))}"[:LONGEST].lower()
    words = re.findall(r"\w+", text)
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])


def seed_control(subject: Subject) -> Measured:
    """Episodes begin with several seeds, each twice, without a named task.

    A pass means that equal seeds begin equal episodes, and that not all seeds begin the same one.
    """
    openings = [_opening(subject, seed) for seed in range(SEEDS)]
    again = [_opening(subject, seed) for seed in reversed(range(SEEDS))][::-1]
    changed = [
        f"seed {seed}: {openings[seed][0]} then {again[seed][0]}"
        for seed in range(SEEDS)
        if openings[seed] != again[seed]
    ]
    kinds, size = len({*openings}), subject.env.tasks.len(subject.env.split)
    if kinds == 1 and size == 1 and not changed:
        raise NotApplicable("there is one task, and no seed changes it")
    counted = kinds > 1
    ignored = [] if counted else [f"{SEEDS} seeds begin the same episode"]
    summary = f"{SEEDS} seeds begin {kinds} different episodes, {len(changed)} change"
    return Measured(counted and not changed, summary, 2 * SEEDS, changed + ignored)


def immutable_version(subject: Subject) -> Measured:
    """The tasks are compared with those of an earlier certificate of the same id.

    A pass means that the content of the tasks has not changed under this id.
    """
    if subject.earlier is None:
        raise NotApplicable("there is no earlier certificate to compare with; give it as `earlier`")
    then = str(subject.earlier.get("panel_sha256", ""))
    summary = f"panel {subject.panel_sha256[:16]}, then {then[:16]}"
    return Measured(then == subject.panel_sha256, summary, subject.n)


def _opening(subject: Subject, seed: int) -> tuple[str, str]:
    observation, info = subject.env.reset(seed=seed)
    return str(info["task_id"]), observation


def _split_tasks(subject: Subject) -> dict[str, list[Task]]:
    """Return tasks that are spread evenly over each split."""

    def listed() -> Iterator[tuple[str, list[Task]]]:
        tasks = subject.env.tasks
        for split in subject.counts:
            stride = max(1, tasks.len(split) // MOST_TASKS)
            looked_at = []
            for index in range(0, tasks.len(split), stride)[:MOST_TASKS]:
                subject.budget.check()
                looked_at.append(tasks.task(split, index))
            yield split, looked_at

    by_split: dict[str, list[Task]] = subject.remember("tasks", lambda: dict(listed()))
    return by_split


def _several(subject: Subject) -> dict[str, list[Task]]:
    by_split = _split_tasks(subject)
    if len(by_split) < 2:
        raise NotApplicable("there is one split")
    return by_split
