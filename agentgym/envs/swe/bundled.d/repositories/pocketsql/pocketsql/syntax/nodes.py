"""The trees of expressions, queries and statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Union

from pocketsql.storage.types import Scalar


@dataclass(frozen=True)
class Expression:
    """The root of all expressions."""


@dataclass(frozen=True)
class Literal(Expression):
    """A value that is written in the text."""

    value: Scalar


@dataclass(frozen=True)
class Parameter(Expression):
    """A question mark; they are counted from 0."""

    index: int


@dataclass(frozen=True)
class ColumnRef(Expression):
    """A column; ``table`` is empty if it is not named."""

    table: str
    name: str


@dataclass(frozen=True)
class Unary(Expression):
    """``-``, ``+`` or ``not`` before an operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """Two operands and what stands between them."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    """``IS NULL`` or ``IS NOT NULL``."""

    operand: Expression
    negated: bool


@dataclass(frozen=True)
class Between(Expression):
    """``BETWEEN low AND high``."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True)
class Like(Expression):
    """``LIKE pattern ESCAPE character``."""

    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool


@dataclass(frozen=True)
class InList(Expression):
    """``IN (a, b)``."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True)
class InQuery(Expression):
    """``IN (SELECT ...)``."""

    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True)
class Exists(Expression):
    """``EXISTS (SELECT ...)``."""

    query: Query


@dataclass(frozen=True)
class ScalarQuery(Expression):
    """A query whose only value is meant."""

    query: Query


@dataclass(frozen=True)
class Case(Expression):
    """``CASE``; without a subject the conditions themselves decide."""

    subject: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True)
class Cast(Expression):
    """``CAST(operand AS type)``."""

    operand: Expression
    type: str


@dataclass(frozen=True)
class Call(Expression):
    """A function; ``star`` is for ``COUNT(*)``."""

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    star: bool = False


@dataclass(frozen=True)
class Item:
    """What ``SELECT`` asks for: an expression, or all columns (of a table)."""

    expression: Expression | None
    label: str = ""
    table: str = ""


@dataclass(frozen=True)
class Source:
    """A table or a subquery in ``FROM``, with the name that its columns have."""

    name: str
    table: str = ""
    query: Query | None = None


@dataclass(frozen=True)
class Join:
    """A further source: ``inner``, ``left`` or ``cross``."""

    kind: str
    source: Source
    condition: Expression | None


@dataclass(frozen=True)
class Select:
    """A query without order and set operations."""

    items: tuple[Item, ...]
    source: Source | None = None
    joins: tuple[Join, ...] = ()
    where: Expression | None = None
    groups: tuple[Expression, ...] = ()
    having: Expression | None = None
    distinct: bool = False


@dataclass(frozen=True)
class SetOperation:
    """``union``, ``intersect`` or ``except`` of two queries."""

    kind: str
    every: bool
    left: Select | SetOperation | Query
    right: Select | SetOperation | Query


@dataclass(frozen=True)
class Order:
    """What rows are sorted by; ``nulls_first`` is None if nothing was said."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Query:
    """A query with its order and the rows that are wanted of it."""

    body: Select | SetOperation | Query
    order: tuple[Order, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None


@dataclass(frozen=True)
class Reference:
    """The column of another table to which a column points, and what a deletion does."""

    table: str
    column: str
    on_delete: str = "restrict"


@dataclass(frozen=True)
class ColumnDefinition:
    """A column as ``CREATE TABLE`` describes it."""

    name: str
    type: str
    not_null: bool = False
    unique: bool = False
    primary: bool = False
    default: Expression | None = None
    check: Expression | None = None
    reference: Reference | None = None


@dataclass(frozen=True)
class CreateTable:
    """``CREATE TABLE``."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropTable:
    """``DROP TABLE``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class Insert:
    """``INSERT``, of rows or of what a query gives."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Expression | None, ...], ...] = ()
    query: Query | None = None


@dataclass(frozen=True)
class Update:
    """``UPDATE``."""

    table: str
    changes: tuple[tuple[str, Expression], ...]
    where: Expression | None = None


@dataclass(frozen=True)
class Delete:
    """``DELETE``."""

    table: str
    where: Expression | None = None


@dataclass(frozen=True)
class Transaction:
    """``begin``, ``commit`` or ``rollback``."""

    kind: str


@dataclass(frozen=True)
class Explain:
    """``EXPLAIN``."""

    query: Query


Statement = Union[  # noqa: UP007
    Query, CreateTable, DropTable, Insert, Update, Delete, Transaction, Explain
]


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all below it, but nothing of subqueries."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def children(expression: Expression) -> list[Expression]:
    """Return the expressions directly below an expression, from left to right."""
    found: list[Expression] = []

    def collect(value: object) -> None:
        if isinstance(value, Expression):
            found.append(value)
        elif isinstance(value, tuple):
            for part in value:
                collect(part)

    for field in fields(expression):
        collect(getattr(expression, field.name))
    return found


def height(expression: Expression) -> int:
    """Return the number of expressions on the longest way down, without subqueries."""
    highest = 0
    waiting = [(expression, 1)]
    while waiting:
        node, depth = waiting.pop()
        highest = max(highest, depth)
        waiting.extend((child, depth + 1) for child in children(node))
    return highest
