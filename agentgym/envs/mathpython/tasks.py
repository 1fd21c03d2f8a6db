"""The tasks of mathematics: problems in disjoint splits, generated or read from files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agentgym.core.tasks import KEPT_TASKS, SPLITS, NumberedTasks
from agentgym.envs.mathpython.generator.config import KINDS, GeneratorConfig
from agentgym.envs.mathpython.official.files import problem_name, read_problems
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 1_000, "test": 1_000}
"""Generated problems of each split."""
GENERATOR_VERSION = 1
"""Raise it when a seed would give another problem."""
_TENTHS = ("valid", "test")
"""Splits that own a tenth of all questions each; all others are for training."""

PlanLength = Callable[[Problem], "int | None"]


class ProblemTasks(NumberedTasks[Problem]):
    """Problems as tasks."""

    def _describe(self, split: str, number: int, problem: Problem) -> tuple[str, Mapping[str, Any]]:
        fields = asdict(problem)
        return problem.text, {"question": fields.pop("text"), **fields}


class GeneratedProblems(ProblemTasks):
    """Problems that are made when they are asked for.

    Ids read ``math/<preset>-<seed>/<split>/<number>``. A question belongs to one split, which a
    hash of its words decides; what is drawn for another one is drawn again.

    Args:
        config: Which problems there are.
        seed: Seed of all draws.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the difficulty and generator_seed that the id names"

    def __init__(self, config: GeneratorConfig, seed: int, plan_length: PlanLength) -> None:
        super().__init__(f"math/{config.name}-{seed}", plan_length=plan_length, kept=KEPT_TASKS)
        self.config, self.seed = config, seed
        self._cycle = config.cycle

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _problem(self, split: str, number: int) -> Problem:
        kind, level = self._cycle[number % len(self._cycle)]
        key = ("math", GENERATOR_VERSION, self.config.name, self.seed, split, number)
        attempt = 0
        while True:
            problem = KINDS[kind](Stream(*key, attempt), level)
            if owner(problem.text) == split:
                return problem
            attempt += 1


def owner(question: str) -> str:
    """Return the split that a question belongs to, wherever it comes from."""
    tenth = int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:4], "big")
    place = tenth % 10
    return _TENTHS[place] if place < len(_TENTHS) else "train"


class ListedProblems(ProblemTasks):
    """Problems of files; ids read ``math/<name>/<split>/<number>``.

    Args:
        name: Name of the file or folder.
        problems: The problems of each split.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the data that the id names"

    def __init__(
        self, name: str, problems: Mapping[str, Sequence[Problem]], plan_length: PlanLength
    ) -> None:
        super().__init__(f"math/{name}", plan_length=plan_length, kept=KEPT_TASKS)
        self._listed = problems
        self.splits = tuple(split for split in SPLITS if problems.get(split))

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._listed[self.check(split)])

    def _problem(self, split: str, number: int) -> Problem:
        return self._listed[split][number]


def problem_tasks(
    data: str | os.PathLike[str] | None,
    config: GeneratorConfig,
    seed: int,
    plan_length: PlanLength,
) -> ProblemTasks:
    """Return the tasks of an environment.

    Args:
        data: A file or folder of problems; None generates them.
        config: Which problems are generated.
        seed: Seed of the generator.
        plan_length: Gives the length of the expert's plan.

    Raises:
        DataError: The data cannot be read.
    """
    if data is None:
        return GeneratedProblems(config, seed, plan_length)
    return ListedProblems(problem_name(data), read_problems(data, owner), plan_length)
