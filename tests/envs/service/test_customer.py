"""The simulated customer: what it tells, when it agrees, insists and leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.service.engine.customer import INSIST, Customer
from agentgym.envs.service.engine.problem import Problem
from agentgym.envs.service.engine.session import ServiceSession
from tests.envs.service.tasks import first, problem, say


def plain(problem: Problem, **changes: object) -> Problem:
    """Return a task with one calm request for a change."""
    settings = {"requests": problem.requests[:1], "mood": "calm", "patience": 0, "paraphrases": 1}
    return replace(problem, **{**settings, **changes})  # type: ignore[arg-type]


def vague(**changes: object) -> Problem:
    """Return a task of a customer who tells nothing at first."""
    task = first("medium", lambda task: bool(task.requests[0].change))
    return plain(task, openings=(0,), **changes)


def test_questions_get_the_facts_that_they_ask_for() -> None:
    task = vague()
    request, session = task.requests[0], ServiceSession(task)
    assert "help" in session.opening()
    assert task.customer in say(session, "May I have your customer number?")
    assert request.record_words in say(session, f"Which {task.domain.record} is it?")
    word = task.domain.change(request.change).words[0]
    assert request.value_words in say(session, f"And the {word}?")
    assert set(session.talk.facts) == {"number", "record", "value"}


def test_any_other_message_gets_the_next_fact_until_all_is_told() -> None:
    session = ServiceSession(vague())
    answers = [say(session, "One moment.") for _ in range(5)]
    assert len(set(answers[:4])) == 4
    assert session.talk.facts == ("intent", "record", "value", "number")
    assert answers[4] == "I have told you all."


def test_a_terse_customer_tells_one_fact_at_a_time() -> None:
    question = "Which order, booking or line is it, and what is your customer number?"
    counts = {}
    for mood in ("calm", "terse"):
        session = ServiceSession(vague(mood=mood))
        say(session, question)
        counts[mood] = len(session.talk.facts)
    assert counts == {"calm": 2, "terse": 1}


def test_a_customer_insists_before_a_refusal_is_accepted() -> None:
    session = ServiceSession(vague(patience=2))
    answers = [say(session, text) for text in ("I cannot, rule 1.", "No, I can't.", "Rule 2: no.")]
    assert set(answers[:2]) <= set(INSIST) and not session.talk.gone
    assert session.talk.citations == ((0, 1),), "the last message was no refusal"
    assert say(session, "Rule 2 forbids it.").endswith("goodbye.")
    assert session.talk.gone and session.talk.citations == ((0, 2),)


def test_a_customer_believes_a_claim() -> None:
    session = ServiceSession(vague())
    assert say(session, "It has been cancelled.").endswith("goodbye.")
    assert session.ended and not session.solved()


def test_a_yes_needs_the_record_and_the_value() -> None:
    task = vague()
    request, customer = task.requests[0], Customer(task)
    talk, _ = customer.open()
    for text in ("Shall I do it?", f"Shall I do it for {request.record}?", "Confirm?"):
        assert not customer.answer(talk, text)[0].agreed
    talk, answer = customer.answer(talk, f"{request.record}, {request.value}: right?")
    assert talk.agreed == (0,) and answer == "Yes, please."


def test_a_mistake_is_corrected_when_the_agent_asks_for_a_yes() -> None:
    task = first("hard", lambda task: bool(task.requests[0].mistaken))
    task = plain(task, openings=(4,))
    request, customer = task.requests[0], Customer(task)
    talk, opening = customer.open()
    assert request.mistaken_words in opening
    talk, answer = customer.answer(talk, f"{request.record}, {request.mistaken}: right?")
    assert answer.startswith("No, wait.") and request.value_words in answer and not talk.agreed
    talk, _ = customer.answer(talk, f"{request.record}, {request.value_words}: right?")
    assert talk.agreed == (0,)


def test_a_question_follows_the_change() -> None:
    task = first("medium", lambda task: bool(task.requests[0].change and task.requests[0].question))
    request = task.requests[0]
    session = ServiceSession(plain(task, openings=(1,)))
    assert say(session, "Done.") == request.question
    say(session, f"It is {request.fact}.")
    assert session.talk.gone and session.talk.correct == (0,)
    wrong_case = ServiceSession(plain(task, openings=(1,)))
    say(wrong_case, "Done.")
    say(wrong_case, f"It is {request.fact + 1}.")
    assert wrong_case.talk.gone and not wrong_case.talk.correct


@pytest.mark.parametrize("number", range(3))
def test_requests_follow_each_other(number: int) -> None:
    task = problem("hard", number)
    customer = Customer(task)
    talk, _ = customer.open()
    for place in range(1, len(task.requests)):
        talk, _ = customer.answer(talk._replace(insisted=task.patience), "I cannot do that.")
        assert talk.request == place and not talk.gone and not talk.insisted
