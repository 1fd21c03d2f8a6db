"""The tools, rules and words of a domain, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Cell = str | int
"""A value of the database."""
Row = Mapping[str, Cell]
"""Field -> value."""
Write = tuple[str, str, Cell]
"""Record, field and value."""
Limit = int | tuple[str, ...]
"""What a rule allows: a number, or some words."""


class Amount(NamedTuple):
    """A number that the customer asks for after a change."""

    ask: str
    """The question."""
    first: str
    """Path of a number, see `Case`."""
    second: str = ""
    """Path of a number; the answer is the difference of both. Empty: the first number."""


@dataclass(frozen=True)
class Change:
    """A tool that changes a record. Its arguments are a record and a value."""

    name: str
    """Name of the tool: one word."""
    about: str
    """Description of the tool."""
    noun: str
    """What the value is called."""
    source: Literal["word", "catalog", "payment", "text", "number"]
    """What the value is: one of `values`, the id of a row of the catalog, a payment of the
    customer, any text, or a natural number."""
    field: str
    """Field of the record that takes the value."""
    intents: tuple[str, ...]
    """How a customer says what they want, the plainest first."""
    tells: tuple[str, ...]
    """How a customer tells the value, the plainest first."""
    words: tuple[str, ...]
    """Words of a message that asks for the value."""
    values: tuple[str, ...] = ()
    """Values that customers want, if the source is not the database."""
    also: tuple[tuple[str, Cell], ...] = ()
    """Other fields that the tool sets."""
    amount: Amount | None = None
    """The number that a customer may ask for."""

    def stored(self, value: str) -> Cell:
        """Return the value that the tool stores, whatever its case."""
        if self.source == "number":
            return int(value)
        return value.title() if self.source == "text" else value.lower()

    def writes(self, record: str, value: str) -> Iterator[Write]:
        """Yield what the tool writes."""
        yield record, self.field, self.stored(value)
        for field, cell in self.also:
            yield record, field, cell


@dataclass(frozen=True)
class Rule:
    """A rule of the policy: which changes are allowed."""

    change: str
    """Name of the tool that it limits."""
    text: str
    """The rule in words; ``{limit}`` is the limit."""
    path: str
    """Path of what is limited, see `Case`."""
    test: Literal["among", "most", "least", "same"]
    """The value must be among words, at most or at least a number, or the same as another."""
    limits: tuple[Limit, ...] = ()
    """Possible limits, of which a task has one."""
    other: str = ""
    """Path of the other value of the test ``same``."""
    transfer: bool = False
    """Whether the agent transfers what the rule forbids to a supervisor, instead of refusing it."""

    def write(self, limit: Limit) -> str:
        """Return the rule in words."""
        if isinstance(limit, tuple):
            *earlier, last = limit or ("",)
            limit_words = f"{', '.join(earlier)} or {last}" if earlier else last
            return self.text.format(limit=limit_words)
        return self.text.format(limit=limit)


class Case(NamedTuple):
    """A change that is wanted, with all that rules and amounts refer to by a path.

    A path is ``TABLE.FIELD``, where the tables are ``customer``, ``record``, ``item`` (the row of
    the catalog that the record is about) and ``wanted`` (the row that the customer wants instead),
    or ``value`` or ``fee`` alone.
    """

    customer: Row
    record: Row
    item: Row
    wanted: Row
    value: Cell
    fee: int = 0

    def look_up(self, path: str) -> Cell:
        """Return the value of a path."""
        table, _, field = path.partition(".")
        row = getattr(self, table)
        return row[field] if field else row

    def number(self, amount: Amount) -> int:
        """Return the answer to the question of an amount."""
        first = int(self.look_up(amount.first))
        return abs(first - int(self.look_up(amount.second))) if amount.second else first

    def obeys(self, rule: Rule, limit: Limit) -> bool:
        """Return whether a rule allows the change."""
        value = self.look_up(rule.path)
        if rule.test == "same":
            return value == self.look_up(rule.other)
        if isinstance(limit, tuple):
            return value in limit
        return int(value) <= limit if rule.test == "most" else int(value) >= limit

    def write_comparison(self, rule: Rule, limit: Limit) -> str:
        """Write a rule, what it compares, and whether it allows the change (yes or no)."""
        paths = (rule.path, rule.other) if rule.other else (rule.path,)
        compared = (f"{path.rpartition('.')[2]} {self.look_up(path)}" for path in paths)
        answer = "yes" if self.obeys(rule, limit) else "no"
        return f"{rule.write(limit).rstrip('.')}: {', '.join(compared)}, {answer}."


@dataclass(frozen=True)
class Domain:
    """A business: its records, tools, rules and words."""

    name: str
    """Name of the domain."""
    business: str
    """The business in words, for the policy."""
    record: str
    """What a record is called."""
    item: str
    """Name of a row of the catalog; ``{adjective}`` and ``{kind}`` are placeholders."""
    adjectives: tuple[str, ...]
    """First words of the catalog's names."""
    kinds: tuple[str, ...]
    """Kinds of rows of the catalog."""
    fields: Mapping[str, Sequence[Cell]]
    """Fields of a record, with the values that are drawn."""
    fee: str
    """Sentence of the policy about the fee; ``{fee}`` is a number."""
    changes: tuple[Change, ...]
    """The tools that change records, the simplest first."""
    rules: tuple[Rule, ...]
    """The rules."""
    questions: tuple[tuple[str, str], ...]
    """What customers ask about a record: the question, and the path of the answer."""

    def change(self, name: str) -> Change:
        """Return the tool with a name."""
        return next(change for change in self.changes if change.name == name)
