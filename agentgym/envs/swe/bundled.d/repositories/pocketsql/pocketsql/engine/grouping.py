"""Groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pocketsql.engine.aggregates import has_aggregate, is_aggregate
from pocketsql.engine.evaluation import Evaluator
from pocketsql.engine.scope import Header, Scope
from pocketsql.engine.values import distinct_key
from pocketsql.errors import SchemaError
from pocketsql.syntax.nodes import ColumnRef, Expression, children


def grouped(
    scopes: Sequence[Scope], keys: Sequence[Expression], base: Scope, evaluator: Evaluator
) -> list[Scope]:
    """Return one scope for each group, in the order of their first rows.

    Args:
        scopes: The rows.
        keys: What rows of a group have in common; without any, all rows are one group.
        base: What is seen in a group without rows.
        evaluator: Computes the keys.
    """
    found: dict[tuple[object, ...], list[Scope]] = {}
    for scope in scopes:
        key = tuple(distinct_key(evaluator.value(one, scope)) for one in keys)
        found.setdefault(key, []).append(scope)
    if not keys and not found:
        return [replace(base, group=())]
    return [replace(group[0], group=[scope.row for scope in group]) for group in found.values()]


def check_grouped(expression: Expression, keys: Sequence[Expression], header: Header) -> None:
    """Refuse an expression that has no single value in a group.

    Raises:
        SchemaError: A column of it is neither a key nor inside of a function of groups.
    """
    for key in keys:
        if has_aggregate(key):
            raise SchemaError("functions of groups cannot stand in GROUP BY")
    wanted = {_plain(key, header) for key in keys}
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if is_aggregate(node) or _plain(node, header) in wanted:
            continue
        if isinstance(node, ColumnRef) and header.find(node) is not None:
            raise SchemaError(
                f"column {node.name} has to be in GROUP BY or in a function of groups"
            )
        waiting.extend(children(node))


def _plain(node: Expression, header: Header) -> Expression | int:
    """Return a column as its place, so that it is the same with and without its table."""
    if isinstance(node, ColumnRef):
        place = header.find(node)
        return node if place is None else place
    return node
