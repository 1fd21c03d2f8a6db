"""From a tree back to a text, with as few brackets as possible."""

from __future__ import annotations

import re

from cellmill.formulas.nodes import (
    AreaNode,
    Binary,
    Call,
    CellNode,
    Constant,
    NameNode,
    Node,
    Percent,
    Unary,
)
from cellmill.formulas.parser import BINDING
from cellmill.values.conversion import to_text

_SIGN = 6
_POSTFIX = 7
_PLAIN_SHEET = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def formula_text(node: Node) -> str:
    """Return the formula of a tree, with its equals sign."""
    return "=" + _text(node, 0)


def _text(node: Node, least: int) -> str:
    """Return a node, in brackets if it binds less strongly than ``least``."""
    if isinstance(node, Binary):
        strength = BINDING[node.operator]
        left, right = _text(node.left, strength), _text(node.right, strength + 1)
        gap = "" if node.operator == "^" else " "
        text = f"{left}{gap}{node.operator}{gap}{right}"
    elif isinstance(node, Unary):
        strength = _SIGN
        text = node.operator + _text(node.operand, _SIGN)
    elif isinstance(node, Percent):
        strength = _POSTFIX
        text = _text(node.operand, _POSTFIX) + "%"
    else:
        return _leaf(node)
    return f"({text})" if strength < least else text


def _leaf(node: Node) -> str:
    if isinstance(node, CellNode):
        return sheet_prefix(node.sheet) + str(node.cell)
    if isinstance(node, AreaNode):
        return f"{sheet_prefix(node.sheet)}{node.first}:{node.last}"
    if isinstance(node, Call):
        arguments = ("" if argument is None else _text(argument, 0) for argument in node.arguments)
        return f"{node.function}({', '.join(arguments)})"
    if isinstance(node, NameNode):
        return node.name
    assert isinstance(node, Constant)
    if isinstance(node.value, str):
        escaped = node.value.replace('"', '""')
        return f'"{escaped}"'
    if isinstance(node.value, float):
        return repr(node.value)
    return to_text(node.value)


def sheet_prefix(sheet: str) -> str:
    """Return what stands before a cell of another sheet; nothing for the own one."""
    if not sheet:
        return ""
    if _PLAIN_SHEET.fullmatch(sheet):
        return sheet + "!"
    escaped = sheet.replace("'", "''")
    return f"'{escaped}'!"
