"""A task: a database, a policy, and a customer with requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentgym.envs.service.engine.domain import (
    Case,
    Cell,
    Change,
    Domain,
    Limit,
    Row,
    Rule,
    Write,
)

Verdict = Literal["done", "refused", "transferred"]
"""How a request ends under the policy."""


class PolicyRule(NamedTuple):
    """A rule with the limit that it has in a task."""

    rule: Rule
    """The rule."""
    limit: Limit = ()
    """Its limit."""


@dataclass(frozen=True)
class Request:
    """What a customer wants: a change, an answer, or both."""

    record: str
    """Id of the record that it is about."""
    record_words: str
    """How the customer refers to the record: its id or a description."""
    change: str = ""
    """Name of the tool; empty: the customer only asks a question."""
    value: str = ""
    """Second argument of the tool."""
    value_words: str = ""
    """How the customer tells the value."""
    mistaken: str = ""
    """Value that the customer tells first, and corrects when the agent asks for a yes."""
    mistaken_words: str = ""
    """How the customer tells the mistaken value."""
    question: str = ""
    """The question; empty: none."""
    fact: int = 0
    """The number that answers it."""
    verdict: Verdict = "done"
    """How it ends."""
    rule: int = 0
    """Number of the rule that forbids it, from 1; 0: none."""


@dataclass(frozen=True)
class Problem:
    """A task."""

    domain: Domain
    """The domain."""
    customer: str
    """Number of the customer who calls."""
    customers: Mapping[str, Row]
    """Customers by number; ``payments`` are separated by commas."""
    records: Mapping[str, Row]
    """Records by id."""
    catalog: Mapping[str, Row]
    """The catalog by id."""
    rules: tuple[PolicyRule, ...]
    """The rules; the first has the number 1."""
    fee: int
    """The fee."""
    requests: tuple[Request, ...]
    """What the customer wants, one after the other."""
    confirm: bool
    """Whether the customer must say yes to each change before the agent makes it."""
    mood: str
    """Mood of the customer."""
    patience: int
    """How often the customer insists after a refusal."""
    openings: tuple[int, ...]
    """Number of facts with which the customer begins each request."""
    paraphrases: int
    """Number of ways in which the customer may say a thing."""
    key: str
    """Key of the customer's random draws."""

    @property
    def policy(self) -> str:
        """The policy in words."""
        domain = self.domain
        lines = [
            f"You serve a customer of {domain.business}. First find the customer by number.",
            "Do what the customer wants if the rules allow it, then say that it is done.",
            "If a rule forbids it, do not do it: say that you cannot, and the number of the rule.",
            "What is for a supervisor you transfer, with the number of the rule.",
        ]
        if self.confirm:
            lines.append(
                f"Before each change, say the id of the {domain.record} and the value, and ask the "
                "customer for a yes."
            )
        rules = (
            f"{number}. {rule.write(limit)}" for number, (rule, limit) in enumerate(self.rules, 1)
        )
        return "\n".join((*lines, domain.fee.format(fee=self.fee), *rules))

    def case(self, change: Change, record: Row, value: str) -> Case:
        """Return what rules and amounts refer to, for a change of a record of the customer."""
        catalog_row = self.catalog.get(value, {}) if change.source == "catalog" else {}
        item = self.catalog[str(record["item"])]
        customer = self.customers[self.customer]
        return Case(customer, record, item, catalog_row, change.stored(value), self.fee)

    def broken(self, change: Change, record: Row, value: str) -> list[int]:
        """Return the numbers of the rules that forbid a change."""
        case = self.case(change, record, value)
        return [
            number
            for number, (rule, limit) in enumerate(self.rules, 1)
            if rule.change == change.name and not case.obeys(rule, limit)
        ]

    def write_check(self, change: Change, record: Row, value: str) -> str:
        """Write how the rules for a change are checked, up to the one that forbids it.

        The number of a rule is left out: it is easier to find after the rule than before.
        """
        case, checks = self.case(change, record, value), []
        for rule, limit in self.rules:
            if rule.change == change.name:
                checks.append(case.write_comparison(rule, limit))
                if not case.obeys(rule, limit):
                    break
        return " ".join(checks)

    def expected(self) -> dict[tuple[str, str], Cell]:
        """Return the fields that differ in the end, by record and field."""
        writes = (
            write
            for request in self.requests
            if request.change and request.verdict == "done"
            for write in self.domain.change(request.change).writes(request.record, request.value)
        )
        return self.differences(writes)

    def differences(self, writes: Iterable[Write]) -> dict[tuple[str, str], Cell]:
        """Return the fields that differ from the start after some writes."""
        values = {(record, field): value for record, field, value in writes}
        return {
            key: value for key, value in values.items() if self.records[key[0]].get(key[1]) != value
        }
