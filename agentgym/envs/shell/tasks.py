"""The tasks of Shell: generated files in disjoint splits, or rows of AgentBench."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.tasks import NumberedTasks, canonical_json
from agentgym.envs.shell.engine.session import Problem
from agentgym.envs.shell.experts import EXPERTS, FALLIBLE
from agentgym.envs.shell.experts.base import Expert
from agentgym.envs.shell.generator.config import GeneratorConfig
from agentgym.envs.shell.generator.problems import make_problem
from agentgym.errors import ConfigurationError

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Generated tasks of each split."""
FILE_SPLIT = "test"
"""The split of a file's rows."""
PlanLength = Callable[[Problem], "int | None"]


class ShellTasks(NumberedTasks[Problem]):
    """Problems as tasks; ids read ``<name>/<split>/<number>``."""

    def _describe(self, split: str, number: int, problem: Problem) -> tuple[str, Mapping[str, Any]]:
        held = canonical_json(
            [dict(problem.files), problem.setup, dict(problem.expected or {}), problem.image]
        )
        return problem.text, {
            "kind": problem.kind,
            "files": hashlib.sha256(held.encode()).hexdigest(),
            "answer": problem.answer,
        }


class GeneratedTasks(ShellTasks):
    """Generated files, made when they are asked for. A split's are drawn by its name.

    Args:
        config: How many files there are, and what is asked.
        seed: Seed of the generator.
        plan_length: Gives the length of the expert's plan.
    """

    remedy = "make the environment with the difficulty and generator_seed that the id names"

    def __init__(self, config: GeneratorConfig, seed: int, plan_length: PlanLength) -> None:
        super().__init__(f"shell/{config.name}-{seed}", plan_length=plan_length)
        self._config, self._seed = config, seed

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _problem(self, split: str, number: int) -> Problem:
        return make_problem(self._config, self._seed, split, number)


class FileTasks(ShellTasks):
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
        super().__init__(f"shell/{name}", plan_length=plan_length)
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
    return len(planner.plan(problem, ())) or None


def open_tasks(
    data: str | os.PathLike[str] | None,
    image: str,
    difficulty: str | GeneratorConfig,
    generator_seed: int,
    expert: str,
) -> ShellTasks:
    """Return generated tasks, or those of a file.

    Raises:
        ConfigurationError: A value is out of its domain, or the expert cannot read the questions.
        DataError: The file cannot be read.
    """
    config = GeneratorConfig.of(difficulty)
    seed = integer(generator_seed, "generator_seed", 0)
    if data is None:
        if image:
            raise ConfigurationError(f"expected image= only with data=, got {image!r}")
        return _generated(config, seed, expert)
    if expert != "oracle":
        raise ConfigurationError(
            f"expected expert='oracle' with data=, as no other expert reads questions that people "
            f"have asked, got {expert!r}"
        )
    # Imported here: nobody needs it for generated tasks.
    from agentgym.envs.shell.official.records import read_problems

    file = Path(data).expanduser()
    return FileTasks(file.name.split(".")[0], read_problems(file, image), plan_length(expert))


@lru_cache(maxsize=8)
def _generated(config: GeneratorConfig, seed: int, expert: str) -> GeneratedTasks:
    return GeneratedTasks(config, seed, plan_length(expert))
