"""Generated tasks with what a test needs, and how to play them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.problem import Problem
from agentgym.envs.service.engine.session import ServiceSession
from agentgym.envs.service.experts import EXPERTS
from agentgym.envs.service.generator.config import GeneratorConfig
from agentgym.envs.service.generator.problems import make_problem

MOST = 300


@cache
def problem(difficulty: str, number: int, domain: str = "") -> Problem:
    """Return a task of the training split."""
    config = GeneratorConfig.of(difficulty)
    return make_problem(config, (domain,) if domain else tuple(DOMAINS), 0, "train", number)


def first(difficulty: str, wanted: Callable[[Problem], bool], domain: str = "") -> Problem:
    """Return the first task with a property."""
    tasks = (problem(difficulty, number, domain) for number in range(MOST))
    return next(task for task in tasks if wanted(task))


def say(session: ServiceSession, text: str) -> str:
    """Say something to the customer; returns the answer."""
    return session.act("say", [text]).observation.removeprefix("Customer: ")


def finish(session: ServiceSession, expert: str = "clerk") -> ServiceSession:
    """Let an expert play to the end."""
    clerk = EXPERTS[expert]()
    while not session.ended:
        command = clerk.next(session)
        session.act(command.name, command.values)
    return session
