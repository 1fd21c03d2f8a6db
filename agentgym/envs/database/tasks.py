"""The tasks of Database: generated databases in disjoint splits, or rows of dbbench."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.tasks import NumberedTasks
from agentgym.envs.database.engine.session import DatabaseSession, Problem
from agentgym.envs.database.engine.tables import schema
from agentgym.envs.database.experts import EXPERTS, FALLIBLE
from agentgym.envs.database.experts.base import Expert
from agentgym.envs.database.generator.config import GeneratorConfig
from agentgym.envs.database.generator.problems import make_problem
from agentgym.envs.database.own.questions import read_own, rows_digest
from agentgym.envs.database.own.tables import Tables, holds_tables, read_tables
from agentgym.envs.problem_tasks import GeneratedTasks, ListedTasks, PlanLength
from agentgym.errors import ConfigurationError

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Number of generated tasks of each split."""
KEPT = 1024
"""Maximum number of cached problems of a set."""


def describe(problem: Problem) -> tuple[str, Mapping[str, Any]]:
    """Return goal and content of a problem's task."""
    rows = problem.rows_sha256 or rows_digest(problem.tables)
    return problem.text, {
        "kind": problem.kind,
        "schema": schema(problem.tables),
        "rows": rows,
        "query": problem.query,
        "answer": list(problem.answer),
        "digest": problem.digest or problem.contents_sha256,
    }


def plan_length(expert: str) -> PlanLength[Problem]:
    """Return a function for the length of an expert's plan, or of its successful counterpart's."""
    return partial(_length, EXPERTS[FALLIBLE.get(expert, expert)]())


def _length(planner: Expert, problem: Problem) -> int | None:
    session = DatabaseSession(problem, 1, 1)
    try:
        return len(planner.plan(session)) or None
    finally:
        session.close()


def open_tasks(
    data: Tables | None,
    questions: str | os.PathLike[str] | None,
    difficulty: str | GeneratorConfig,
    generator_seed: int,
    expert: str,
) -> NumberedTasks[Problem]:
    """Return generated tasks, the tasks of a dbbench file, or questions about tables.

    Raises:
        ConfigurationError: A value is out of range.
        DataError: The file cannot be read.
    """
    config = GeneratorConfig.of(difficulty)
    seed = integer(generator_seed, "generator_seed", 0)
    if data is None:
        if questions is not None:
            raise ConfigurationError(
                "expected questions together with data=, the CSV or SQLite file that they are "
                f"about, got questions={questions!r:.80} alone"
            )
        return _generated(config, seed, expert)
    return ListedTasks(*_read_problems(data, questions), describe, plan_length(expert), KEPT)


def _read_problems(
    data: Tables, questions: str | os.PathLike[str] | None
) -> tuple[str, Mapping[str, tuple[Problem, ...]]]:
    """Return the name and the problems of data of the user's own."""
    # Imported here, because generated tasks do not need it.
    from agentgym.envs.database.official.records import read_problems

    if questions is not None:
        problems = read_own(read_tables(data), questions)
        return _name(questions), problems
    if holds_tables(data):
        raise ConfigurationError(
            "expected questions=FILE.jsonl beside tables, with rows such as "
            '{"question": "How many?", "answer": "3"} or {"question": "How many?", "sql": '
            f'"SELECT count(*) FROM t"}}, got data={data!r:.80} alone'
        )
    return _name(str(data)), read_problems(Path(str(data)).expanduser())


def _name(file: str | os.PathLike[str]) -> str:
    """Return what the tasks of a file are called."""
    return f"database/{Path(file).name.split('.')[0]}"


@lru_cache(maxsize=8)
def _generated(config: GeneratorConfig, seed: int, expert: str) -> GeneratedTasks[Problem]:
    name, make = f"database/{config.name}-{seed}", partial(make_problem, config, seed)
    return GeneratedTasks(name, SIZES, make, describe, plan_length(expert), KEPT)
