"""From an expression to a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pocketsql.engine import functions
from pocketsql.engine.aggregates import aggregate, check_call, is_aggregate
from pocketsql.engine.scope import Scope
from pocketsql.engine.values import (
    arithmetic,
    both,
    either,
    holds,
    joined,
    matches,
    number,
    opposite,
    truth,
)
from pocketsql.errors import DataError, SchemaError
from pocketsql.storage.tables import Row
from pocketsql.storage.types import Scalar, cast, checked
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
    Query,
    ScalarQuery,
    Unary,
)

Answer = Callable[[Query, Scope], "tuple[list[str], list[Row]]"]
"""Answers a subquery: its labels and rows."""


class Evaluator:
    """Computes expressions.

    Args:
        parameters: The values of question marks.
        answer: Answers subqueries.
    """

    def __init__(self, parameters: Sequence[Scalar], answer: Answer) -> None:
        self._parameters = parameters
        self._answer = answer

    def condition(self, expression: Expression | None, scope: Scope, what: str) -> bool:
        """Say whether a condition is TRUE; NULL is not. No condition is always TRUE."""
        if expression is None:
            return True
        return truth(self.value(expression, scope), what) is True

    def value(self, node: Expression, scope: Scope) -> Scalar:
        """Return the value of an expression.

        Raises:
            SchemaError: A column or function is not there.
            DataError: A value has the wrong type or is out of range.
        """
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, ColumnRef):
            return scope.value(node)
        if isinstance(node, Parameter):
            if node.index >= len(self._parameters):
                raise DataError(f"parameter {node.index + 1} is not given")
            return self._parameters[node.index]
        if isinstance(node, Binary):
            return self._binary(node, scope)
        if isinstance(node, Unary):
            return self._unary(node, scope)
        if isinstance(node, Call):
            return self._call(node, scope)
        if isinstance(node, Case):
            return self._case(node, scope)
        if isinstance(node, Cast):
            return cast(self.value(node.operand, scope), node.type)
        if isinstance(node, (Exists, ScalarQuery)):
            return self._subquery(node, scope)
        return self._test(node, scope)

    def _binary(self, node: Binary, scope: Scope) -> Scalar:
        left = self.value(node.left, scope)
        if node.operator in ("and", "or"):
            what = node.operator.upper()
            first = truth(left, what)
            if first is (node.operator == "or"):
                return first
            second = truth(self.value(node.right, scope), what)
            return both(first, second) if node.operator == "and" else either(first, second)
        right = self.value(node.right, scope)
        if node.operator == "||":
            return joined(left, right)
        if node.operator in ("+", "-", "*", "/", "%"):
            return arithmetic(node.operator, left, right)
        return holds(node.operator, left, right)

    def _unary(self, node: Unary, scope: Scope) -> Scalar:
        operand = self.value(node.operand, scope)
        if node.operator == "not":
            return opposite(truth(operand, "NOT"))
        if operand is None:
            return None
        found = number(operand, node.operator)
        return checked(-found) if node.operator == "-" else found

    def _test(self, node: Expression, scope: Scope) -> bool | None:
        """Return the result of IS NULL, BETWEEN, LIKE or IN."""
        assert isinstance(node, (IsNull, Between, Like, InList, InQuery))
        operand = self.value(node.operand, scope)
        if isinstance(node, IsNull):
            return (operand is None) is not node.negated
        if isinstance(node, Between):
            low = holds(">=", operand, self.value(node.low, scope))
            found = both(low, holds("<=", operand, self.value(node.high, scope)))
        elif isinstance(node, Like):
            escape = None if node.escape is None else self.value(node.escape, scope)
            found = matches(operand, self.value(node.pattern, scope), escape)
        elif isinstance(node, InList):
            found = _is_among(operand, [self.value(item, scope) for item in node.items])
        else:
            found = _is_among(operand, self._single_column(node.query, scope))
        return opposite(found) if node.negated else found

    def _single_column(self, query: Query, scope: Scope) -> list[Scalar]:
        labels, rows = self._answer(query, scope)
        if len(labels) != 1:
            raise SchemaError(f"the subquery has to have one column, it has {len(labels)}")
        return [row[0] for row in rows]

    def _subquery(self, node: Exists | ScalarQuery, scope: Scope) -> Scalar:
        if isinstance(node, Exists):
            return bool(self._answer(node.query, scope)[1])
        values = self._single_column(node.query, scope)
        if len(values) > 1:
            raise DataError(f"the subquery has to have one row, it has {len(values)}")
        return values[0] if values else None

    def _case(self, node: Case, scope: Scope) -> Scalar:
        subject = None if node.subject is None else self.value(node.subject, scope)
        for condition, result in node.branches:
            if node.subject is None:
                chosen = self.condition(condition, scope, "WHEN")
            else:
                chosen = holds("=", subject, self.value(condition, scope)) is True
            if chosen:
                return self.value(result, scope)
        return None if node.otherwise is None else self.value(node.otherwise, scope)

    def _call(self, node: Call, scope: Scope) -> Scalar:
        if not is_aggregate(node):
            if node.star or node.distinct:
                raise SchemaError(f"{node.name.upper()} is no function of groups")
            return functions.call(node.name, [self.value(one, scope) for one in node.arguments])
        if scope.group is None:
            raise SchemaError(f"{node.name.upper()} cannot stand here")
        check_call(node)
        if node.star:
            return len(scope.group)
        scopes = [scope.at(row) for row in scope.group]
        values = [self.value(node.arguments[0], one) for one in scopes]
        separator = self.value(node.arguments[1], scope) if len(node.arguments) > 1 else ","
        return aggregate(node.name, values, node.distinct, separator)


def _is_among(value: Scalar, others: Sequence[Scalar]) -> bool | None:
    """Return whether a value is one of others; NULL if that cannot be known."""
    found: bool | None = False
    for other in others:
        found = either(found, holds("=", value, other))
        if found:
            return True
    return found
