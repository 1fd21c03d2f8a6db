"""The help of a command, from the docstrings under the fields of its arguments."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from tyro.conf import Positional, UseAppendAction, arg


def explain_fields(cls: type) -> None:
    """Give each field of a dataclass, and of those it nests, its docstring as help.

    The parser would read the docstrings by itself, but it keeps their line breaks, which cut the
    text of a terminal of any other width in pieces.

    Args:
        cls: A dataclass whose source can be read.
    """
    texts = field_texts(cls)
    for field in dataclasses.fields(cls):
        if field.name in texts:
            field.metadata = MappingProxyType({**field.metadata, "help": texts[field.name]})
        if dataclasses.is_dataclass(field.default_factory):
            explain_fields(field.default_factory)


def field_texts(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass, each as one paragraph."""
    return {name: text for base in reversed(cls.__mro__) for name, text in _docstrings(base)}


def name_values(cls: type) -> None:
    """Let the help of a dataclass show values as people write them, and defaults that tell much.

    By itself the parser shows ``{None}|PATH``, ``[[STR [STR ...]]]`` and ``(default: None)``.

    Args:
        cls: A dataclass without nested ones.
    """
    hints = get_type_hints(cls, include_extras=True)
    for name, hint in get_type_hints(cls).items():
        value = value_name(hint, name.upper() if is_marked(hints[name], Positional) else "")
        if is_marked(hints[name], UseAppendAction):
            value = value.removesuffix(" ...")  # one each time
        shown = arg(metavar=None if hint is bool else value, help_behavior_hint=_default)
        cls.__annotations__[name] = Annotated[hints[name], shown]


def value_name(hint: Any, name: str = "") -> str:
    """Write a type as what is typed for it, or as ``name`` where there is one."""
    choices = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) in (Union, UnionType):
        forms = list(dict.fromkeys(value_name(each, name) for each in choices))
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


def _default(shown: str) -> str:
    return "" if shown in ("", "''", "None", "False") else f"(default: {shown})"


def _docstrings(cls: type) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of the fields that a class itself declares, as one paragraph."""
    if not dataclasses.is_dataclass(cls):
        return
    definition = _classes(inspect.getsource(sys.modules[cls.__module__]))[cls.__qualname__]
    for field, below in pairwise(definition.body):
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
    found: dict[str, ast.ClassDef] = {}

    def visit(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[above + child.name] = child
                visit(child, f"{above}{child.name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                visit(child, f"{above}{child.name}.<locals>.")
            elif not isinstance(child, ast.expr):
                visit(child, above)

    visit(ast.parse(source), "")
    return found
