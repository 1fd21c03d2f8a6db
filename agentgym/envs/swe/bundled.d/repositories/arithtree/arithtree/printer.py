"""From a tree to text."""

from __future__ import annotations

from arithtree.parser import COMPARISONS, PRODUCTS, SUMS
from arithtree.tree import Binary, Call, Name, Node, Number, Unary

COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 7)


def to_text(node: Node) -> str:
    """Write a tree with as few parentheses as its shape allows.

    Args:
        node: The tree.

    Returns:
        A text that is read as the same tree.
    """
    if isinstance(node, Number):
        return str(node.value)
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Call):
        return f"{node.function}({', '.join(to_text(argument) for argument in node.arguments)})"
    if isinstance(node, Unary):
        return node.operator + _inside(node.operand, POWER)
    strength = _strength(node)
    if node.operator == "^":
        return f"{_inside(node.left, ATOM)} ^ {_inside(node.right, SIGN)}"
    if strength == COMPARISON:
        return f"{_inside(node.left, SUM)} {node.operator} {_inside(node.right, SUM)}"
    # These group to the left, so an operand of the same strength needs parentheses on the right.
    return f"{_inside(node.left, strength)} {node.operator} {_inside(node.right, strength + 1)}"


def _inside(node: Node, least: int) -> str:
    """Return the text of an operand, in parentheses if it binds less than ``least``."""
    text = to_text(node)
    return text if _strength(node) >= least else f"({text})"


def _strength(node: Node) -> int:
    """Return how strongly the outermost operator of a node binds."""
    if isinstance(node, Binary):
        if node.operator in COMPARISONS:
            return COMPARISON
        if node.operator in SUMS:
            return SUM
        return PRODUCT if node.operator in PRODUCTS else POWER
    if isinstance(node, Unary) or (isinstance(node, Number) and node.value < 0):
        return SIGN
    return ATOM
