"""Mathematics as a tree, before any calculation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Unreadable(ValueError):
    """A text is not supported mathematics; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written."""

    value: Fraction
    """Its value."""
    places: int | None = None
    """Number of digits after the decimal point; None for a whole number."""


@dataclass(frozen=True, slots=True)
class Name:
    """A letter, or a constant: ``pi``, ``e``, ``i``, ``oo``."""

    name: str
    """The letter, or the name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Two operands joined by ``+ - * / ^`` or ``mod``."""

    sign: str
    """The operator."""
    left: Node
    """The operand before the sign."""
    right: Node
    """The operand after it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments: ``sqrt``, ``floor``, ``!``, ``%`` and so on."""

    function: str
    """Its name."""
    arguments: tuple[Node, ...]
    """Its arguments."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several items: a set, a pair, an interval, a union, an equation."""

    kind: str
    """``set`` (in any order), ``union``, ``=`` and such, or the brackets around it: ``(]``."""
    items: tuple[Node, ...]
    """Its items."""


@dataclass(frozen=True, slots=True)
class Words:
    """Text that is an answer by itself: ``yes``, ``Tuesday``."""

    text: str
    """In lower case, with single blanks."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A quantity with its unit: ``5 cm``."""

    quantity: Node
    """The quantity."""
    unit: str
    """The unit."""


Node = Number | Name | Operation | Call | Group | Words | Measured
MINUS_ONE = Number(Fraction(-1))
"""What the parser multiplies by for a minus sign; no text reads as this number."""


def without_minus(node: Node) -> Node:
    """Return what stands behind a minus sign; a node without one as it is."""
    if isinstance(node, Operation) and node.sign == "*" and node.left == MINUS_ONE:
        return node.right
    return node
