"""Which nodes of a Python syntax tree a mutation may change without being trivial or invisible."""

from __future__ import annotations

import ast
from collections.abc import Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COSMETIC_KEYWORDS = frozenset(("stacklevel", "maxsize", "indent", "file", "flush", "category"))
"""Keyword arguments that affect presentation or speed only: no test notices a change of them."""
SILENT_METHODS = frozenset(("__hash__", "__repr__", "__sizeof__", "__dir__", "__del__"))
"""Methods in which a fault would hardly be noticed by a user."""


def changeable(tree: ast.Module) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    """Yield the nodes that may be mutated: those that affect the behaviour of a function.

    Excluded are f-strings, type hints, decorators, assertions, ``raise`` statements, branches for
    type checkers, overloads and abstract methods, and all code outside of functions.

    Args:
        tree: The module.

    Yields:
        The qualified name of the function, the node, and its ancestors from the function down.
    """
    yield from _definitions(tree.body, "")


def _definitions(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    """Yield the nodes of all functions in classes and top-level branches."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, FUNCTIONS):
            if node.name not in SILENT_METHODS and not _is_overload(node):
                name = prefix + node.name
                for child in _parts(node):
                    yield from _walk(name, child, (node,))
        elif isinstance(node, (ast.If, ast.Try)) and not _never_runs(node):
            yield from _definitions(node.body + node.orelse, prefix)


def _walk(
    name: str, node: ast.AST, above: tuple[ast.AST, ...]
) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    yield name, node, above
    for child in _parts(node):
        yield from _walk(name, child, (*above, node))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node that may be mutated."""
    if isinstance(node, (ast.JoinedStr, ast.Assert, ast.Raise)) or _never_runs(node):
        return
    if isinstance(node, FUNCTIONS):
        yield from filter(None, (*node.args.defaults, *node.args.kw_defaults))
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        yield from filter(None, (node.value,))
    elif isinstance(node, ast.Call):
        yield from _call_parts(node)
    else:
        yield from ast.iter_child_nodes(node)


def _call_parts(node: ast.Call) -> Iterator[ast.AST]:
    """Yield the function and the arguments of a call, without types and cosmetic keywords."""
    yield node.func
    if isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar", "NewType"):
        yield from node.args[1:]
        return
    yield from node.args
    yield from (entry.value for entry in node.keywords if entry.arg not in COSMETIC_KEYWORDS)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(entry, "attr", getattr(entry, "id", "")) for entry in node.decorator_list}
    return bool(names & {"overload", "abstractmethod"})


def _never_runs(node: ast.AST) -> bool:
    """Return whether a node is an ``if`` on ``TYPE_CHECKING`` or ``__name__``."""
    if not isinstance(node, ast.If):
        return False
    names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node.test)}
    return bool(names & {"TYPE_CHECKING", "__name__"})
