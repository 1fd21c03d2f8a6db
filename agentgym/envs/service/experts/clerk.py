"""The expert: asks for what it needs, looks it up, checks the policy, and acts.

It uses what the customer has told and the tools have shown, so that it can be imitated. ``hasty``
is the same expert without the look at the record and the policy in most tasks, chosen by a draw
that nothing in the episode shows. If the rules allow the request, it is right by luck; so its
successes do not show that checking matters. ``thinking`` writes its check of the rules before the
action that depends on it, and ``hurried`` does so where it checks. ``oracle`` knows the task and
neither asks nor looks.
"""

from __future__ import annotations

from typing import NamedTuple

from agentgym.envs.service.engine.customer import (
    INTENT,
    NUMBER,
    QUESTION,
    RECORD,
    VALUE,
    current_value,
    is_asked,
)
from agentgym.envs.service.engine.problem import Problem, Request
from agentgym.envs.service.engine.session import (
    FIND,
    LIST,
    SAY,
    SEARCH,
    SHOW,
    TRANSFER,
    ServiceSession,
)
from agentgym.support.random_stream import Stream

HELP = "How can I help you?"
ASK_NUMBER = "What is your customer number?"
DONE = "Done."
ANSWER = "The answer is {number}."
REFUSAL = "I cannot do that because of rule {rule}."
CONFIRMATION = "{change} {record}, {value}: is that right?"
MOST_TURNS = 200
"""Maximum number of turns of a plan; every plan is far shorter."""


class Command(NamedTuple):
    """An action of an expert."""

    name: str
    """Name of the tool."""
    values: tuple[str, ...] = ()
    """Its arguments, in order."""
    thought: str = ""
    """What is written before it, and neither executed nor said."""


class Clerk:
    """An expert.

    Args:
        checks: Percentage of tasks in which it looks at the record and checks the policy.
        thinks: Whether it writes down how it checks the policy.
        knows: Whether it knows the task, so that it neither asks nor looks.
    """

    def __init__(self, *, checks: int = 100, thinks: bool = False, knows: bool = False) -> None:
        self._checks, self._thinks, self._knows = checks, thinks, knows

    def plan_length(self, session: ServiceSession) -> int | None:
        """Return the number of turns up to the end of the episode; None if there is no end."""
        session = session.fork()
        for turns in range(MOST_TURNS):
            if session.ended:
                return turns
            command = self.next(session)
            session.act(command.name, command.values)
        return None

    def next(self, session: ServiceSession) -> Command:
        """Return the next action."""
        problem, talk = session.problem, session.talk
        request = problem.requests[talk.request]
        facts = (INTENT, NUMBER, RECORD, VALUE, QUESTION) if self._knows else talk.facts
        if INTENT not in facts:
            return say(HELP)
        if session.found != problem.customer:
            return Command(FIND, (problem.customer,)) if NUMBER in facts else say(ASK_NUMBER)
        if RECORD not in facts:
            return say(f"Which {problem.domain.record} is it?")
        return (
            self._look(session, request)
            or (self._serve(session, request, facts) if request.change else None)
            or self._conclude(request, facts)
        )

    def _careful(self, problem: Problem) -> bool:
        return Stream("hasty", problem.key).percent(self._checks)

    def _look(self, session: ServiceSession, request: Request) -> Command | None:
        """Find and show the record, where it is needed and has not been shown."""
        needed = self._careful(session.problem) or request.question
        described = request.record_words != request.record
        if self._knows or request.record in session.seen or not (needed or described):
            return None
        if not described:
            return Command(SHOW, (request.record,))
        if not session.listed:
            return Command(LIST)
        unseen = [record for record in session.records.own() if record not in session.seen]
        return Command(SHOW, (unseen[0],))

    def _serve(
        self, session: ServiceSession, request: Request, facts: tuple[str, ...]
    ) -> Command | None:
        """Ask for the value, check the policy, and make the change; None once it is made."""
        problem, talk = session.problem, session.talk
        change = problem.domain.change(request.change)
        if VALUE not in facts:
            return say(f"What is the {change.noun}?")
        value = request.value if self._knows else current_value(request, talk)[0]
        if change.source == "catalog" and not self._knows and value not in session.seen:
            return Command(SEARCH, (str(problem.catalog[value]["name"]),))
        careful, agreed = self._careful(problem), talk.request in talk.agreed
        thought = ""
        if self._thinks and careful and not agreed:
            thought = problem.write_check(change, problem.records[request.record], value)
        if request.verdict != "done" and careful:
            return _decline(request)._replace(thought=thought)
        if problem.confirm and not agreed:
            words = {"change": change.name, "record": request.record, "value": value}
            return say(CONFIRMATION.format(**words))._replace(thought=thought)
        if session.is_changed(request.record, change, value):
            return None
        return Command(change.name, (request.record, value), thought)

    def _conclude(self, request: Request, facts: tuple[str, ...]) -> Command:
        """Say that the request is done, and the answer."""
        texts = [DONE] if request.change else []
        if is_asked(request, facts):
            texts.append(ANSWER.format(number=request.fact))
        return say(" ".join(texts))


def say(text: str) -> Command:
    """Return the command that says a text to the customer."""
    return Command(SAY, (text,))


def _decline(request: Request) -> Command:
    if request.verdict == "transferred":
        return Command(TRANSFER, (str(request.rule),))
    return say(REFUSAL.format(rule=request.rule))
