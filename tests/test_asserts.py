"""An assert tells readers and the type checker what holds; it judges nothing from outside.

``python -O`` removes it, and raised on the text of a model it ends a run in place of a turn.
"""

from __future__ import annotations

import ast

import pytest

from tests.test_layers import modules

INVARIANTS = {"trainers.methods.async_rollouts.producer"}
"""Where an assert compares two numbers of our own."""
PLACES = {
    name: path
    for package in ("agentgym", "trainers")
    for name, path in modules(package).items()
    if name not in INVARIANTS
}


def narrows(test: ast.expr) -> bool:
    """Return whether a condition only narrows a type."""
    if isinstance(test, ast.BoolOp):
        return all(map(narrows, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(operator, ast.Is | ast.IsNot) for operator in test.ops)
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and (test.func.id == "isinstance")
    )


@pytest.mark.parametrize("package", ["agentgym", "trainers"])
def test_asserts_only_narrow_types(package: str) -> None:
    asserts = [
        f"{name}:{node.lineno}"
        for name, path in PLACES.items()
        if name.split(".")[0] == package and "assert" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assert) and not narrows(node.test)
    ]
    assert asserts == []
