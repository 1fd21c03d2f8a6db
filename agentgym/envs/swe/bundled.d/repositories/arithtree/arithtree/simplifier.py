"""Smaller trees of the same value."""

from __future__ import annotations

from arithtree.evaluator import EvaluationError, evaluate
from arithtree.tree import Binary, Call, Node, Number, Unary

ZERO = Number(0)
ONE = Number(1)


def simplify(node: Node) -> Node:
    """Return a tree of the same value with fewer nodes.

    Operators between numbers are computed if the result is whole; neutral operands (``x + 0``,
    ``x * 1``, ``x ^ 1``) and double signs are removed; ``x * 0`` and ``x - x`` become 0,
    ``x ^ 0`` becomes 1, and ``x + -y`` becomes ``x - y``. What would raise an error when it is
    evaluated stays as it is.

    Args:
        node: The tree.

    Returns:
        The new tree; the old one is not changed.
    """
    if isinstance(node, Unary):
        operand = simplify(node.operand)
        if isinstance(operand, Unary):
            return operand.operand
        return Number(-operand.value) if isinstance(operand, Number) else Unary("-", operand)
    if isinstance(node, Call):
        return Call(node.function, tuple(simplify(argument) for argument in node.arguments))
    if isinstance(node, Binary):
        return _simplify_binary(Binary(node.operator, simplify(node.left), simplify(node.right)))
    return node


def _simplify_binary(node: Binary) -> Node:
    """Simplify an operator whose operands are simple already."""
    operator, left, right = node.operator, node.left, node.right
    if isinstance(left, Number) and isinstance(right, Number):
        return _computed(node)
    if operator == "+":
        if left == ZERO:
            return right
        if right == ZERO:
            return left
        if isinstance(right, Unary):
            return _simplify_binary(Binary("-", left, right.operand))
    elif operator == "-":
        if right == ZERO:
            return left
        if left == right:
            return ZERO
        if left == ZERO:
            return Unary("-", right)
        if isinstance(right, Unary):
            return _simplify_binary(Binary("+", left, right.operand))
    elif operator == "*":
        if ZERO in (left, right):
            return ZERO
        if left == ONE:
            return right
        if right == ONE:
            return left
    elif operator in ("/", "^") and right == ONE:
        return left
    elif operator == "^" and right == ZERO:
        return ONE
    return node


def _computed(node: Binary) -> Node:
    """Return the value of an operator between numbers, or the node if it has no whole one."""
    try:
        value = evaluate(node)
    except EvaluationError:
        return node
    return Number(int(value)) if value == int(value) else node
