"""The tools, the policy in words, and the judge."""

from __future__ import annotations

import pickle

import pytest

from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.problem import Problem
from agentgym.envs.service.engine.session import ServiceSession
from tests.envs.service.tasks import finish, first, problem, say


def refused(task: Problem) -> bool:
    return task.requests[0].verdict == "refused"


def allowed(task: Problem) -> bool:
    return task.requests[0].verdict == "done"


def call(session: ServiceSession, name: str, *values: str) -> str:
    return session.act(name, values).observation


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_is_shown_before_the_customer_is_found(domain: str) -> None:
    task = problem("easy", 0, domain)
    session, record = ServiceSession(task), task.requests[0].record
    assert call(session, "show", record) == "error: find the customer first"
    assert call(session, "find", "#1") == "error: no customer #1"
    assert str(task.customers[task.customer]["name"]) in call(session, "find", task.customer)
    assert record in call(session, "list")
    assert f"{task.domain.record} {record}: " in call(session, "show", record)
    other_key = next(key for key, row in task.records.items() if row["customer"] != task.customer)
    assert call(session, "show", other_key).startswith(
        f"error: no {task.domain.record} {other_key}"
    )


def test_the_catalog_is_searched_by_words() -> None:
    task = problem("medium", 0, "retail")
    session = ServiceSession(task)
    item, row = next(iter(task.catalog.items()))
    assert call(session, "search", str(row["name"]).upper()) == (
        f"{item}: {row['name']}; price {row['price']}"
    )
    assert call(session, "search", "spaceship").startswith("error: nothing in the catalog")


def test_values_that_do_not_exist_are_refused() -> None:
    task = problem("medium", 0, "retail")
    session, record = ServiceSession(task), task.requests[0].record
    call(session, "find", task.customer)
    tools = [change.name for change in task.domain.changes if change.source != "text"]
    for name in tools:
        assert call(session, name, record, "nonsense").startswith("error: no "), name
    assert call(session, "credit", record, "-5").startswith("error: no amount -5")
    assert call(session, "rebook", record, "#1").startswith("error: orders have no tool rebook")
    assert session.writes == ()


def test_a_change_alone_is_no_success_and_a_claim_alone_neither() -> None:
    task = first("easy", allowed)
    request, session = task.requests[0], ServiceSession(task)
    call(session, "find", task.customer)
    fork = session.fork()
    call(session, request.change, request.record, request.value)
    assert session.writes and not session.ended and not session.solved()
    assert not fork.writes, "a fork is independent"
    say(session, "Done.")
    say(fork, "Done.")
    assert session.solved() and fork.ended and not fork.solved()


def test_a_change_beyond_the_request_fails_unless_it_is_undone() -> None:
    task = first("easy", lambda task: allowed(task) and task.requests[0].change == "cancel",
                 "retail")  # fmt: skip
    request, address = task.requests[0], task.records[task.requests[0].record]["address"]
    for last, expected in (("1 Elm Road", False), (str(address), True)):
        session = ServiceSession(task)
        call(session, "find", task.customer)
        call(session, "address", request.record, "1 Elm Road")
        call(session, "address", request.record, last)
        call(session, request.change, request.record, request.value)
        say(session, "Done.")
        assert session.solved() is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("I cannot: rule {rule}.", True), ("I cannot: rule {wrong}.", False), ("I cannot.", False)],
)
def test_a_refusal_names_the_rule(text: str, expected: bool) -> None:
    task = first("easy", refused)
    rule = task.requests[0].rule
    for is_found in (True, False):
        session = ServiceSession(task)
        if is_found:
            call(session, "find", task.customer)
        say(session, text.format(rule=rule, wrong=rule % len(task.rules) + 1))
        assert session.ended and session.solved() is (expected and is_found)


def test_the_last_word_of_a_request_counts() -> None:
    done_case = first("easy", allowed)
    request, session = done_case.requests[0], ServiceSession(done_case)
    call(session, "find", done_case.customer)
    call(session, request.change, request.record, request.value)
    refused_at_last = session.fork()
    say(refused_at_last, "I cannot do that because of rule 1.")
    assert refused_at_last.ended and not refused_at_last.solved()
    say(session, "Done.")
    assert session.solved()
    patient_case = first("medium", lambda task: (
        refused(task) and task.patience > 0 and len(task.requests) == 1
    ))  # fmt: skip
    session = ServiceSession(patient_case)
    call(session, "find", patient_case.customer)
    say(session, f"I cannot: rule {patient_case.requests[0].rule}.")
    claimed_at_last = session.fork()
    say(claimed_at_last, "Done.")
    assert claimed_at_last.ended and not claimed_at_last.solved()


def test_who_refuses_first_and_then_does_it_has_done_it() -> None:
    task = first("medium", lambda task: (
        len(task.requests) == 1 and task.patience > 0 and allowed(task)
        and not task.requests[0].question
    ))  # fmt: skip
    request, session = task.requests[0], ServiceSession(task)
    call(session, "find", task.customer)
    say(session, "I cannot do that because of rule 1.")
    call(session, request.change, request.record, request.value)
    say(session, "Done.")
    assert session.solved()


def test_a_forbidden_change_fails() -> None:
    task = first("easy", refused)
    request, session = task.requests[0], ServiceSession(task)
    call(session, "find", task.customer)
    call(session, request.change, request.record, request.value)
    say(session, f"I cannot: rule {request.rule}.")
    assert not session.solved()


def test_a_transfer_names_the_rule_and_is_only_for_a_supervisor() -> None:
    task = first("medium", lambda task: task.requests[-1].verdict == "transferred")
    request = task.requests[-1]
    session = finish(ServiceSession(task))
    assert session.solved() and session.transferred == request.rule
    session = ServiceSession(task)
    call(session, "find", task.customer)
    assert call(session, "transfer", "0").startswith("error: expected the number of a rule")
    call(session, "transfer", str(request.rule % len(task.rules) + 1))
    assert session.ended and not session.solved()
    other_case = first("easy", refused)
    session = ServiceSession(other_case)
    call(session, "find", other_case.customer)
    call(session, "transfer", str(other_case.requests[0].rule))
    assert session.ended and not session.solved()


def test_a_change_without_the_required_yes_fails() -> None:
    task = first("hard", lambda task: all(request.verdict == "done" for request in task.requests))
    session = finish(ServiceSession(task))
    assert task.confirm and session.solved()
    hurried = ServiceSession(task)
    place = next(number for number, request in enumerate(task.requests) if request.change)
    request = task.requests[place]
    call(hurried, "find", task.customer)
    call(hurried, request.change, request.record, request.value)
    assert not finish(hurried).solved()


def test_the_policy_has_its_rules_with_their_limits() -> None:
    task = problem("medium", 1)
    lines = task.policy.split("\n")
    assert [line.partition(".")[0] for line in lines[-len(task.rules) :]] == [
        str(number) for number in range(1, len(task.rules) + 1)
    ]
    assert "{" not in task.policy and "yes" not in task.policy
    assert "ask the customer for a yes" in problem("hard", 1).policy


def test_a_snapshot_is_small_and_brings_the_state_back() -> None:
    task = problem("medium", 2)
    session, end = ServiceSession(task), finish(ServiceSession(task))
    state = pickle.dumps(end.snapshot())
    assert len(state) < 2000
    session.restore(pickle.loads(state))
    assert session.solved() and session.turns == end.turns and session.writes == end.writes
