"""One episode: the tools, the conversation, and the judge."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from agentgym.envs.service.engine.customer import Customer
from agentgym.envs.service.engine.domain import Change, Write
from agentgym.envs.service.engine.problem import Problem, Request
from agentgym.envs.service.engine.records import Records, ToolError

FIND, LIST, SHOW, SEARCH, SAY, TRANSFER = "find", "list", "show", "search", "say", "transfer"
"""Names of the tools that every domain has."""
SPEAKER = "Customer: "
"""Begins what the customer says."""
TRANSFERRED = "A supervisor takes over."


class Wording(Protocol):
    """Words what a customer says."""

    def __call__(self, problem: Problem, draft: str, heard: str = "") -> str:
        """Return the message, from the program's words and the agent's last message."""


class ServiceTurn(NamedTuple):
    """The result of an action."""

    observation: str
    """Text for the policy."""
    failed: bool = False
    """Whether the database refused the call, which had no effect."""


class ServiceSession:
    """An episode of a task.

    Every part of the state is immutable, so that a shallow copy is another episode.

    Args:
        problem: The task.
        word: Words the customer's messages, from the task, the program's words and the agent's
            message; None: the program's words.
    """

    def __init__(self, problem: Problem, word: Wording | None = None) -> None:
        self.problem, self._word = problem, word
        self.customer = Customer(problem)
        self.talk, self._opening = self.customer.open()
        self.found = ""
        self.writes: tuple[Write, ...] = ()
        self.seen: tuple[str, ...] = ()
        self.listed = False
        self.unconfirmed = False
        self.transferred = 0
        self.turns: tuple[tuple[str, ...], ...] = ()

    @property
    def records(self) -> Records:
        """The database."""
        return Records(self.problem, self.found, self.writes)

    @property
    def ended(self) -> bool:
        """Whether the customer has left or a supervisor has taken over."""
        return self.talk.gone or bool(self.transferred)

    def opening(self) -> str:
        """Return the policy, and what the customer says first."""
        return f"{self.problem.policy}\n{self._customer_says(self._opening)}"

    def act(self, name: str, arguments: Iterable[str] = ()) -> ServiceTurn:
        """Execute an action: the name of a tool and its arguments in order."""
        values = tuple(" ".join(value.split()) for value in arguments)
        try:
            text = self._call(name, values)
        except ToolError as error:
            return ServiceTurn(f"error: {error}", failed=True)
        self.turns += ((name, *values),)
        return ServiceTurn(text)

    def solved(self) -> bool:
        """Return whether the database and what was said are as the policy wants it."""
        problem = self.problem
        if not self.ended or self.found != problem.customer:
            return False
        if self.unconfirmed or problem.differences(self.writes) != problem.expected():
            return False
        verdicts = [request.verdict for request in problem.requests]
        if bool(self.transferred) != ("transferred" in verdicts):
            return False
        return all(self._is_met(place, request) for place, request in enumerate(problem.requests))

    def is_changed(self, record: str, change: Change, value: str) -> bool:
        """Return whether a record is as a tool leaves it."""
        writes = self.problem.differences(self.writes)
        differences = self.problem.differences(change.writes(record, value))
        return all(writes.get(key) == cell for key, cell in differences.items())

    def fork(self) -> ServiceSession:
        """Return an independent copy for looking ahead; its customer speaks the program's words."""
        session = copy.copy(self)
        session._word = None
        return session

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""
        return {key: value for key, value in vars(self).items() if key not in CONSTANT}

    def restore(self, state: Any) -> None:
        """Return to a state of the same task."""
        vars(self).update(state)

    def _is_met(self, place: int, request: Request) -> bool:
        """Return whether what was said about a request is as the policy wants it."""
        citation = dict(self.talk.citations).get(place)
        if request.verdict == "refused":
            return citation == request.rule
        if request.verdict == "transferred":
            return (self.talk.request, self.transferred) == (place, request.rule)
        return citation is None and (not request.question or place in self.talk.correct)

    def _call(self, name: str, values: tuple[str, ...]) -> str:
        """Execute a tool and return its output."""
        if name == SAY:
            self.talk, text = self.customer.answer(self.talk, values[0])
            return self._customer_says(text, values[0])
        if name == TRANSFER:
            return self._transfer(values[0])
        if name == FIND:
            text = self.records.find(values[0])
            self.found = values[0]
            return text
        if name == LIST:
            ids = ", ".join(self.records.own())
            self.listed = True
            return f"{self.problem.domain.record}s: {ids}"
        if name == SHOW:
            text = self.records.show(values[0])
            self.seen += (values[0],)
            return text
        if name == SEARCH:
            hits = self.records.search(values[0])
            self.seen += tuple(hits)
            return "\n".join(hits.values())
        return self._change(name, *values)

    def _customer_says(self, text: str, heard: str = "") -> str:
        return SPEAKER + (text if self._word is None else self._word(self.problem, text, heard))

    def _transfer(self, number: str) -> str:
        count = len(self.problem.rules)
        if number not in map(str, range(1, count + 1)):
            raise ToolError(f"expected the number of a rule, 1 to {count}")
        self.transferred = int(number)
        return TRANSFERRED

    def _change(self, name: str, record: str, value: str) -> str:
        names = [change.name for change in self.problem.domain.changes]
        if name not in names:
            raise ToolError(f"{self.problem.domain.record}s have no tool {name}")
        change = self.problem.domain.change(name)
        self.writes += self.records.changing(change, record, value)
        if self.problem.confirm:
            self.unconfirmed |= not any(
                (name, record) == (request.change, request.record)
                and change.stored(value) == change.stored(request.value)
                for place, request in enumerate(self.problem.requests)
                if place in self.talk.agreed
            )
        return self.records.show(record)


CONSTANT = ("problem", "customer", "_opening", "_word")
"""Attributes that are the same in every state of a task."""
