"""The tasks of Database: generated databases in disjoint splits, or rows of dbbench."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.tasks import NumberedTasks, canonical_json
from agentgym.envs.database.engine.session import DatabaseSession, Problem
from agentgym.envs.database.engine.tables import schema
from agentgym.envs.database.experts import EXPERTS, FALLIBLE
from agentgym.envs.database.experts.base import Expert
from agentgym.envs.database.generator.config import GeneratorConfig
from agentgym.envs.database.generator.problems import make_problem
from agentgym.envs.problem_tasks import (
    GeneratedTasks,
    ListedTasks,
    PlanLength,
    check_file_expert,
)

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Generated tasks of each split."""
KEPT = 1024
"""Problems that a set remembers."""


def describe(problem: Problem) -> tuple[str, Mapping[str, Any]]:
    """Return goal and content of a problem's task."""
    rows = canonical_json([[list(map(str, row)) for row in each.rows] for each in problem.tables])
    return problem.text, {
        "kind": problem.kind,
        "schema": schema(problem.tables),
        "rows": hashlib.sha256(rows.encode()).hexdigest(),
        "query": problem.query,
        "answer": list(problem.answer),
        "digest": problem.digest,
    }


def plan_length(expert: str) -> PlanLength[Problem]:
    """Return what gives the length of an expert's plan, or of one who acts alike and succeeds."""
    return partial(_length, EXPERTS[FALLIBLE.get(expert, expert)]())


def _length(planner: Expert, problem: Problem) -> int | None:
    session = DatabaseSession(problem, 1, 1)
    try:
        return len(planner.plan(session)) or None
    finally:
        session.close()


def open_tasks(
    data: str | os.PathLike[str] | None,
    difficulty: str | GeneratorConfig,
    generator_seed: int,
    expert: str,
) -> NumberedTasks[Problem]:
    """Return generated tasks, or those of a file.

    Raises:
        ConfigurationError: A value is out of its domain, or the expert cannot read the questions.
        DataError: The file cannot be read.
    """
    config = GeneratorConfig.of(difficulty)
    seed = integer(generator_seed, "generator_seed", 0)
    if data is None:
        return _generated(config, seed, expert)
    check_file_expert(expert)
    # Imported here: nobody needs it for generated tasks.
    from agentgym.envs.database.official.records import read_problems

    file = Path(data).expanduser()
    name, problems = f"database/{file.name.split('.')[0]}", read_problems(file)
    return ListedTasks(name, problems, describe, plan_length(expert), KEPT)


@lru_cache(maxsize=8)
def _generated(config: GeneratorConfig, seed: int, expert: str) -> GeneratedTasks[Problem]:
    name, make = f"database/{config.name}-{seed}", partial(make_problem, config, seed)
    return GeneratedTasks(name, SIZES, make, describe, plan_length(expert), KEPT)
