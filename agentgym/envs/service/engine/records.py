"""The database of an episode, and the tools that read and change it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentgym.envs.service.engine.domain import Cell, Change, Row, Write
from agentgym.envs.service.engine.problem import Problem

MOST_HITS = 8
"""Maximum number of displayed rows of the catalog."""
_NATURAL = re.compile(r"[0-9]{1,4}")


class ToolError(Exception):
    """A call that the database refuses; the message says why."""


class Records:
    """The database after some writes, as the tools of one customer show it.

    Args:
        problem: The task.
        customer: Number of the customer that was found; empty: none.
        writes: The writes so far.
    """

    def __init__(self, problem: Problem, customer: str, writes: Iterable[Write]) -> None:
        self._problem, self._customer = problem, customer
        self._writes = {(record, field): value for record, field, value in writes}

    def find(self, number: str) -> str:
        """Describe a customer.

        Raises:
            ToolError: There is no such customer.
        """
        row = self._problem.customers.get(number)
        if row is None:
            raise ToolError(f"no customer {number:.20}")
        return f"customer {number}: {_line(row)}"

    def own(self) -> list[str]:
        """Return the ids of the customer's records.

        Raises:
            ToolError: No customer was found.
        """
        if not self._customer:
            raise ToolError("find the customer first")
        rows = self._problem.records.items()
        return [record for record, row in rows if row["customer"] == self._customer]

    def row(self, record: str) -> dict[str, Cell]:
        """Return a record of the customer.

        Raises:
            ToolError: The customer has no such record.
        """
        if record not in self.own():
            raise ToolError(f"no {self._problem.domain.record} {record:.20} of this customer")
        changed = {field: value for (of, field), value in self._writes.items() if of == record}
        return {**self._problem.records[record], **changed}

    def show(self, record: str) -> str:
        """Describe a record of the customer.

        Raises:
            ToolError: The customer has no such record.
        """
        row = self.row(record)
        item = str(row["item"])
        cells = {field: value for field, value in row.items() if field not in ("customer", "item")}
        name = self._problem.catalog[item]["name"]
        return f"{self._problem.domain.record} {record}: {name} {item}; {_line(cells)}"

    def search(self, words: str) -> dict[str, str]:
        """Return the rows of the catalog with all of some words, by id.

        Raises:
            ToolError: There are none.
        """
        query_words = words.lower().split()
        hits = {
            item: f"{item}: {row['name']}; price {row['price']}"
            for item, row in self._problem.catalog.items()
            if all(word in str(row["name"]).lower().split() for word in query_words)
        }
        if not hits:
            raise ToolError(f"nothing in the catalog has the words {words:.60}")
        return dict(list(hits.items())[:MOST_HITS])

    def changing(self, change: Change, record: str, value: str) -> tuple[Write, ...]:
        """Return the writes of a tool.

        Raises:
            ToolError: The record or the value does not exist.
        """
        self.row(record)
        self._check(change, value)
        return tuple(change.writes(record, value))

    def _check(self, change: Change, value: str) -> None:
        """Refuse a value that does not exist."""
        payments = str(self._problem.customers[self._customer]["payments"]).split(", ")
        fits = {
            "word": value.lower() in change.values,
            "catalog": value in self._problem.catalog,
            "payment": value.lower() in payments,
            "text": bool(value),
            "number": _NATURAL.fullmatch(value) is not None,
        }
        if not fits[change.source]:
            raise ToolError(f"no {change.noun} {value:.40}")


def _line(row: Row) -> str:
    return "; ".join(f"{field} {value}" for field, value in row.items())
