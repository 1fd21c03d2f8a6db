"""The tasks of Search: questions in disjoint splits, generated or read from files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from agentgym.core.options import integer
from agentgym.core.tasks import KEPT_TASKS, SPLITS, NumberedTasks, Task, whole_number
from agentgym.envs.search.corpus import GeneratedLibrary, Library
from agentgym.envs.search.question import Question
from agentgym.errors import ConfigurationError
from agentgym.support.caching import BoundedCache

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 1_000, "test": 1_000}
"""Most questions about the generated encyclopaedia."""
MOST_HOPS = 100

PlanLength = Callable[[Question, str], "int | None"]
"""Gives the length of the expert's plan for a question of a split."""


def hop_counts(value: Any, name: str) -> tuple[int, ...]:
    """Validate a number of hops or several of them; any of these will do.

    Raises:
        ConfigurationError: It is neither an integer nor a list of some.
    """
    some = [value] if isinstance(value, int | np.integer) else value
    if isinstance(some, str) or not isinstance(some, Sequence) or not some:
        raise ConfigurationError(
            f"expected {name} to be a number of hops or a list of such, got {value!r:.80}"
        )
    return tuple(sorted({integer(number, name, 1, MOST_HOPS) for number in some}))


class QuestionTasks(NumberedTasks[Question]):
    """Questions as tasks, perhaps only those of some numbers of hops.

    Args:
        name: Name of the set, which begins every id.
        library: What the questions are about.
        hops: Numbers of hops that questions may have; None: any.
        plan_length: Gives the length of the expert's plan.
    """

    def __init__(
        self,
        name: str,
        library: Library,
        *,
        hops: tuple[int, ...] | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__(name, cache_size=KEPT_TASKS)
        self.library = library
        self.hops = hops
        self._plan_length = plan_length
        self._subsets: BoundedCache[tuple[str, tuple[int, ...]], Sequence[int]] = BoundedCache(64)

    @abstractmethod
    def count(self, split: str) -> int:
        """Return the number of questions of a split, whatever their hops are."""

    @abstractmethod
    def hops_of(self, split: str, number: int) -> int:
        """Return the number of hops of a question; 0 if unknown."""

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        split = self.check(split)
        return self.count(split) if self.hops is None else len(self._numbers(split, self.hops))

    def oracle_turns(self, task: Task) -> int | None:
        """Return the length of the expert's plan from the start, remembered once it is known."""
        if self._plan_length is None:
            return None
        turns = self._turns.get(task.id, -1)
        if turns == -1:
            turns = self._plan_length(self.problem(task), task.split)
            self._turns.put(task.id, turns)
        return turns

    def choose(self, options: Mapping[str, Any], rng: np.random.Generator, split: str) -> Task:
        """Return the task that reset options name, or draw one.

        Args:
            options: Besides those of every task set ``question_id``, which is another word for
                ``task_id``, and ``hops``, of which the drawn task has one.
            rng: Generator for the draw.
            split: Split to draw from if the options name none.

        Raises:
            ConfigurationError: Options contradict each other, or no task has such hops.
            TaskNotFound: The named task does not exist.
        """
        normalised = dict(options)
        if "question_id" in normalised:
            if "task_id" in normalised:
                raise ConfigurationError(
                    "expected question_id or task_id, which mean the same, got both"
                )
            normalised["task_id"] = normalised.pop("question_id")
        if "hops" not in normalised:
            return super().choose(normalised, rng, split)
        if "task_id" in normalised or "index" in normalised:
            raise ConfigurationError(
                "expected the reset option hops alone, which draws among such tasks, got a task "
                "beside it"
            )
        split = self.check(normalised.get("split", split))
        hops = (
            normalised["hops"]
            if self.hops is None
            else tuple(set(normalised["hops"]) & set(self.hops))
        )
        numbers = self._numbers(split, tuple(sorted(hops)))
        if not numbers:
            raise ConfigurationError(
                f"expected hops that questions of split {split!r} have, got {normalised['hops']}"
            )
        number = numbers[int(rng.integers(len(numbers)))]
        return self.find(self._id(split, number))

    def _numbers(self, split: str, hops: tuple[int, ...]) -> Sequence[int]:
        """Return the numbers of a split's questions that have one of these numbers of hops."""
        subset = self._subsets.get((split, hops))
        if subset is None:
            numbers = [n for n in range(self.count(split)) if self.hops_of(split, n) in hops]
            subset = self._subsets.put((split, hops), numbers)
        return subset

    def _order(self, split: str) -> Sequence[int] | None:
        return None if self.hops is None else self._numbers(split, self.hops)

    def _place(self, task_id: str) -> tuple[str, int] | None:
        head, _, tail = task_id.rpartition("/")
        name, _, split = head.rpartition("/")
        number = whole_number(tail)
        if name != self.name or split not in self.splits or number is None:
            return None
        included = number < self.count(split) and (
            self.hops is None or self.hops_of(split, number) in self.hops
        )
        return (split, number) if included else None

    def _describe(
        self, split: str, number: int, problem: Question
    ) -> tuple[str, Mapping[str, Any]]:
        return problem.text, {
            "question": problem.text,
            "answers": list(problem.answers),
            "kind": problem.kind,
            "hops": problem.hops,
            "corpus": self.library.identity(split),
        }


def generated_sizes(limit: int, shared: bool) -> dict[str, int]:
    """Return how many questions each split has, of as many as there are about a universe.

    If all splits are about one universe, they share them, a tenth each for ``valid`` and ``test``.
    """
    if not shared:
        return {split: min(count, limit) for split, count in SIZES.items()}
    held_out = {split: min(SIZES[split], limit // 10) for split in SPLITS[1:]}
    return {"train": min(SIZES["train"], limit - sum(held_out.values())), **held_out}


class GeneratedQuestions(QuestionTasks):
    """Questions about the generated encyclopaedia, made and verified when they are asked for.

    Ids read ``search/<preset>-<size>-<seed>/<split>/<number>``. With one universe for all splits
    each split has numbers of its own.
    """

    remedy = "make the environment with the difficulty, size, seed and hops that the id names"
    library: GeneratedLibrary

    def __init__(
        self,
        library: GeneratedLibrary,
        *,
        hops: tuple[int, ...] | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__(f"search/{library.name}", library, hops=hops, plan_length=plan_length)
        self._sizes = generated_sizes(library.questions, library.shared)
        ends = accumulate(self._sizes.values(), initial=0)
        self._first = dict(zip(self._sizes, ends, strict=False))
        if not library.shared:
            self._first = dict.fromkeys(self._sizes, 0)
        available = sorted({shape[1] for shape in library.shapes})
        if hops is not None and not set(hops) & set(available):
            raise ConfigurationError(
                f"expected hops among {', '.join(map(str, available))}, which questions of "
                f"{self.name} have, got {hops}"
            )

    def count(self, split: str) -> int:
        """Return the number of questions of a split."""
        return self._sizes[self.check(split)]

    def hops_of(self, split: str, number: int) -> int:
        """Return the number of hops of a question, which its number decides."""
        shapes = self.library.shapes
        return shapes[(self._first[split] + number) % len(shapes)][1]

    def _problem(self, split: str, number: int) -> Question:
        return self.library.generator(split).question(self._first[split] + number)


class ListedQuestions(QuestionTasks):
    """Questions of files.

    Args:
        name: What the set is called in ids, which read ``search/<name>/<split>/<number>``.
        questions: The questions of each split.
        library: What they are about.
        hops: Numbers of hops that questions may have; None: any.
        plan_length: Gives the length of the expert's plan.

    Raises:
        ConfigurationError: No question has one of the numbers of hops.
    """

    remedy = "make the environment with the question file that the id names"

    def __init__(
        self,
        name: str,
        questions: Mapping[str, Sequence[Question]],
        library: Library,
        *,
        hops: tuple[int, ...] | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__(f"search/{name}", library, hops=hops, plan_length=plan_length)
        self._questions = questions
        self.splits = tuple(split for split in SPLITS if split in questions)
        if hops is not None:
            self.splits = tuple(s for s in self.splits if self._numbers(s, hops))
        if not self.splits:
            available = sorted({question.hops for some in questions.values() for question in some})
            raise ConfigurationError(
                f"expected questions of {hops} hops in {name}, whose questions have {available} "
                "(0 is unknown): leave hops out"
            )

    def count(self, split: str) -> int:
        """Return the number of questions of a split."""
        return len(self._questions[self.check(split)])

    def hops_of(self, split: str, number: int) -> int:
        """Return the number of hops that a record tells."""
        return self._questions[split][number].hops

    def _problem(self, split: str, number: int) -> Question:
        return self._questions[split][number]
