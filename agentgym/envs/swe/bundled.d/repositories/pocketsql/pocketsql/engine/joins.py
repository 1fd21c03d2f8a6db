"""Joins: rows of two sources side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pocketsql.engine.evaluation import Evaluator
from pocketsql.engine.scope import Header, Scope
from pocketsql.engine.values import compare, distinct_key
from pocketsql.storage.tables import Row
from pocketsql.storage.types import Scalar
from pocketsql.syntax.nodes import Binary, ColumnRef, Expression, Join


@dataclass(frozen=True)
class JoinPlan:
    """How rows are joined.

    Attributes:
        keys: Pairs of places, left and right, whose values have to be equal.
        rest: What else has to hold.
    """

    keys: tuple[tuple[int, int], ...]
    rest: tuple[Expression, ...]


def plan_join(condition: Expression | None, left: Header, right: Header) -> JoinPlan:
    """Return how a condition is tested: equal columns by a table of keys, the rest row by row."""
    keys: list[tuple[int, int]] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _equal_columns(part, left, right)
        if pair is None:
            rest.append(part)
        else:
            keys.append(pair)
    return JoinPlan(tuple(keys), tuple(rest))


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Return the parts of a condition that AND joins, from left to right."""
    if condition is None:
        return []
    if isinstance(condition, Binary) and condition.operator == "and":
        return [*conjuncts(condition.left), *conjuncts(condition.right)]
    return [condition]


def _equal_columns(part: Expression, left: Header, right: Header) -> tuple[int, int] | None:
    """Return the places of two columns of different sides that have to be equal."""
    if not isinstance(part, Binary) or part.operator != "=":
        return None
    if not isinstance(part.left, ColumnRef) or not isinstance(part.right, ColumnRef):
        return None
    # both sides are asked together, so that an ambiguous name is noticed
    both = left + right
    one, other = both.find(part.left), both.find(part.right)
    if one is None or other is None:
        return None
    one, other = sorted((one, other))
    split = len(left.columns)
    return (one, other - split) if one < split <= other else None


def join_rows(
    join: Join,
    left: tuple[Header, Sequence[Row]],
    right: tuple[Header, Sequence[Row]],
    evaluator: Evaluator,
    outer: Scope | None,
) -> list[Row]:
    """Return joined rows, in the order of the left ones, then of the right ones."""
    header = left[0] + right[0]
    plan = plan_join(join.condition, left[0], right[0])
    table = _by_keys(plan, right[1])
    sample = next((row for row in right[1] if _key(plan, row, 1) is not None), None)
    empty = (None,) * len(right[0].columns)
    found: list[Row] = []
    for row in left[1]:
        key = _key(plan, row, 0)
        if key is not None and sample is not None:
            for one, other in plan.keys:  # so that texts compared with numbers are refused
                compare(row[one], sample[other])
        partners = [] if key is None else table.get(key, [])
        joined = [(*row, *partner) for partner in partners]
        fitting = [
            both
            for both in joined
            if all(evaluator.condition(one, Scope(header, both, outer), "ON") for one in plan.rest)
        ]
        found += fitting
        if join.kind == "left" and not fitting:
            found.append((*row, *empty))
    return found


def _by_keys(plan: JoinPlan, rows: Sequence[Row]) -> dict[tuple[object, ...], list[Row]]:
    table: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        key = _key(plan, row, 1)
        if key is not None:
            table.setdefault(key, []).append(row)
    return table


def _key(plan: JoinPlan, row: Row, side: int) -> tuple[object, ...] | None:
    """Return the values that have to be equal; None if one is NULL, which equals nothing."""
    values: list[Scalar] = [row[pair[side]] for pair in plan.keys]
    if any(value is None for value in values):
        return None
    return tuple(distinct_key(value) for value in values)
