"""The query language."""

from __future__ import annotations

from typing import NamedTuple

from rowtable.aggregates import AGGREGATES
from rowtable.errors import QueryError, TableError
from rowtable.expressions import Tokens, parse_condition
from rowtable.table import Table


class Item(NamedTuple):
    """What ``select`` asks for."""

    column: str
    function: str = ""
    label: str = ""


def query(text: str, **tables: Table) -> Table:
    """Answer a query.

    Args:
        text: The query, such as ``select name from people where age > 30``.
        **tables: The tables by name.

    Raises:
        QueryError: The query cannot be understood.
        TableError: It asks for a column that is not there.
    """
    tokens = Tokens(text)
    tokens.expect("select")
    once = tokens.accept("distinct")
    items = _items(tokens)
    table = _source(tokens, tables)
    if tokens.accept("where"):
        table = table.where(parse_condition(tokens))
    keys = _names(tokens) if tokens.accept("group", "by") else []
    order = _order(tokens) if tokens.accept("order", "by") else []
    count = tokens.whole_number() if tokens.accept("limit") else None
    offset = tokens.whole_number() if tokens.accept("offset") else 0
    if tokens.next.kind != "end":
        raise QueryError(f"unexpected {tokens.next.text!r}")
    table = _project(table, items, keys, order)
    if once:
        table = table.unique()
    return table.limit(len(table) if count is None else count, offset)


def _items(tokens: Tokens) -> list[Item]:
    items = [_item(tokens)]
    while tokens.accept(","):
        items.append(_item(tokens))
    return items


def _item(tokens: Tokens) -> Item:
    if tokens.accept("*"):
        return Item("*")
    name = tokens.name()
    if not tokens.accept("("):
        return Item(name, label=tokens.name() if tokens.accept("as") else name)
    function = name.lower()
    if function not in AGGREGATES:
        raise QueryError(f"unknown function {name!r}")
    column = "*" if tokens.accept("*") else tokens.name()
    tokens.expect(")")
    default = function if column == "*" else f"{function}_{column}"
    return Item(column, function, tokens.name() if tokens.accept("as") else default)


def _source(tokens: Tokens, tables: dict[str, Table]) -> Table:
    tokens.expect("from")
    table = _table(tokens, tables)
    while True:
        if tokens.accept("left", "join"):
            how = "left"
        elif tokens.accept("join"):
            how = "inner"
        else:
            return table
        other = _table(tokens, tables)
        tokens.expect("on")
        left = tokens.name()
        right = tokens.name() if tokens.accept("=") else left
        table = table.join(other, (left, right), how)


def _table(tokens: Tokens, tables: dict[str, Table]) -> Table:
    name = tokens.name()
    if name not in tables:
        raise QueryError(f"no table {name!r}")
    return tables[name]


def _names(tokens: Tokens) -> list[str]:
    names = [tokens.name()]
    while tokens.accept(","):
        names.append(tokens.name())
    return names


def _order(tokens: Tokens) -> list[str]:
    """Read columns to sort by, with a dash for those that descend."""
    order = []
    while True:
        name = tokens.name()
        if tokens.accept("desc"):
            name = "-" + name
        else:
            tokens.accept("asc")
        order.append(name)
        if not tokens.accept(","):
            return order


def _project(table: Table, items: list[Item], keys: list[str], order: list[str]) -> Table:
    """Group, sort and choose columns."""
    if keys or any(item.function for item in items):
        for item in items:
            if not item.function and item.column not in keys:
                raise QueryError(f"{item.column!r} is neither grouped nor aggregated")
        results = {item.label: (item.function, item.column) for item in items if item.function}
        table = table.group_by(*keys, **results)
        items = [
            Item(item.label if item.function else item.column, "", item.label) for item in items
        ]
    if all(name.removeprefix("-") in table.columns for name in order):
        return _choose(table.sort(*order), items)
    return _choose(table, items).sort(*order)


def _choose(table: Table, items: list[Item]) -> Table:
    """Choose columns and give them their labels."""
    pairs: list[tuple[str, str]] = []
    for item in items:
        if item.column == "*":
            pairs += [(name, name) for name in table.columns]
        else:
            pairs.append((item.column, item.label))
    columns = [table.column(name) for name, _ in pairs]
    labels = [label for _, label in pairs]
    if len(set(labels)) < len(labels):
        raise TableError("a column is selected twice, rename it with as")
    return Table(labels, zip(*columns, strict=True))
