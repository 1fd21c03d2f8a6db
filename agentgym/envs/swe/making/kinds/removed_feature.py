"""A feature that is to be written anew: the body of a function is gone, its callers are not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.kinds.candidate import (
    Candidate,
    LibrarySource,
    body_without_docstring,
    is_public,
    spread,
)
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import SILENT_METHODS
from agentgym.support.random_stream import Stream
from agentgym.support.text_lines import split_lines

FEWEST_LINES, MOST_LINES = 5, 80
"""Lines of a body that is worth to be written anew, and that can be within an episode."""


def removed_feature(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield functions whose bodies are to be written anew.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for; all functions of a fitting size are yielded.
    """
    candidates = []
    for path, name, node in library.functions():
        if node.name in SILENT_METHODS or node.name == "__init__":
            continue
        edit = _emptied(library.sources[path], path, node)
        if edit is not None:
            request = f"`{name}`" if is_public(name) and not node.name.startswith("__") else ""
            candidates.append(Candidate("removed feature", name, ((edit,),), request))
    yield from spread(candidates, stream)


def _emptied(
    source: ParsedSource, path: str, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> Edit | None:
    """Return the edit that leaves signature and docstring; None if the size does not fit."""
    body = body_without_docstring(node)
    if not body:
        return None
    first, last = body[0], body[-1]
    decorators = getattr(first, "decorator_list", None) or [first]
    start = source.line_start(min(source.start(entry) for entry in (first, *decorators)))
    end = source.line_end(source.end(last))
    text = source.content[start:end].decode()
    lines = [line for line in split_lines(text) if line.strip()]
    shares = source.line_start(source.start(node)) == start  # def f(): return 1
    if shares or not FEWEST_LINES <= len(lines) <= MOST_LINES:
        return None
    indent = text[: len(text) - len(text.lstrip())]
    return Edit(path, start, text, f"{indent}raise NotImplementedError\n")
