"""The experts: who solves what, in how many turns, and by which information."""

from __future__ import annotations

import re

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
    for expert in ("clerk", "thinking", "oracle"):
        sessions = [
            finish(ServiceSession(problem(difficulty, number)), expert) for number in range(COUNT)
        ]
        assert all(session.solved() for session in sessions)
        turns[expert] = sum(len(session.turns) for session in sessions)
        assert max(len(session.turns) for session in sessions) <= HORIZON
    assert turns["oracle"] < turns["clerk"] == turns["thinking"]


def test_the_clerk_uses_what_it_was_told_and_shown() -> None:
    """Each argument occurs in the conversation before, or is a number that follows from it."""
    for number in range(40):
        session = ServiceSession(problem("hard", number))
        text, clerk = session.opening().lower(), EXPERTS["clerk"]()
        while not session.ended:
            name, values, _ = clerk.next(session)
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


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_thinking_clerk_writes_what_each_rule_says_before_it_acts(difficulty: str) -> None:
    """Each request for a change has a thought: its rules, up to the one that forbids it."""
    for number in range(COUNT):
        task = problem(difficulty, number)
        session, clerk = ServiceSession(task), EXPERTS["thinking"]()
        thoughts: dict[int, str] = {}
        while not session.ended:
            command = clerk.next(session)
            if command.thought:
                # The last one: a customer may correct the value.
                thoughts[session.talk.request] = command.thought
            session.act(command.name, command.values)
        assert list(thoughts) == [n for n, request in enumerate(task.requests) if request.change]
        for place, thought in thoughts.items():
            request = task.requests[place]
            rules = task.rules[: request.rule or None]
            checks = re.findall(r"(\S[^:]*): [^.]*, (yes|no)\.", thought)
            assert [text + "." for text, _ in checks] == [
                rule.write(limit) for rule, limit in rules if rule.change == request.change
            ]
            *before, last = (answer for _, answer in checks)
            assert set(before) <= {"yes"} and last == ("no" if request.rule else "yes")


def test_the_hurried_clerk_thinks_in_some_tasks_and_is_hasty_in_the_others() -> None:
    thoughts = 0
    for number in range(COUNT):
        session = ServiceSession(problem("easy", number, "retail"))
        clerk = EXPERTS["hurried"]()
        shown = thought = ""
        while not session.ended:
            command = clerk.next(session)
            shown, thought = shown or "show" * (command.name == "show"), thought or command.thought
            session.act(command.name, command.values)
        assert bool(shown) == bool(thought)
        verdict = session.problem.requests[0].verdict
        assert session.solved() == (bool(thought) or verdict == "done")
        thoughts += bool(thought)
    assert COUNT / 2 < thoughts < 3 * COUNT / 4
