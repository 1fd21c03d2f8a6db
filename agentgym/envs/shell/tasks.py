"""The tasks of Shell: generated files in disjoint splits, or rows of AgentBench."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.tasks import NumberedTasks, canonical_json
from agentgym.envs.problem_tasks import GeneratedTasks, ListedTasks, PlanLength
from agentgym.envs.shell.engine.session import Problem
from agentgym.envs.shell.experts import EXPERTS, FALLIBLE
from agentgym.envs.shell.experts.base import Expert
from agentgym.envs.shell.generator.config import GeneratorConfig
from agentgym.envs.shell.generator.problems import make_problem
from agentgym.errors import ConfigurationError

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Number of generated tasks of each split."""


def describe(problem: Problem) -> tuple[str, Mapping[str, Any]]:
    """Return goal and content of a problem's task."""
    serialized = canonical_json(
        [dict(problem.files), problem.setup, dict(problem.expected or {}), problem.image]
    )
    return problem.text, {
        "kind": problem.kind,
        "files": hashlib.sha256(serialized.encode()).hexdigest(),
        "answer": problem.answer,
    }


def plan_length(expert: str) -> PlanLength[Problem]:
    """Return a function for the length of an expert's plan, or of its successful counterpart's."""
    return partial(_length, EXPERTS[FALLIBLE.get(expert, expert)]())


def _length(planner: Expert, problem: Problem) -> int | None:
    return len(planner.plan(problem, ())) or None


def open_tasks(
    data: str | os.PathLike[str] | None,
    image: str,
    difficulty: str | GeneratorConfig,
    generator_seed: int,
    expert: str,
) -> NumberedTasks[Problem]:
    """Return generated tasks, or the tasks of a file.

    Raises:
        ConfigurationError: A value is out of range.
        DataError: The file cannot be read.
    """
    config = GeneratorConfig.of(difficulty)
    seed = integer(generator_seed, "generator_seed", 0)
    if data is None:
        if image:
            raise ConfigurationError(f"expected image= only with data=, got {image!r}")
        return _generated(config, seed, expert)
    # Imported here, because generated tasks do not need it.
    from agentgym.envs.shell.official.records import read_problems

    file = Path(data).expanduser()
    name, problems = f"shell/{file.name.split('.')[0]}", read_problems(file, image)
    return ListedTasks(name, problems, describe, plan_length(expert))


@lru_cache(maxsize=8)
def _generated(config: GeneratorConfig, seed: int, expert: str) -> GeneratedTasks[Problem]:
    name, make = f"shell/{config.name}-{seed}", partial(make_problem, config, seed)
    return GeneratedTasks(name, SIZES, make, describe, plan_length(expert))
