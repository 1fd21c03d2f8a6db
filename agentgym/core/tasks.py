"""Tasks, splits and panels: what an episode is about, the same on every machine."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.support.caching import BoundedCache

SPLITS = ("train", "valid", "test")
ALL = "all"
"""Name for the tasks of all splits together, in evaluations."""
LABELS = ("task_type", "difficulty", "category", "kind", "hops", "repo")
"""Entries of a task's content that describe its kind; reports group results by them."""
KEPT_TASKS = 1 << 14
"""Maximum number of tasks, and of plan lengths, that a set of numbered tasks caches."""

Problem = TypeVar("Problem")


def canonical_json(value: object) -> str:
    """Serialise ``value`` to one fixed JSON text: sorted keys, no white space, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class Task:
    """A problem instance: everything that determines an episode's start and its reward."""

    id: str
    """Stable name, unique in its task set."""
    split: str
    """The split that the task belongs to."""
    index: int
    """Position within the split, from 0."""
    goal: str
    """The instruction as text."""
    content: Mapping[str, Any] = field(default_factory=dict)
    """JSON-safe description of the instance; hashed into panels."""

    def digest(self) -> str:
        """Return the SHA-256 (hex) over id, goal and content."""
        text = canonical_json([self.id, self.goal, dict(self.content)])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Panel:
    """A fixed choice of tasks on which policies are compared."""

    split: str
    """Split that the tasks were drawn from."""
    seed: int
    """Seed of the draw."""
    ids: tuple[str, ...]
    """Task ids in the order in which they are played."""
    sha256: str
    """Hash of the content of all tasks, to detect changed tasks."""

    def __len__(self) -> int:
        """Number of tasks."""
        return len(self.ids)


