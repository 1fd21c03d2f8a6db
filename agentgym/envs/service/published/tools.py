"""What a tool is, and the tools that both domains have."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.actions import ActionSpec, Param
from agentgym.actions.templates import call_templates
from agentgym.envs.service.published.rows import Rows

RESPOND, TRANSFER = "respond", "transfer_to_human_agents"
"""Names of the action that speaks to the customer, and of the tool that ends a conversation."""
LONGEST_SUM = 200
"""Maximum number of characters of an expression."""
_OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}  # fmt: skip


class Refusal(Exception):
    """A call that the database refuses; the message says why."""


@dataclass(frozen=True)
class Tool:
    """A tool of a domain."""

    spec: ActionSpec
    """Its action."""
    run: Callable[..., str]
    """Takes the database and the arguments by name; returns what it shows."""


def tool(run: Callable[..., str], description: str, *params: Param) -> Tool:
    """Make a tool from a function of its name."""
    name = run.__name__
    return Tool(ActionSpec(name, description, params, native=call_templates(name, params)), run)


def text(name: str, description: str = "", **settings: Any) -> Param:
    """Declare an argument that is a text."""
    return Param(name, description=description, verbatim="enum" not in settings, **settings)


def row_of(rows: Rows, table: str, key: object, noun: str) -> dict[str, Any]:
    """Return a row that is only read.

    Raises:
        Refusal: There is none.
    """
    row = rows.get(table, key)
    if row is None:
        raise Refusal(f"{noun} not found")
    return row


def written(value: object) -> str:
    """Write a row as a tool shows it."""
    return json.dumps(value)


def calculate(rows: Rows, expression: str) -> str:
    """Calculate a sum."""
    if len(expression) > LONGEST_SUM:
        raise Refusal(f"expected an expression of at most {LONGEST_SUM} characters")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
        return str(round(float(value), 2))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise Refusal(f"cannot calculate this: {error}") from error


def _value(node: ast.AST) -> float:
    """Return the value of an expression of numbers, without powers, which may be too large."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand))
    raise ValueError("expected numbers, + - * / and brackets")


def get_user_details(rows: Rows, user_id: str) -> str:
    """Show a customer."""
    return written(row_of(rows, "users", user_id, "user"))


def transfer_to_human_agents(rows: Rows, summary: str) -> str:
    """End the conversation."""
    return "Transfer successful"


SHARED = (
    tool(
        calculate, "Calculate a sum.",
        text("expression", "Numbers, + - * / and brackets."),
    ),
    tool(
        get_user_details, "Show a customer: name, address, payment methods.",
        text("user_id", "Id of the customer, such as 'sara_doe_496'."),
    ),
    tool(
        transfer_to_human_agents,
        "Transfer the customer to a human agent, which ends the conversation: only for what the "
        "policy does not let you do.",
        text("summary", "What the customer wants."),
    ),
)  # fmt: skip
"""The tools of every domain. tau-bench also has ``think``, which does nothing: agents think without
a tool."""
SPEAK = ActionSpec(
    RESPOND, "Say something to the customer, and hear the answer.",
    (text("content", "The message."),), native=call_templates(RESPOND, (text("content"),)),
)  # fmt: skip
