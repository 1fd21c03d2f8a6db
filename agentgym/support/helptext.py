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
    texts = {name: text for base in reversed(cls.__mro__) for name, text in _docstrings(base)}
    for field in dataclasses.fields(cls):
        if field.name in texts:
            field.metadata = MappingProxyType({**field.metadata, "help": texts[field.name]})
        if dataclasses.is_dataclass(field.default_factory):
            explain_fields(field.default_factory)


def name_values(cls: type) -> None:
    """Let the help of a dataclass show values as people write them, and defaults that tell much.

    By itself the parser shows ``{None}|PATH``, ``[[STR [STR ...]]]`` and ``(default: None)``.

    Args:
        cls: A dataclass without nested ones.
    """
    hints = get_type_hints(cls, include_extras=True)
    for name, hint in get_type_hints(cls).items():
        value = _value(hint, name.upper() if _marked(hints[name], Positional) else "")
        if _marked(hints[name], UseAppendAction):
            value = value.removesuffix(" ...")  # one each time
        shown = arg(metavar=None if hint is bool else value, help_behavior_hint=_default)
        cls.__annotations__[name] = Annotated[hints[name], shown]


def _value(hint: Any, name: str = "") -> str:
    """Write a type as what is typed for it, by a name of its own if it has one."""
    choices = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) in (Union, UnionType):
        shortest, *longer = sorted((_value(each, name) for each in choices), key=len)
        more = "".join(each.removeprefix(shortest) for each in longer)
        return f"{shortest} [{more.strip()}]" if more else shortest
    if get_origin(hint) is Literal:
        return f"{{{','.join(map(str, choices))}}}"
    if get_origin(hint) is tuple:
        if choices[-1] is Ellipsis:
            return f"{_value(choices[0], name)} ..."
        return " ".join(map(_value, choices))
    return name or {str: "TEXT", bool: "{True,False}"}.get(hint, hint.__name__.upper())


def _marked(hint: Any, kind: Any) -> bool:
    """Return whether a type has a mark of the parser."""
    return any(mark in get_args(kind[str]) for mark in get_args(hint)[1:])


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