class TaskSet(ABC):
    """The tasks of one environment configuration, in named, disjoint splits.

    A family implements :meth:`len`, :meth:`task` and :meth:`find`; the order within a split must
    not depend on the machine, the process or a hash seed.
    """

    name: str
    """Short name of the set, used in task ids."""
    splits: tuple[str, ...] = SPLITS
    """Names of the splits."""
    aliases: Mapping[str, str] = {}
    """Other names of splits: ``train``, ``valid`` and ``test`` also work if a family's literature
    uses different names."""
    left_out: tuple[str, ...] = ()
    """Unusable rows of a data set, which are not tasks: for each, its position and the reason."""

    @abstractmethod
    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``.

        Raises:
            TaskNotFound: There is no such split.
        """

    @abstractmethod
    def task(self, split: str, index: int) -> Task:
        """Return task number ``index`` of ``split``.

        Raises:
            TaskNotFound: There is no such split or index.
        """

    @abstractmethod
    def find(self, task_id: str) -> Task:
        """Return the task with this id.

        Raises:
            TaskNotFound: No task has this id.
        """

    def oracle_turns(self, task: Task) -> int | None:
        """Return the length of the expert's plan from the start, or None if it is unknown.

        For an expert that may fail, it is the length of a successful plan.
        """
        return None

    def labels(self, task: Task) -> dict[str, str]:
        """Return the labels of a task, by which reports group results.

        Returns:
            Name -> value: the entries of the content named in `LABELS`, and ``expert_turns``, the
            length of the expert's plan, if known.
        """
        kinds = {name: str(task.content[name]) for name in LABELS if name in task.content}
        turns = self.oracle_turns(task)
        return kinds if turns is None else {**kinds, "expert_turns": str(turns)}

    def draw(self, rng: np.random.Generator, split: str) -> Task:
        """Draw one task of ``split`` uniformly."""
        return self.task(split, int(rng.integers(self.len(split))))

    def choose(self, options: Mapping[str, Any], rng: np.random.Generator, split: str) -> Task:
        """Return the task that reset options name, or draw one.

        Args:
            options: May hold ``task_id``, or ``split`` and ``index``; validated (see
                :func:`agentgym.core.options.check_reset`).
            rng: Generator for the draw.
            split: Split to draw from if the options name none.

        Raises:
            ConfigurationError: Both a task id and a split or index are given.
            TaskNotFound: The named task does not exist.
        """
        if "task_id" in options:
            if "index" in options or "split" in options:
                raise ConfigurationError(
                    "expected either task_id, or split with index, in the reset options; got both"
                )
            return self.find(options["task_id"])
        split = options.get("split", split)
        if "index" not in options:
            return self.draw(rng, self.check(split))
        index = options["index"]
        return self.task(self.check(split, index), index)

    def iterate(self, split: str) -> Iterator[Task]:
        """Yield the tasks of ``split`` in order."""
        return (self.task(split, index) for index in range(self.len(split)))

    def panel(self, split: str, num_tasks: int, seed: int = 0) -> Panel:
        """Choose ``num_tasks`` distinct tasks of ``split``.

        The tasks are the beginning of a seeded permutation, so a smaller panel is a prefix of a
        larger one with the same seed.

        Args:
            split: Split to draw from; :data:`ALL` for all splits.
            num_tasks: Number of tasks, at most :meth:`size` of the split.
            seed: Seed of the permutation.

        Raises:
            ConfigurationError: ``num_tasks`` is not between 1 and the size of the split, or
                ``seed`` is not a whole number from 0.
            TaskNotFound: There is no such split.
        """
        size = self.size(split)
        split = split if split == ALL else self.check(split)
        num_tasks, seed = (
            integer(num_tasks, "the number of tasks of a panel"),
            integer(seed, "the seed"),
        )
        if seed < 0:
            raise ConfigurationError(f"expected the seed to be at least 0, got {seed}")
        if not 1 <= num_tasks <= size:
            raise ConfigurationError(
                f"expected a panel of 1 to {size} tasks of split {split!r}, got "
                f"num_tasks={num_tasks}; choose a smaller number, or make the "
                "environment with a larger task set"
            )
        # PCG64 by name: NumPy may change the generator behind default_rng, and so every panel.
        order = np.random.Generator(np.random.PCG64(seed)).permutation(size)[:num_tasks]
        tasks = [self._at(split, int(index)) for index in order]
        digest = hashlib.sha256("".join(task.digest() for task in tasks).encode()).hexdigest()
        return Panel(split, seed, tuple(task.id for task in tasks), digest)

    def size(self, split: str) -> int:
        """Return the number of tasks in ``split``, or in all splits for :data:`ALL`.

        Raises:
            TaskNotFound: There is no such split.
        """
        return sum(map(self.len, self.splits)) if split == ALL else self.len(self.check(split))

    def _at(self, split: str, index: int) -> Task:
        """Return task number ``index`` of a split, or of all splits one after the other."""
        names = self.splits if split == ALL else (split,)
        for name in names:
            if index < self.len(name):
                return self.task(name, index)
            index -= self.len(name)
        raise TaskNotFound(f"expected a task of {self.name}, got index {index} after the last")

    def check(self, split: str, index: int | None = None) -> str:
        """Validate a split or its alias, and an index in it; return the name of the split.

        Raises:
            ConfigurationError: The index is not an integer.
            TaskNotFound: The split is unknown or the index is out of range.
        """
        if isinstance(split, str):
            split = self.aliases.get(split, split)
        if not isinstance(split, str) or split not in self.splits:
            raise TaskNotFound(
                f"expected a split of {self.name}: one of {', '.join(self.splits)}; got {split!r}"
            )
        if index is None:
            return split
        if not 0 <= integer(index, "the index of a task") < self.len(split):
            raise TaskNotFound(
                f"expected an index from 0 to {self.len(split) - 1} in split {split!r} of "
                f"{self.name}, got {index}"
            )
        return split


class NumberedTasks(TaskSet, Generic[Problem]):
    """Tasks that are made on demand from numbered problems.

    A problem is the family's own object behind a task, such as a game or a shopping goal. Its
    *number* in its split is fixed and determines its id. The *index* of a task is its position in
    the split, which equals the number unless :meth:`_order` changes it. Recently used problems,
    tasks and plan lengths are cached, thread-safely; copies and pickles leave them out.

    A family implements :meth:`len`, :meth:`_problem` and :meth:`_describe`, and overrides
    :meth:`_id` and :meth:`_place` if its ids are not ``<name>/<split>/<number>``.

    Args:
        name: Name of the set, which begins every id.
        plan_length: Returns the length of the expert's plan for a problem; None if unknown.
        cache_size: Maximum number of problems in memory.
    """

    remedy: str = "make the environment with the settings that the id names"
    """Advice for an id that is not in this set; ends an error message."""

    def __init__(
        self,
        name: str,
        *,
        plan_length: Callable[[Problem], int | None] | None = None,
        cache_size: int = 256,
    ) -> None:
        self.name = name
        self.plan_length = plan_length
        self._problems: BoundedCache[str, Problem] = BoundedCache(cache_size)
        self._tasks: BoundedCache[tuple[str, int], Task] = BoundedCache(KEPT_TASKS)
        self._turns: BoundedCache[str, int | None] = BoundedCache(KEPT_TASKS)
        self._orders: BoundedCache[str, tuple[Sequence[int], dict[int, int]]] = BoundedCache(64)

    @abstractmethod
    def _problem(self, split: str, number: int) -> Problem:
        """Make or read a problem; split and number are valid."""

    @abstractmethod
    def _describe(self, split: str, number: int, problem: Problem) -> tuple[str, Mapping[str, Any]]:
        """Return goal and content of a problem's task."""

    def _id(self, split: str, number: int) -> str:
        """Return the id of a problem's task."""
        return f"{self.name}/{split}/{number}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        """Return split and number of the problem that an id names, or None."""
        head, _, tail = task_id.rpartition("/")
        name, _, split = head.rpartition("/")
        number = whole_number(tail)
        if name != self.name or split not in self.splits or number is None:
            return None
        return (split, number) if number < self.len(split) else None

    def _order(self, split: str) -> Sequence[int] | None:
        """Return the problem numbers of a split in the order of its tasks; None: ascending."""
        return None

    def task(self, split: str, index: int) -> Task:
        """Return task number ``index`` of ``split``."""
        place = self.check(split, index), int(index)
        task = self._tasks.get(place)
        if task is None:
            order = self._ordered(place[0])
            number = place[1] if order is None else order[0][place[1]]
            task_id = self._id(place[0], number)
            goal, content = self._describe(
                place[0], number, self._fetch_problem(task_id, place[0], number)
            )
            task = self._tasks.put(place, Task(task_id, *place, goal, content))
        return task

    def find(self, task_id: str) -> Task:
        """Return the task with this id."""
        split, number = self._locate(task_id)
        order = self._ordered(split)
        return self.task(split, number if order is None else order[1][number])

    def problem(self, task: Task) -> Problem:
        """Return the problem of a task. It is shared: do not modify it.

        Raises:
            TaskNotFound: The task belongs to another set.
        """
        problem = self._problems.refresh(task.id)
        return self._fetch_problem(task.id, *self._locate(task.id)) if problem is None else problem

    def oracle_turns(self, task: Task) -> int | None:
        """Return the length of the expert's plan from the start; cached."""
        if self.plan_length is None:
            return None
        # A cached None means that no plan is known, so -1 marks a task that is not cached.
        turns = self._turns.get(task.id, -1)
        if turns == -1:
            turns = self._turns.put(task.id, self.plan_length(self.problem(task)))
        return turns

    def _locate(self, task_id: str) -> tuple[str, int]:
        place = self._place(str(task_id))
        if place is None:
            example = self._id(self.splits[0], 0)
            raise TaskNotFound(
                f"expected the id of a task of {self.name}, such as {example}; got {task_id!r:.200}"
                f"; {self.remedy}"
            )
        return place

    def _fetch_problem(self, task_id: str, split: str, number: int) -> Problem:
        problem = self._problems.refresh(task_id)
        if problem is None:
            problem = self._problems.put(task_id, self._problem(split, number))
        return problem

    def _ordered(self, split: str) -> tuple[Sequence[int], dict[int, int]] | None:
        """Return numbers by index and indices by number; None if index and number are equal."""
        order = self._orders.get(split)
        if order is None:
            numbers = self._order(split)
            if numbers is None:
                return None
            indices = {number: index for index, number in enumerate(numbers)}
            order = self._orders.put(split, (numbers, indices))
        return order


