"""The tasks of Database: generated databases in disjoint splits, or rows of dbbench."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
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
from agentgym.errors import ConfigurationError

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Generated tasks of each split."""
KEPT = 1024
"""Problems that a set remembers."""
FILE_SPLIT = "test"
"""The split of a file's rows."""
PlanLength = Callable[[Problem], "int | None"]


class DatabaseTasks(NumberedTasks[Problem]):
    """Problems as tasks; ids read ``<name>/<split>/<number>``."""

    def _describe(self, split: str, number: int, problem: Problem) -> tuple[str, Mapping[str, Any]]:
        rows = canonical_json(
            [[list(map(str, row)) for row in each.rows] for each in problem.tables]
        )
        return problem.text, {
            "kind": problem.kind,
            "schema": schema(problem.tables),
            "rows": hashlib.sha256(rows.encode()).hexdigest(),
            "query": problem.query,
            "answer": list(problem.answer),
            "digest": problem.digest,
        }


class GeneratedTasks(DatabaseTasks):
    """Generated databases, each made when it is asked for. A split's are drawn by its name.

    Args:
        config: How large and how hard they are.
        seed: Seed of the generator.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the difficulty and generator_seed that the id names"

    def __init__(self, config: GeneratorConfig, seed: int, plan_length: PlanLength) -> None:
        super().__init__(f"database/{config.name}-{seed}", plan_length=plan_length, kept=KEPT)
        self._config, self._seed = config, seed

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _problem(self, split: str, number: int) -> Problem:
        return make_problem(self._config, self._seed, split, number)


class FileTasks(DatabaseTasks):
    """Rows of a file, which are all in the split ``test``.

    Args:
        name: What the set is called.
        problems: The rows.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the file that the id names"
    splits = (FILE_SPLIT,)
    aliases = {"train": FILE_SPLIT, "valid": FILE_SPLIT}  # noqa: RUF012  # of the class

    def __init__(self, name: str, problems: Sequence[Problem], plan_length: PlanLength) -> None:
        super().__init__(f"database/{name}", plan_length=plan_length, kept=KEPT)
        self._all = problems

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        self.check(split)
        return len(self._all)

    def _problem(self, split: str, number: int) -> Problem:
        return self._all[number]


def plan_length(expert: str) -> PlanLength:
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
) -> DatabaseTasks:
    """Return generated tasks, or those of a file.

    Raises:
        ConfigurationError: A value is out of its domain, or the expert cannot read the questions.
        DataError: The file cannot be read.
    """
    config = GeneratorConfig.of(difficulty)
    seed = integer(generator_seed, "generator_seed", 0)
    if data is None:
        return _generated(config, seed, expert)
    if expert != "oracle":
        raise ConfigurationError(
            f"expected expert='oracle' with data=, as no other expert reads questions that people "
            f"have asked, got {expert!r}"
        )
    # Imported here: nobody needs it for generated tasks.
    from agentgym.envs.database.official.records import read_problems

    file = Path(data).expanduser()
    return FileTasks(file.name.split(".")[0], read_problems(file), plan_length(expert))


@lru_cache(maxsize=8)
def _generated(config: GeneratorConfig, seed: int, expert: str) -> GeneratedTasks:
    return GeneratedTasks(config, seed, plan_length(expert))
