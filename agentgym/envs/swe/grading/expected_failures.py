"""Find the tests whose own source marks them as expected failures (xfail)."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

_EXPECTED = re.compile(r"xfail|expectedfailure", re.IGNORECASE)


def expected_failures(text: str) -> frozenset[str]:
    """Return the names of functions and classes in a test file that are marked as xfail.

    A function is marked by a decorator, a mark of one of its parametrized cases, or a call in its
    body; a class by a decorator or its ``pytestmark``; everything by the module's ``pytestmark``.

    Args:
        text: The file. If this Python cannot parse it, the result is empty.
    """
    if not _EXPECTED.search(text):
        return frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    everything = _marks(tree.body)
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and (everything or any(map(_says, _deciding(node))))
    )


def is_expected(test: str, names: Collection[str]) -> bool:
    """Return whether the id of a test, in the style of any runner, contains one of the names.

    Args:
        test: The id, such as ``tests/test_a.py::TestB::test_c[1]`` or ``test_c (app.tests.TestB)``.
        names: Return value of :func:`expected_failures`.
    """
    return any(word in names for word in re.findall(r"\w+", test.partition("[")[0]))


def _deciding(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[ast.AST]:
    yield from node.decorator_list
    yield from _own_marks(node.body) if isinstance(node, ast.ClassDef) else node.body


def _own_marks(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the assignments of ``pytestmark`` among statements."""
    return [
        statement
        for statement in body
        if isinstance(statement, ast.Assign) and "pytestmark" in map(ast.unparse, statement.targets)
    ]


def _marks(body: Sequence[ast.stmt]) -> bool:
    return any(map(_says, _own_marks(body)))


def _says(node: ast.AST) -> bool:
    return _EXPECTED.search(ast.unparse(node)) is not None
