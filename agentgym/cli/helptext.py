"""The help of a command, from the docstrings under the fields of its arguments."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from types import MappingProxyType


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


def _docstrings(cls: type) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of the fields that a class itself declares, as one paragraph."""
    if not dataclasses.is_dataclass(cls):
        return
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.replace("``", "`").split())
