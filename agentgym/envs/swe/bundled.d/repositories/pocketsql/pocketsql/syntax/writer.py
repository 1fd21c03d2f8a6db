"""Expressions as text, with as few brackets as possible."""

from __future__ import annotations

from pocketsql.storage.types import Scalar
from pocketsql.syntax.nodes import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    ColumnRef,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    Literal,
    Parameter,
    Unary,
)

_STRENGTH = {"or": 1, "and": 2, "||": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7}
_COMPARISON = 4
_NOT = 3
_SIGN = 8


def expression_text(expression: Expression) -> str:
    """Return an expression as it could be written; subqueries are shortened to ``...``."""
    return _text(expression, 0)


def _text(node: Expression, least: int) -> str:
    text, strength = _described(node)
    return f"({text})" if strength < least else text


def _described(node: Expression) -> tuple[str, int]:
    """Return the text of a node and how strongly it binds."""
    if isinstance(node, Binary):
        strength = _STRENGTH.get(node.operator, _COMPARISON)
        # comparisons cannot be chained, so that both of their sides have to bind more strongly
        left = _text(node.left, strength + (strength == _COMPARISON))
        operator = node.operator.upper()
        return f"{left} {operator} {_text(node.right, strength + 1)}", strength
    if isinstance(node, Unary):
        if node.operator == "not":
            return f"NOT {_text(node.operand, _NOT)}", _NOT
        operand = _text(node.operand, _SIGN)
        gap = " " if operand.startswith(node.operator) else ""
        return node.operator + gap + operand, _SIGN
    if isinstance(node, (IsNull, Between, Like, InList, InQuery)):
        return _tested(node), _COMPARISON
    return _closed(node), 9


def _tested(node: IsNull | Between | Like | InList | InQuery) -> str:
    operand = _text(node.operand, _COMPARISON + 1)
    no = "NOT " if node.negated else ""
    if isinstance(node, IsNull):
        return f"{operand} IS {no}NULL"
    if isinstance(node, Between):
        low, high = _text(node.low, _COMPARISON + 1), _text(node.high, _COMPARISON + 1)
        return f"{operand} {no}BETWEEN {low} AND {high}"
    if isinstance(node, Like):
        escape = "" if node.escape is None else f" ESCAPE {_text(node.escape, _COMPARISON + 1)}"
        return f"{operand} {no}LIKE {_text(node.pattern, _COMPARISON + 1)}{escape}"
    items = "..." if isinstance(node, InQuery) else ", ".join(map(expression_text, node.items))
    return f"{operand} {no}IN ({items})"


def _closed(node: Expression) -> str:
    """Return the text of a node that never needs brackets."""
    if isinstance(node, Literal):
        return literal_text(node.value)
    if isinstance(node, Parameter):
        return "?"
    if isinstance(node, ColumnRef):
        return f"{node.table}.{node.name}" if node.table else node.name
    if isinstance(node, Call):
        arguments = "*" if node.star else ", ".join(map(expression_text, node.arguments))
        return f"{node.name.upper()}({'DISTINCT ' if node.distinct else ''}{arguments})"
    if isinstance(node, Cast):
        return f"CAST({expression_text(node.operand)} AS {node.type})"
    if isinstance(node, Case):
        parts = ["CASE", *([] if node.subject is None else [expression_text(node.subject)])]
        for condition, result in node.branches:
            parts.append(f"WHEN {expression_text(condition)} THEN {expression_text(result)}")
        if node.otherwise is not None:
            parts.append(f"ELSE {expression_text(node.otherwise)}")
        return " ".join([*parts, "END"])
    return "EXISTS (...)" if isinstance(node, Exists) else "(...)"


def literal_text(value: Scalar) -> str:
    """Return a value as it is written in SQL."""
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)