def whole_number(text: str) -> int | None:
    """Read a number in the canonical form of ids; ``"007"`` and ``"+7"`` give None."""
    is_decimal = text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if is_decimal and (text == "0" or text[0] != "0") else None


class TaskList(TaskSet):
    """Tasks that fit in memory.

    Args:
        name: Short name of the set.
        tasks: The tasks of each split; ``split`` and ``index`` of a task must match its position.

    Raises:
        ConfigurationError: Two tasks share an id, so that splits would not be disjoint, or the
            split or index of a task is wrong.
    """

    def __init__(self, name: str, tasks: Mapping[str, Sequence[Task]]) -> None:
        self.name = name
        self.splits = tuple(tasks)
        self._tasks = {split: tuple(entries) for split, entries in tasks.items()}
        self._by_id: dict[str, Task] = {}
        for split, entries in self._tasks.items():
            for index, task in enumerate(entries):
                if (task.split, task.index) != (split, index) or task.id in self._by_id:
                    raise ConfigurationError(
                        f"expected task {task.id!r} once, with split={split!r} and index={index}; "
                        f"got split={task.split!r} and index={task.index}, or the id twice"
                    )
                self._by_id[task.id] = task

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._tasks[self.check(split)])

    def draw(self, rng: np.random.Generator, split: str) -> Task:
        """Draw one task of ``split`` uniformly."""
        tasks = self._tasks[self.check(split)]
        return tasks[int(rng.integers(len(tasks)))]

    def task(self, split: str, index: int) -> Task:
        """Return a task by its split and index."""
        return self._tasks[self.check(split, index)][index]

    def find(self, task_id: str) -> Task:
        """Return a task by its id."""
        if task_id not in self._by_id:
            raise TaskNotFound(f"expected the id of a task of {self.name}, got {task_id!r}")
        return self._by_id[task_id]
