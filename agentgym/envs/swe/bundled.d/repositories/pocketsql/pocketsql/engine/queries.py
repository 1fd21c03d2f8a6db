"""From a query to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from pocketsql.engine.aggregates import has_aggregate
from pocketsql.engine.evaluation import Evaluator
from pocketsql.engine.grouping import check_grouped, grouped
from pocketsql.engine.joins import join_rows
from pocketsql.engine.scope import Header, Scope
from pocketsql.engine.sets import combined, unique
from pocketsql.engine.values import compare
from pocketsql.errors import DataError, SchemaError
from pocketsql.storage.tables import Row, Table, table_named
from pocketsql.storage.types import Scalar
from pocketsql.syntax.nodes import (
    ColumnRef,
    Expression,
    Item,
    Literal,
    Order,
    Query,
    Select,
    SetOperation,
    Source,
)


class Line(NamedTuple):
    """A row of a result and what it was computed from."""

    row: Row
    scope: Scope


class QueryEngine:
    """Answers queries.

    Args:
        tables: The tables by name.
        parameters: The values of question marks.
    """

    def __init__(self, tables: Mapping[str, Table], parameters: Sequence[Scalar] = ()) -> None:
        self._tables = tables
        self.evaluator = Evaluator(parameters, self.answer)

    def answer(self, query: Query, outer: Scope | None = None) -> tuple[list[str], list[Row]]:
        """Return the labels and the rows of a query.

        Args:
            query: The query.
            outer: What the query around it sees.
        """
        if isinstance(query.body, Select):
            labels, lines = self._select(query.body, query.order, outer)
        else:
            labels, rows = self._body(query.body, outer)
            header = Header([("", label) for label in labels])
            lines = [Line(row, Scope(header, row, outer)) for row in rows]
        if query.order:
            lines = self._sorted(query.order, labels, lines)
        rows = [line.row for line in lines]
        if isinstance(query.body, Select) and query.body.distinct:
            rows = unique(rows)
        offset = self._count(query.offset, outer, "OFFSET") or 0
        limit = self._count(query.limit, outer, "LIMIT")
        return labels, rows[offset : None if limit is None else offset + limit]

    def _body(
        self, body: Select | SetOperation | Query, outer: Scope | None
    ) -> tuple[list[str], list[Row]]:
        if isinstance(body, Query):
            return self.answer(body, outer)
        if isinstance(body, Select):
            return self.answer(Query(body), outer)
        labels, left = self._body(body.left, outer)
        others, right = self._body(body.right, outer)
        if len(labels) != len(others):
            raise SchemaError(
                f"{body.kind.upper()} needs as many columns on both sides, "
                f"got {len(labels)} and {len(others)}"
            )
        return labels, combined(body.kind, body.every, left, right)

    def _count(self, expression: Expression | None, outer: Scope | None, what: str) -> int | None:
        if expression is None:
            return None
        value = self.evaluator.value(expression, Scope(Header(), outer=outer))
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise DataError(f"{what} needs a whole number that is not negative, got {value!r}")
        return value

    def source(self, source: Source, outer: Scope | None) -> tuple[Header, Sequence[Row]]:
        """Return the columns and the rows of a table or a subquery."""
        rows: Sequence[Row]
        if source.query is not None:
            labels, rows = self.answer(source.query, outer)
        else:
            table = table_named(self._tables, source.table)
            labels, rows = table.labels, table.rows
        return Header([(source.name, label) for label in labels]), rows

    def _from(self, select: Select, outer: Scope | None) -> tuple[Header, Sequence[Row]]:
        """Return the columns and the rows of all sources, joined."""
        if select.source is None:
            return Header(), [()]
        header, rows = self.source(select.source, outer)
        names = [select.source.name]
        for join in select.joins:
            if join.source.name in names:
                raise SchemaError(f"there are two sources {join.source.name}, give one an alias")
            names.append(join.source.name)
            right = self.source(join.source, outer)
            rows = join_rows(join, (header, rows), right, self.evaluator, outer)
            header = header + right[0]
        return header, rows

    def _select(
        self, select: Select, order: Sequence[Order], outer: Scope | None
    ) -> tuple[list[str], list[Line]]:
        header, rows = self._from(select, outer)
        if select.where is not None and has_aggregate(select.where):
            raise SchemaError("functions of groups cannot stand in WHERE, use HAVING")
        scopes = [Scope(header, row, outer) for row in rows]
        scopes = [
            scope for scope in scopes if self.evaluator.condition(select.where, scope, "WHERE")
        ]
        items = _expanded(select.items, header)
        expressions = [item.expression for item in items if item.expression is not None]
        having = [] if select.having is None else [select.having]
        if select.groups or having or any(map(has_aggregate, expressions)):
            keys = [_named_group(group, items, header) for group in select.groups]
            sorting = [one.expression for one in order if not _is_label(one.expression, items)]
            for expression in (*expressions, *having, *sorting):
                check_grouped(expression, keys, header)
            base = Scope(header, (None,) * len(header.columns), outer)
            scopes = [
                scope
                for scope in grouped(scopes, keys, base, self.evaluator)
                if self.evaluator.condition(select.having, scope, "HAVING")
            ]
        lines = [
            Line(tuple(self.evaluator.value(one, scope) for one in expressions), scope)
            for scope in scopes
        ]
        return [item.label for item in items], lines

    def _sorted(self, order: Sequence[Order], labels: list[str], lines: list[Line]) -> list[Line]:
        """Return lines in order; equal ones stay as they are."""
        keyed = [
            (tuple(self._order_value(one.expression, labels, line) for one in order), line)
            for line in lines
        ]

        def before(one: tuple[Row, Line], other: tuple[Row, Line]) -> int:
            for key, left, right in zip(order, one[0], other[0], strict=True):
                found = _ordered(key, left, right)
                if found:
                    return found
            return 0

        return [line for _, line in sorted(keyed, key=cmp_to_key(before))]

    def _order_value(self, expression: Expression, labels: list[str], line: Line) -> Scalar:
        """Return what a line is sorted by: a column of the result by number or label, or any value.

        Raises:
            SchemaError: There is no column of this number, or the label is ambiguous.
        """
        if isinstance(expression, Literal) and isinstance(expression.value, int):
            if isinstance(expression.value, bool) or not 1 <= expression.value <= len(labels):
                raise SchemaError(f"ORDER BY {expression.value}: there are {len(labels)} columns")
            return line.row[expression.value - 1]
        if isinstance(expression, ColumnRef) and not expression.table:
            places = [place for place, label in enumerate(labels) if label == expression.name]
            if len({line.row[place] for place in places}) > 1:
                raise SchemaError(f"ORDER BY {expression.name} is ambiguous")
            if places:
                return line.row[places[0]]
        return self.evaluator.value(expression, line.scope)


def _ordered(key: Order, left: Scalar, right: Scalar) -> int:
    """Compare two values; NULL is the largest unless something else was said."""
    sign = -1 if key.descending else 1
    if left is None or right is None:
        nulls_first = key.descending if key.nulls_first is None else key.nulls_first
        return ((left is None) - (right is None)) * (-1 if nulls_first else 1)
    return (compare(left, right) or 0) * sign


def _expanded(items: Sequence[Item], header: Header) -> list[Item]:
    """Return what is asked for, with stars replaced by the columns for which they stand."""
    found: list[Item] = []
    for item in items:
        if item.expression is not None:
            found.append(item)
            continue
        if not header.columns:
            raise SchemaError("* needs a table in FROM")
        places = header.of(item.table) if item.table else range(len(header.columns))
        for place in places:
            source, name = header.columns[place]
            found.append(Item(ColumnRef(source, name), name))
    return found


def _is_label(expression: Expression, items: Sequence[Item]) -> bool:
    """Say whether an expression of ORDER BY is a label or a number of the result."""
    if isinstance(expression, ColumnRef) and not expression.table:
        return any(item.label == expression.name for item in items)
    return isinstance(expression, Literal)


def _named_group(group: Expression, items: Sequence[Item], header: Header) -> Expression:
    """Return what GROUP BY means: a number or a label of the result, or an expression."""
    if isinstance(group, Literal) and isinstance(group.value, int):
        if isinstance(group.value, bool) or not 1 <= group.value <= len(items):
            raise SchemaError(f"GROUP BY {group.value}: there are {len(items)} columns")
        return items[group.value - 1].expression or group
    if isinstance(group, ColumnRef) and not group.table and header.find(group) is None:
        for item in items:
            if item.label == group.name and item.expression is not None:
                return item.expression
    return group
