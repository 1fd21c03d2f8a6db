"""Checks of the tasks: ids, splits, seeds, and that an id keeps its tasks."""

from __future__ import annotations

import re
from collections import Counter
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
SEEDS = range(8)
"""Seeds that are compared."""


def unique_ids(subject: Subject) -> Measured:
    """The ids of tasks are counted.

    A pass means that an id names one task, in all splits together.
    """
    counts = Counter(task.id for tasks in _by_split(subject).values() for task in tasks)
    ambiguous = [f"{task_id} names {count} tasks" for task_id, count in counts.items() if count > 1]
    n = counts.total()
    return Measured(not ambiguous, f"{n:,} tasks, {len(ambiguous)} ambiguous ids", n, ambiguous)


def disjoint_splits(subject: Subject) -> Measured:
    """Goal and content of tasks are compared between splits, without their ids.

    A pass means that no task looked at is in two splits under different ids.
    """
    contents = {
        split: {canonical_json([task.goal, dict(task.content)]): task.id for task in tasks}
        for split, tasks in _by_split(subject, least=2).items()
    }
    shared = [
        f"{contents[a][content]} ({a}) = {contents[b][content]} ({b})"
        for a, b in combinations(contents, 2)
        for content in contents[a].keys() & contents[b].keys()
    ]
    n = sum(map(len, _by_split(subject).values()))
    return Measured(not shared, f"{n:,} tasks, {len(shared)} in two splits", n, sorted(shared))


def near_duplicates(subject: Subject) -> Measured:
    """Sequences of three words of goal and content are compared between splits.

    A pass means that no two tasks looked at share nine tenths of them (Jaccard similarity).
    """
    by_split = {
        split: [(task.id, shingles(task)) for task in tasks[:: max(1, len(tasks) // NEAR_TASKS)]]
        for split, tasks in _by_split(subject, least=2).items()
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

    def begin(seed: int) -> tuple[str, str]:
        observation, info = subject.env.reset(seed=seed)
        return str(info["task_id"]), observation

    first = {seed: begin(seed) for seed in SEEDS}
    again = {seed: begin(seed) for seed in reversed(SEEDS)}
    changed = [f"seed {s}: {first[s][0]} then {again[s][0]}" for s in SEEDS if first[s] != again[s]]
    kinds = len({*first.values()})
    if kinds == 1 and not changed and subject.env.tasks.len(subject.env.split) == 1:
        raise NotApplicable("there is one task, and no seed changes it")
    evidence = [*changed, *([] if kinds > 1 else [f"{len(SEEDS)} seeds begin the same episode"])]
    summary = f"{len(SEEDS)} seeds begin {kinds} different episodes, {len(changed)} change"
    return Measured(not evidence, summary, 2 * len(SEEDS), evidence)


def immutable_version(subject: Subject) -> Measured:
    """The tasks are compared with those of an earlier certificate of the same id.

    A pass means that the content of the tasks has not changed under this id.
    """
    if subject.earlier is None:
        raise NotApplicable("there is no earlier certificate to compare with; give it as `earlier`")
    then, now = str(subject.earlier.get("panel_sha256", "")), subject.panel_sha256
    return Measured(then == now, f"panel {now[:16]}, then {then[:16]}", subject.n)


def _by_split(subject: Subject, least: int = 1) -> dict[str, list[Task]]:
    """Return tasks that are spread evenly over each split.

    Raises:
        NotApplicable: There are fewer splits than ``least``.
    """

    def find() -> dict[str, list[Task]]:
        tasks = subject.env.tasks
        by_split: dict[str, list[Task]] = {}
        for split in subject.counts:
            stride = max(1, tasks.len(split) // MOST_TASKS)
            by_split[split] = []
            for index in range(0, tasks.len(split), stride)[:MOST_TASKS]:
                subject.budget.check()
                by_split[split].append(tasks.task(split, index))
        return by_split

    by_split: dict[str, list[Task]] = subject.remember("tasks", find)
    if len(by_split) < least:
        raise NotApplicable("there is one split")
    return by_split
