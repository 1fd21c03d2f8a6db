"""Generated tasks: what the policy says of them, and how difficult they are."""

from __future__ import annotations

import hashlib

import pytest

from agentgym.core.tasks import canonical_json
from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.session import ServiceSession
from agentgym.envs.service.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.service.tasks import describe, open_tasks
from agentgym.errors import ConfigurationError
from tests.envs.service.tasks import problem

COUNT = 60


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_each_verdict_follows_from_the_rules(difficulty: str) -> None:
    verdicts = set()
    for number in range(COUNT):
        task = problem(difficulty, number)
        for place, request in enumerate(task.requests):
            verdicts.add(request.verdict)
            assert task.records[request.record]["customer"] == task.customer
            if not request.change:
                assert request.question and request.verdict == "done"
                continue
            change = task.domain.change(request.change)
            row = task.records[request.record]
            broken = task.broken(change, row, request.value)
            assert broken == ([request.rule] if request.rule else [])
            transfer = bool(broken) and task.rules[broken[0] - 1].rule.transfer
            assert (request.verdict == "transferred") == transfer
            assert row.get(change.field) != change.stored(request.value)
            assert not transfer or place == len(task.requests) - 1
    kinds = DIFFICULTIES[difficulty].kinds
    assert verdicts == {"done", "refused"} | ({"transferred"} if "transfer" in kinds else set())


def test_domains_follow_each_other_and_one_can_be_chosen() -> None:
    assert [problem("easy", number).domain.name for number in range(4)] == [*DOMAINS, "retail"]
    assert {problem("easy", number, "telecom").domain.name for number in range(3)} == {"telecom"}
    with pytest.raises(ConfigurationError, match="retail, airline, telecom"):
        open_tasks("easy", "bakery", 0, "clerk").task("test", 0)


def test_difficulties_differ_in_what_is_told_and_wanted() -> None:
    def openings(difficulty: str) -> float:
        sessions = (ServiceSession(problem(difficulty, number)) for number in range(COUNT))
        return sum(len(session.talk.facts) for session in sessions) / COUNT

    assert openings("easy") == 4 > openings("medium") > openings("hard")
    hard = [problem("hard", number) for number in range(COUNT)]
    assert {len(task.requests) for task in hard} == {2, 3}
    assert any(request.mistaken for task in hard for request in task.requests)
    assert {task.mood for task in hard} == {"calm", "terse", "chatty"}


def test_a_value_that_is_corrected_later_is_allowed() -> None:
    """An agent that checks what it was told sees no reason to refuse."""
    broken = [
        task.broken(task.domain.change(request.change), row, request.mistaken)
        for task in (problem("hard", number) for number in range(COUNT))
        for request in task.requests
        if request.mistaken
        for row in [task.records[request.record]]
    ]
    assert broken and not any(broken)


def test_every_rule_of_every_domain_is_broken_by_some_request() -> None:
    broken = {
        task.rules[request.rule - 1].rule
        for domain in DOMAINS
        for number in range(120)
        for task in [problem("medium", number, domain)]
        for request in task.requests
        if request.rule
    }
    assert broken == {rule for domain in DOMAINS.values() for rule in domain.rules}


def test_the_tasks_of_version_1_are_these() -> None:
    """After a change of the tasks: raise ``GENERATOR_VERSION``."""
    tasks = [describe(problem(difficulty, number)) for difficulty in DIFFICULTIES
             for number in range(9)]  # fmt: skip
    digest = hashlib.sha256(canonical_json(tasks).encode()).hexdigest()
    assert digest.startswith("e6932e39080e37d1")


@pytest.mark.parametrize(
    "change", [{"kinds": ("theft",)}, {"requests": (0, 9)}, {"tools": 2}, {"confirm": 1}]
)
def test_settings_out_of_range(change: dict[str, object]) -> None:
    settings = {**vars(DIFFICULTIES["easy"]), **change}
    with pytest.raises(ConfigurationError, match=next(iter(change))):
        GeneratorConfig(**settings)
