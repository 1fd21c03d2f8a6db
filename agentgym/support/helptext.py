"""The help of a command, from the docstrings under the fields of its arguments."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


def field_texts(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass, each as one paragraph."""
    return {name: text for base in reversed(cls.__mro__) for name, text in _docstrings(base)}


def value_name(hint: Any, name: str = "") -> str:
    """Write a type as what is typed for it, or as ``name`` where there is one."""
    choices = [choice for choice in get_args(hint) if choice is not NoneType]
    if get_origin(hint) in (Union, UnionType):
        forms = list(dict.fromkeys(value_name(choice, name) for choice in choices))
        shortest, *longer = sorted(forms, key=len)
        if not all(form.startswith(f"{shortest} ") for form in longer):
            return "|".join(forms)
        more = "".join(form.removeprefix(shortest) for form in longer)
        return f"{shortest} [{more.strip()}]" if more else shortest
    if get_origin(hint) is Literal:
        return "|".join(map(str, choices))
    if get_origin(hint) is tuple:
        if choices[-1] is Ellipsis:
            return f"{value_name(choices[0], name)} ..."
        return " ".join(map(value_name, choices))
    return name or {str: "TEXT", bool: "True|False"}.get(hint, hint.__name__.upper())


def is_marked(hint: Any, kind: Any) -> bool:
    """Return whether a type has a mark of the parser."""
    return any(mark in get_args(kind[str])[1:] for mark in get_args(hint)[1:])


def _docstrings(cls: type) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of the fields that a class itself declares, as one paragraph."""
    if not dataclasses.is_dataclass(cls):
        return
    definition = _classes(inspect.getsource(sys.modules[cls.__module__])).get(cls.__qualname__)
    for field, below in pairwise(definition.body if definition is not None else ()):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.replace("``", "`").split())


@lru_cache(maxsize=8)
def _classes(source: str) -> Mapping[str, ast.ClassDef]:
    """Return the classes of a module by their qualified names.

    Python would find the source of each by a syntax tree of the whole module.
    """
    classes: dict[str, ast.ClassDef] = {}

    def visit(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                classes[above + child.name] = child
                visit(child, f"{above}{child.name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                visit(child, f"{above}{child.name}.<locals>.")
            elif not isinstance(child, ast.expr):
                visit(child, above)

    visit(ast.parse(source), "")
    return classes
