r"""Tell a value in lowest form from one that is left to calculate.

The check of answers calculates, so without this rule ``floor((7+66)/13)``, the question in other
signs, would be paid like ``5``, and reward would teach to transcribe instead of to calculate.
"""

from __future__ import annotations

import math

from agentgym.envs.mathpython.engine.tree import (
    Group,
    Measured,
    Node,
    Number,
    Operation,
    without_minus,
)


def in_lowest_form(node: Node) -> bool:
    r"""Return whether an answer is a calculated value.

    ``7``, ``-0.5``, ``\frac{7}{2}`` and sets, pairs and quantities of these are; ``3 + 4``,
    ``14/2``, ``7/1``, ``3\frac{1}{2}``, ``\sqrt{49}``, ``7 \cdot 10^2`` and ``50%`` are not.
    """
    if isinstance(node, Group):
        return all(map(in_lowest_form, node.items))
    if isinstance(node, Measured):
        return in_lowest_form(node.quantity)
    unsigned = without_minus(node)
    if isinstance(unsigned, Number):
        return True
    if not isinstance(unsigned, Operation) or unsigned.sign != "/":
        return False
    top = unsigned.left if unsigned is not node else without_minus(unsigned.left)
    return _reduced(top, unsigned.right)


def _reduced(top: Node, bottom: Node) -> bool:
    """Return whether a fraction of whole numbers cannot be reduced."""
    if not isinstance(top, Number) or not isinstance(bottom, Number):
        return False
    are_whole = top.places is None and bottom.places is None and bottom.value > 1
    return are_whole and math.gcd(top.value.numerator, bottom.value.numerator) == 1
