"""The nodes of an expression's tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Number:
    """A number."""

    value: int | float


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True)
class Unary:
    """A sign before an operand; the only one that is kept is ``-``."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary:
    """An operator between two operands."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    function: str
    arguments: tuple[Node, ...]


Node = Union[Number, Name, Unary, Binary, Call]  # noqa: UP007 (evaluated on every Python)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node, from left to right."""
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Call):
        return node.arguments
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, each before its own children."""
    yield node
    for child in children(node):
        yield from walk(child)


def variables(node: Node) -> list[str]:
    """Return the names of the variables of a tree, each once, in the order of the text."""
    return list(dict.fromkeys(part.name for part in walk(node) if isinstance(part, Name)))
