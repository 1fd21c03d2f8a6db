"""Mathematics as a tree: what a text says, before anything is calculated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Unreadable(ValueError):
    """A text is no mathematics that is known here; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written."""

    value: Fraction
    """Its value."""
    places: int | None = None
    """Digits behind its decimal point; None for a whole number."""


@dataclass(frozen=True, slots=True)
class Name:
    """A letter, or a constant: ``pi``, ``e``, ``i``, ``oo``."""

    name: str
    """The letter, or the name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Two things joined by ``+ - * / ^`` or ``mod``."""

    sign: str
    """How they are joined."""
    left: Node
    """What stands before the sign."""
    right: Node
    """What stands behind it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments: ``sqrt``, ``floor``, ``!``, ``%`` and so on."""

    function: str
    """Its name."""
    arguments: tuple[Node, ...]
    """What it is of."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several things: a set, a pair, an interval, a union, an equation."""

    kind: str
    """``set`` (in any order), ``union``, ``=`` and such, or the brackets around it: ``(]``."""
    items: tuple[Node, ...]
    """What it holds."""


@dataclass(frozen=True, slots=True)
class Words:
    """Text that is an answer by itself: ``yes``, ``Tuesday``."""

    text: str
    """In lower case, with single blanks."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A quantity with the word behind it: ``5 cm``."""

    quantity: Node
    """How many."""
    unit: str
    """Of what."""


Node = Number | Name | Operation | Call | Group | Words | Measured
