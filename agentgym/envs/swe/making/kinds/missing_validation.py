"""Input that is no longer checked: the guards of a function and what they raise are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource, spread
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.support.random_stream import Stream

MOST_GUARD_LINES = 12
"""Most lines of one guard."""


def missing_validation(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield functions without their guards: where there are several without all, and without each.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for; all guards are yielded.
    """
    several, single = [], []
    for path, name, node in library.functions():
        edits = [*_guards(library.sources[path], path, node)]
        if len(edits) > 1:
            parts = tuple((edit,) for edit in edits)
            several.append(Candidate("missing validation", name, parts))
        single += [Candidate("missing validation", name, ((edit,),)) for edit in edits]
    yield from spread(several, stream)
    yield from spread(single, stream)


def _guards(
    source: ParsedSource, path: str, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Edit]:
    """Yield the removal of every ``if`` that does nothing but raise."""
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or (isinstance(node, ast.If) and name == "orelse"):
                continue
            guards = [entry for entry in block if _is_guard(entry)]
            if len(guards) == len(block):  # something has to stay
                continue
            for entry in guards:
                lines = source.own_lines(entry)
                if lines is not None:
                    yield Edit(path, lines[0], source.content[slice(*lines)].decode(), "")


def _is_guard(node: ast.stmt) -> bool:
    """Return whether a statement is an ``if`` that raises and does nothing else."""
    if not isinstance(node, ast.If) or node.orelse or len(node.body) > 2:
        return False
    short = (node.end_lineno or node.lineno) - node.lineno < MOST_GUARD_LINES
    is_plain = all(isinstance(entry, (ast.Assign, ast.Raise)) for entry in node.body)
    return short and is_plain and isinstance(node.body[-1], ast.Raise)
