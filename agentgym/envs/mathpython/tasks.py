"""The tasks of mathematics: problems in disjoint splits, generated or read from files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from agentgym.core.tasks import KEPT_TASKS, NumberedTasks
from agentgym.envs.mathpython.generator.config import KINDS, GeneratorConfig
from agentgym.envs.mathpython.official.files import problem_name, read_problems
from agentgym.envs.mathpython.problem import Problem
from agentgym.envs.problem_tasks import GeneratedTasks, ListedTasks, PlanLength
from agentgym.support.random_stream import Stream

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 1_000, "test": 1_000}
"""Number of generated problems of each split."""
GENERATOR_VERSION = 1
"""Raise it when a seed gives another problem."""
_TENTHS = ("valid", "test")
"""Splits that own a tenth of all questions each; all others are for training."""


def describe(problem: Problem) -> tuple[str, Mapping[str, Any]]:
    """Return goal and content of a problem's task."""
    fields = asdict(problem)
    return problem.text, {"question": fields.pop("text"), **fields}


def make_problem(
    cycle: Sequence[tuple[str, int]], key: Sequence[str | int], split: str, number: int
) -> Problem:
    """Make a problem.

    A hash of its words assigns a question to one split; a question for another split is redrawn.

    Args:
        cycle: Kind and level of the problems of a cycle.
        key: First part of the key of all draws of the set.
        split: The split.
        number: Number of the problem in the split.
    """
    kind, level = cycle[number % len(cycle)]
    attempt = 0
    while True:
        problem = KINDS[kind](Stream(*key, split, number, attempt), level)
        if owner(problem.text) == split:
            return problem
        attempt += 1


def owner(question: str) -> str:
    """Return the split that a generated question belongs to."""
    tenth = int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:4], "big")
    place = tenth % 10
    return _TENTHS[place] if place < len(_TENTHS) else "train"


def problem_tasks(
    data: str | os.PathLike[str] | None,
    config: GeneratorConfig,
    seed: int,
    plan_length: PlanLength[Problem],
) -> NumberedTasks[Problem]:
    """Return the tasks of an environment.

    Args:
        data: A file or folder of problems; None generates them.
        config: Settings of generated problems.
        seed: Seed of the generator.
        plan_length: Returns the length of the expert's plan.

    Raises:
        DataError: The data cannot be read.
    """
    if data is not None:
        name, problems = f"math/{problem_name(data)}", read_problems(data)
        return ListedTasks(name, problems, describe, plan_length, KEPT_TASKS)
    make = partial(make_problem, config.cycle, ("math", GENERATOR_VERSION, config.name, seed))
    name = f"math/{config.name}-{seed}"
    return GeneratedTasks(name, SIZES, make, describe, plan_length, KEPT_TASKS)
