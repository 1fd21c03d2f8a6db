"""Hidden tests: the edits that remove test functions from a repository and change nothing else."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import FUNCTIONS


def cutting_edits(folder: Path, tests: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edits that remove test functions from a repository.

    A function is removed with its decorators, the comments above it and all its parametrized cases;
    a class is removed if nothing but its docstring would be left. Tests that a class inherits are
    not removed. Files that cannot be read or parsed are skipped.

    Args:
        folder: The repository.
        tests: Ids of the tests, as pytest names them.
    """
    names: dict[str, set[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        names.setdefault(file, set()).add(name.partition("[")[0])
    edits: list[Edit] = []
    for file in sorted(names):
        try:
            source = ParsedSource((folder / file).read_bytes())
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        edits += (
            Edit(file, start, source.content[start:end].decode(), "")
            for start, end in _pieces(source, source.tree.body, "", names[file])
        )
    return tuple(edits)


def _pieces(
    source: ParsedSource, body: Sequence[ast.stmt], prefix: str, names: Collection[str]
) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of the tests with these names, in order."""
    for node in body:
        if isinstance(node, FUNCTIONS) and prefix + node.name in names:
            yield _lines(source, node)
        elif isinstance(node, ast.ClassDef):
            inner = f"{prefix}{node.name}::"
            cut = [child for child in node.body if _name(child, inner) in names]
            remaining = [child for child in node.body if child not in cut and not _is_text(child)]
            if cut and not remaining:
                yield _lines(source, node)
            else:
                yield from _pieces(source, node.body, inner, names)


def _lines(source: ParsedSource, node: ast.stmt) -> tuple[int, int]:
    """Return the byte range of a definition's lines.

    It includes the decorators and the comments and empty lines above them.
    """
    decorators = getattr(node, "decorator_list", [])
    first = min(source.start(part) for part in (node, *decorators))
    begin, end = source.line_start(first), source.line_end(source.end(node))
    definition = source.content[source.line_start(source.start(node)) : source.start(node)]
    while begin:
        above = source.line_start(begin - 1)
        line = source.content[above:begin]
        if line.strip() and not line.startswith(definition + b"#"):
            break
        begin = above
    return begin, end


def _name(node: ast.stmt, prefix: str) -> str:
    return prefix + node.name if isinstance(node, FUNCTIONS) else ""


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
