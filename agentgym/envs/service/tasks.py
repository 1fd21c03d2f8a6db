"""The tasks of Service: generated problems in disjoint splits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.actions import ActionSpec
from agentgym.core.options import choice, integer
from agentgym.core.tasks import NumberedTasks, canonical_json
from agentgym.envs.problem_tasks import GeneratedTasks, ListedTasks
from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.problem import Problem
from agentgym.envs.service.engine.session import ServiceSession
from agentgym.envs.service.experts import EXPERTS, FALLIBLE
from agentgym.envs.service.experts.clerk import Clerk
from agentgym.envs.service.generator.config import GeneratorConfig
from agentgym.envs.service.generator.problems import make_problem
from agentgym.envs.service.published.files import read_problems
from agentgym.envs.service.published.gold import GoldPlayer
from agentgym.envs.service.published.problem import SPECS, TABLES, PublishedProblem
from agentgym.errors import ConfigurationError

SIZES: Mapping[str, int] = {"train": 20_000, "valid": 1_000, "test": 1_000}
"""Number of generated tasks of each split."""
CACHE_SIZE = 1024
"""Maximum number of cached problems of a set."""
GOAL = "Serve the customer of {business} under the policy."
PUBLISHED = "the company"
"""Business of published tasks."""


def domain_names(domain: str | None) -> tuple[str, ...]:
    """Return the names of the domains of an environment; None: all.

    Raises:
        ConfigurationError: There is no such domain.
    """
    return tuple(DOMAINS) if domain is None else (choice(domain, "domain", DOMAINS),)


def describe(problem: Problem) -> tuple[str, Mapping[str, Any]]:
    """Return goal and content of a problem's task."""
    tables = [problem.customers, problem.records, problem.catalog]
    return GOAL.format(business=problem.domain.business), {
        "category": problem.domain.name,
        "kind": "+".join(sorted({request.verdict for request in problem.requests})),
        "policy": problem.policy,
        "customer": [problem.customer, problem.mood, problem.patience, *problem.openings],
        "requests": [list(vars(request).values()) for request in problem.requests],
        "rows": hashlib.sha256(canonical_json(tables).encode()).hexdigest(),
    }


def open_tasks(
    difficulty: str | GeneratorConfig, domain: str | None, generator_seed: int, expert: str
) -> NumberedTasks[Problem]:
    """Return the tasks of an environment.

    Args:
        difficulty: Settings of generated tasks, or their name.
        domain: Name of the domain; None: all of them.
        generator_seed: Selects a set of tasks.
        expert: Name of the demonstrator.

    Raises:
        ConfigurationError: A value is out of range.
    """
    config = GeneratorConfig.of(difficulty)
    return _generated(config, domain, integer(generator_seed, "generator_seed", 0), expert)


@lru_cache(maxsize=16)
def _generated(
    config: GeneratorConfig, domain: str | None, seed: int, expert: str
) -> GeneratedTasks[Problem]:
    name = f"service/{config.name}-{domain or 'all'}-{seed}"
    make = partial(make_problem, config, domain_names(domain), seed)
    clerk = EXPERTS[FALLIBLE.get(expert, expert)]()
    return GeneratedTasks(name, SIZES, make, describe, partial(_plan_length, clerk), CACHE_SIZE)


def _plan_length(clerk: Clerk, problem: Problem) -> int | None:
    return clerk.plan_length(ServiceSession(problem))


def open_published(
    data: str | os.PathLike[str], domain: str | None
) -> tuple[tuple[ActionSpec, ...], ListedTasks[PublishedProblem]]:
    """Return the actions and tasks of a folder of tau-bench or tau2-bench.

    Args:
        data: The folder.
        domain: Name of the domain; None: that of the folder.

    Raises:
        ConfigurationError: The folder is no path, of no domain, or not of this one.
        DataError: A file is not of its project's form.
    """
    if not isinstance(data, str | os.PathLike):
        raise ConfigurationError(f"expected data to be the path of a folder, got {data!r:.80}")
    if domain is not None:
        choice(domain, "domain with data", TABLES)
    problems = read_problems(Path(data), domain)
    world = next(iter(problems.values()))[0].world
    texts = [problem.instruction for tasks in problems.values() for problem in tasks]
    digest = hashlib.sha256(canonical_json(texts).encode()).hexdigest()[:12]
    name = f"service/published-{world.domain}-{digest}"
    length = GoldPlayer().plan
    return SPECS[world.domain], ListedTasks(
        name, problems, _describe_published, lambda problem: len(length(problem)), CACHE_SIZE
    )


def _describe_published(problem: PublishedProblem) -> tuple[str, Mapping[str, Any]]:
    kind = "change" if problem.expected else "unchanged"
    return GOAL.format(business=PUBLISHED), {
        "category": problem.world.domain,
        "kind": kind + ("+unjudged" if problem.unjudged else ""),
        "world": problem.world.digest,
        "user": problem.user,
        "instruction": problem.instruction,
        "actions": [[call.name, dict(call.arguments)] for call in problem.actions],
        "outputs": list(problem.outputs),
    }
