"""The tree of a formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CellAddress
from cellmill.values.kinds import ErrorValue


@dataclass(frozen=True)
class Constant:
    """A number, a text, a truth value or an error, as it stands in the formula."""

    value: float | str | bool | ErrorValue


@dataclass(frozen=True)
class CellNode:
    """A cell; ``sheet`` is empty if it lies on the sheet of the formula."""

    cell: CellAddress
    sheet: str = ""

    @property
    def area(self) -> Area:
        """The cell as an area."""
        return Area.between(self.cell, self.cell)


@dataclass(frozen=True)
class AreaNode:
    """An area, by the two corners that are written."""

    first: CellAddress
    last: CellAddress
    sheet: str = ""

    @property
    def area(self) -> Area:
        """The area that the corners span."""
        return Area.between(self.first, self.last)


@dataclass(frozen=True)
class NameNode:
    """A name that the workbook defines."""

    name: str


@dataclass(frozen=True)
class Call:
    """A function with its arguments; an argument that is left out is None."""

    function: str
    arguments: tuple[Node | None, ...]


@dataclass(frozen=True)
class Unary:
    """A sign before an operand."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Percent:
    """An operand with ``%`` behind it."""

    operand: Node


@dataclass(frozen=True)
class Binary:
    """Two operands and what stands between them."""

    operator: str
    left: Node
    right: Node


Node = Union[Constant, CellNode, AreaNode, NameNode, Call, Unary, Percent, Binary]  # noqa: UP007


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node, from left to right."""
    if isinstance(node, Call):
        return tuple(argument for argument in node.arguments if argument is not None)
    if isinstance(node, (Unary, Percent)):
        return (node.operand,)
    if isinstance(node, Binary):
        return node.left, node.right
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, each before those below it."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(children(found)))


def height(node: Node) -> int:
    """Return the number of nodes on the longest way down."""
    highest = 0
    waiting = [(node, 1)]
    while waiting:
        found, depth = waiting.pop()
        highest = max(highest, depth)
        waiting.extend((child, depth + 1) for child in children(found))
    return highest
