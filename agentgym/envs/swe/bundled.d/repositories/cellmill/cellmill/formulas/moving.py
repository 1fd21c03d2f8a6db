"""Trees whose references moved: copied formulas, and rows and columns put in or taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cellmill.addresses.cells import CellAddress
from cellmill.addresses.lines import LineChange
from cellmill.formulas.nodes import (
    AreaNode,
    Binary,
    Call,
    CellNode,
    Constant,
    Node,
    Percent,
    Unary,
)
from cellmill.formulas.parser import parse
from cellmill.formulas.printer import formula_text
from cellmill.values.kinds import ErrorValue

Change = Callable[[CellNode | AreaNode], Node]
"""What becomes of a reference."""
LOST = Constant(ErrorValue.REF)
"""What stands where a reference was whose cells are gone."""


def moved_formula(text: str, rows: int, columns: int) -> str:
    """Return a formula as it reads when it is copied further down or to the right.

    Args:
        text: The formula.
        rows: By how many rows it goes down; negative for up.
        columns: By how many columns it goes to the right; negative for left.

    Raises:
        FormulaError: The text is no formula.
    """
    return formula_text(moved(parse(text), rows, columns))


def moved(node: Node, rows: int, columns: int) -> Node:
    """Return a tree as it is when its formula is copied; see :func:`moved_formula`."""

    def change(found: CellNode | AreaNode) -> Node:
        if isinstance(found, CellNode):
            cell = found.cell.moved(rows, columns)
            return LOST if cell is None else replace(found, cell=cell)
        first, last = found.first.moved(rows, columns), found.last.moved(rows, columns)
        if first is None or last is None:
            return LOST
        return replace(found, first=first, last=last)

    return changed(node, change)


def with_lines(
    node: Node, lines: LineChange, of_rows: bool, concerns: Callable[[str], bool]
) -> Node:
    """Return a tree as it is after lines were put in or taken out.

    Args:
        node: The tree.
        lines: The change.
        of_rows: Whether the lines are rows; else they are columns.
        concerns: Says whether a reference with this name of a sheet is to the changed sheet.
    """

    def change(found: CellNode | AreaNode) -> Node:
        if not concerns(found.sheet):
            return found
        if isinstance(found, CellNode):
            place = lines.place(_line(found.cell, of_rows))
            return LOST if place is None else replace(found, cell=_at(found.cell, place, of_rows))
        first, last = sorted((found.first, found.last), key=lambda cell: _line(cell, of_rows))
        span = lines.span(_line(first, of_rows), _line(last, of_rows))
        if span is None:
            return LOST
        return replace(found, first=_at(first, span[0], of_rows), last=_at(last, span[1], of_rows))

    return changed(node, change)


def renamed(node: Node, old: str, new: str) -> Node:
    """Return a tree in which a sheet has another name."""

    def change(found: CellNode | AreaNode) -> Node:
        same = found.sheet.casefold() == old.casefold()
        return replace(found, sheet=new) if found.sheet and same else found

    return changed(node, change)


def changed(node: Node, change: Change) -> Node:
    """Return a tree with every reference replaced by what ``change`` makes of it."""
    if isinstance(node, (CellNode, AreaNode)):
        return change(node)
    if isinstance(node, Call):
        arguments = tuple(
            None if argument is None else changed(argument, change) for argument in node.arguments
        )
        return replace(node, arguments=arguments)
    if isinstance(node, (Unary, Percent)):
        return replace(node, operand=changed(node.operand, change))
    if isinstance(node, Binary):
        return replace(node, left=changed(node.left, change), right=changed(node.right, change))
    return node


def _line(cell: CellAddress, of_rows: bool) -> int:
    return cell.row if of_rows else cell.column


def _at(cell: CellAddress, line: int, of_rows: bool) -> CellAddress:
    return replace(cell, row=line) if of_rows else replace(cell, column=line)
