"""The experts: who solves what, in how many turns, and by which information."""

from __future__ import annotations

import pytest

from agentgym.envs.service.engine.session import ServiceSession
from agentgym.envs.service.experts import EXPERTS
from agentgym.envs.service.generator.config import DIFFICULTIES
from tests.envs.service.tasks import finish, problem

COUNT = 120
HORIZON = 40


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_clerk_and_oracle_solve_every_task_within_the_horizon(difficulty: str) -> None:
    turns = {}
    for expert in ("clerk", "oracle"):
        sessions = [
            finish(ServiceSession(problem(difficulty, number)), expert) for number in range(COUNT)
        ]
        assert all(session.solved() for session in sessions)
        turns[expert] = sum(len(session.turns) for session in sessions)
        assert max(len(session.turns) for session in sessions) <= HORIZON
    assert turns["oracle"] < turns["clerk"]


def test_the_clerk_uses_what_it_was_told_and_shown() -> None:
    """Each argument occurs in the conversation before, or is a number that follows from it."""
    for number in range(40):
        session = ServiceSession(problem("hard", number))
        text, clerk = session.opening().lower(), EXPERTS["clerk"]()
        while not session.ended:
            name, values = clerk.next(session)
            if name not in ("say", "transfer"):
                assert all(value.lower() in text for value in values), (name, values)
            answer = session.act(name, values)
            assert not answer.failed
            text += f"\n{answer.observation.lower()}"


def test_the_hasty_clerk_is_right_where_the_rules_allow_the_request() -> None:
    successes = {"done": 0, "refused": 0}
    counts = dict(successes)
    for number in range(COUNT):
        task = problem("easy", number, "retail")
        verdict = task.requests[0].verdict
        counts[verdict] += 1
        successes[verdict] += finish(ServiceSession(task), "hasty").solved()
    assert successes["done"] == counts["done"] > COUNT / 3
    assert 0 < successes["refused"] < counts["refused"] / 3
