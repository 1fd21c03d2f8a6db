"""How a query will be answered, as an indented list."""

from __future__ import annotations

from collections.abc import Mapping

from pocketsql.engine.aggregates import has_aggregate
from pocketsql.engine.joins import plan_join
from pocketsql.engine.scope import Header
from pocketsql.storage.tables import Table, table_named
from pocketsql.syntax.nodes import Join, Order, Query, Select, SetOperation, Source
from pocketsql.syntax.writer import expression_text


def explain(query: Query, tables: Mapping[str, Table]) -> list[str]:
    """Return the steps of a query, the last one first, what it needs indented below it.

    Raises:
        SchemaError: A table is not there.
    """
    return _query(query, tables)


def _below(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


def _query(query: Query, tables: Mapping[str, Table]) -> list[str]:
    lines = _body(query.body, tables)
    if query.order:
        if isinstance(query.body, Select) and query.body.distinct:
            lines = [lines[0], *_below([_sort(query.order)]), *_below(lines[1:])]
        else:
            lines = [_sort(query.order), *_below(lines)]
    if query.limit is not None or query.offset is not None:
        parts = []
        if query.limit is not None:
            parts.append(f"limit {expression_text(query.limit)}")
        if query.offset is not None:
            parts.append(f"offset {expression_text(query.offset)}")
        lines = [" ".join(parts), *_below(lines)]
    return lines


def _sort(order: tuple[Order, ...]) -> str:
    keys = [expression_text(one.expression) + (" desc" if one.descending else "") for one in order]
    return "sort by " + ", ".join(keys)


def _body(body: Select | SetOperation | Query, tables: Mapping[str, Table]) -> list[str]:
    if isinstance(body, Query):
        return _query(body, tables)
    if isinstance(body, SetOperation):
        name = body.kind + (" all" if body.every else "")
        return [name, *_below(_body(body.left, tables)), *_below(_body(body.right, tables))]
    lines = _from(body, tables)
    if body.where is not None:
        lines = [f"filter {expression_text(body.where)}", *_below(lines)]
    expressions = [item.expression for item in body.items if item.expression is not None]
    if body.groups:
        keys = ", ".join(map(expression_text, body.groups))
        lines = [f"group by {keys}", *_below(lines)]
    elif body.having is not None or any(map(has_aggregate, expressions)):
        lines = ["group all", *_below(lines)]
    if body.having is not None:
        lines = [f"filter groups {expression_text(body.having)}", *_below(lines)]
    return ["distinct", *_below(lines)] if body.distinct else lines


def _from(select: Select, tables: Mapping[str, Table]) -> list[str]:
    if select.source is None:
        return ["one row"]
    header, lines = _source(select.source, tables)
    for join in select.joins:
        other, below = _source(join.source, tables)
        lines = [_join(join, header, other), *_below(lines), *_below(below)]
        header = header + other
    return lines


def _join(join: Join, left: Header, right: Header) -> str:
    """Return how a join is done: by keys where columns have to be equal, else row by row."""
    if join.condition is None:
        return "cross join"
    plan = plan_join(join.condition, left, right)
    text = expression_text(join.condition)
    return f"{join.kind} join {'by keys' if plan.keys else 'row by row'} on {text}"


def _source(source: Source, tables: Mapping[str, Table]) -> tuple[Header, list[str]]:
    if source.query is not None:
        lines = [f"subquery {source.name}", *_below(_query(source.query, tables))]
        return Header(), lines
    table = table_named(tables, source.table)
    alias = "" if source.name == source.table else f" as {source.name}"
    header = Header([(source.name, label) for label in table.labels])
    return header, [f"read {table.name}{alias} ({len(table.rows)} rows)"]
