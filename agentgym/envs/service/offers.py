"""A sample of the actions that make sense in a state, from what was told and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentgym.envs.service.engine.customer import NUMBER, RECORD, VALUE, current_value
from agentgym.envs.service.engine.domain import Change
from agentgym.envs.service.engine.session import (
    FIND,
    LIST,
    SEARCH,
    SHOW,
    TRANSFER,
    ServiceSession,
)
from agentgym.envs.service.experts.clerk import (
    ANSWER,
    ASK_NUMBER,
    CONFIRMATION,
    DONE,
    HELP,
    REFUSAL,
    Command,
    say,
)

MOST_VALUES = 3
"""Maximum number of values that are offered for a tool and a record."""


def offers(session: ServiceSession) -> Iterator[Command]:
    """Yield actions whose arguments were told or shown, besides questions and refusals."""
    problem, talk = session.problem, session.talk
    yield from (say(HELP), say(ASK_NUMBER), say(f"Which {problem.domain.record} is it?"))
    if NUMBER in talk.facts:
        yield Command(FIND, (problem.customer,))
    if not session.found:
        return
    yield from (Command(LIST), say(DONE))
    for number, (rule, _) in enumerate(problem.rules, 1):
        yield say(REFUSAL.format(rule=number))
        if rule.transfer:
            yield Command(TRANSFER, (str(number),))
    request = problem.requests[talk.request]
    seen_keys = list(session.seen)
    if session.listed:
        seen_keys += session.records.own()
    if RECORD in talk.facts and request.record == request.record_words:
        seen_keys.append(request.record)
    records = [record for record in dict.fromkeys(seen_keys) if record in problem.records]
    for record in records:
        yield Command(SHOW, (record,))
        for change in problem.domain.changes:
            for value in _values(session, change):
                yield Command(change.name, (record, value))
                if problem.confirm and change.name == request.change:
                    yield say(CONFIRMATION.format(change=change.name, record=record, value=value))
    for record in session.seen:
        yield from (say(ANSWER.format(number=cell)) for cell in _numbers(session, record))
    if VALUE in talk.facts and problem.domain.change(request.change).source == "catalog":
        yield Command(SEARCH, (current_value(request, talk)[1],))


def _values(session: ServiceSession, change: Change) -> Sequence[str]:
    """Return some values of a tool: words, payments and rows of the catalog that were shown."""
    if change.source == "payment":
        return str(session.problem.customers[session.found]["payments"]).split(", ")
    if change.source == "catalog":
        return [item for item in session.seen if item in session.problem.catalog]
    talk, request = session.talk, session.problem.requests[session.talk.request]
    is_requested = change.name == request.change and VALUE in talk.facts
    value = [current_value(request, talk)[0]] if is_requested else []
    return [*dict.fromkeys((*value, *change.values))][:MOST_VALUES]


def _numbers(session: ServiceSession, record: str) -> list[int]:
    """Return the numbers of a record that was shown."""
    cells = session.problem.records.get(record, {}).values()
    return [cell for cell in cells if isinstance(cell, int)]
