"""The proposals of every kind of task: edits that make a fault, and possibly a request."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agentgym.envs.swe.edits import edited_files
from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.mutation import source_files
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import FUNCTIONS
from agentgym.support.random_stream import Stream


@dataclass(frozen=True)
class Candidate:
    """A change of a sound repository of which a task may be made."""

    kind: str
    """The kind of the fault, in words."""
    place: str
    """Qualified name of the function that it is about."""
    parts: tuple[tuple[Edit, ...], ...]
    """The edits, in groups each of which has to be noticed by some test."""
    request: str = ""
    """The request, where no symptom can express it; the issue contains it."""
    repair: tuple[Edit, ...] = ()
    """Edits of the faulty files that a maintainer would make; none: the fault is taken back."""
    releases: tuple[str, str] = ("", "")
    """The last release without the fault, and the one with it; the issue names them."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits that make the fault."""
        return tuple(edit for part in self.parts for edit in part)

    @property
    def key(self) -> tuple[str | int, ...]:
        """Its key among the candidates of the library."""
        return tuple(
            value for edit in self.edits for value in (edit.path, edit.start, edit.old, edit.new)
        )


@dataclass(frozen=True)
class LibrarySource:
    """The sound source of a library, parsed once for all kinds of tasks."""

    folder: Path
    """The repository."""
    sources: Mapping[str, ParsedSource] = field(default_factory=dict)
    """The files of the library by path, without those that are no UTF-8 Python."""
    regressions: Path | None = None
    """Folder of patches, each of which puts a regression into the library."""
    release_before: str = ""
    """The release in which these regressions were not yet."""

    @classmethod
    def read(
        cls, folder: Path, regressions: Path | None = None, release_before: str = ""
    ) -> LibrarySource:
        """Parse the library that lies in a folder.

        Args:
            folder: The folder.
            regressions: Folder of patches, each of which puts a regression into it.
            release_before: The release in which these regressions were not yet.
        """
        sources = {}
        for path in source_files(folder):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of escapes in the texts of other people
                    sources[path] = ParsedSource((folder / path).read_bytes())
            except (SyntaxError, UnicodeDecodeError, RecursionError):
                continue
        return cls(folder, sources, regressions, release_before)

    @cached_property
    def tests(self) -> str:
        """The text of all tests, to look for names in."""
        files = sorted(self.folder.rglob("*test*.py"))
        return "\n".join(file.read_text("utf-8", "replace") for file in files if file.is_file())

    def changed(self, candidate: Candidate) -> bool:
        """Return whether each file that is edited is still Python, and another program."""
        try:
            changed_files = edited_files(lambda path: self.sources[path].content, candidate.edits)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return all(
                    ast.dump(ast.parse(content)) != ast.dump(self.sources[path].tree)
                    for path, content in changed_files.items()
                )
        except (SyntaxError, ValueError):
            return False

    def functions(self) -> Iterator[tuple[str, str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield path, qualified name and node of every function and method, in order."""
        for path, source in self.sources.items():
            for name, node in _functions(source.tree.body, ""):
                yield path, name, node


Propose = Callable[[LibrarySource, Stream, int], Iterator[Candidate]]
"""Yields candidates of a library in an order drawn by the stream, for so many tasks at most."""


def spread(candidates: list[Candidate], stream: Stream) -> Iterator[Candidate]:
    """Yield candidates in random order, those of files already used late."""
    pool = stream.shuffled(candidates)
    turns: dict[str, int] = {}
    while pool:
        costs = [sum(turns.get(path, 0) for path in _paths(entry)) for entry in pool]
        candidate = pool.pop(costs.index(min(costs)))
        for path in _paths(candidate):
            turns[path] = turns.get(path, 0) + 1
        yield candidate


def body_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """Return the statements of a function behind its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def is_public(name: str) -> bool:
    """Return whether a qualified name is one that users know; special methods are."""
    parts = name.split(".")
    return all(not part.startswith("_") or part.endswith("__") for part in parts)


def _paths(candidate: Candidate) -> set[str]:
    return {edit.path for edit in candidate.edits}


def _functions(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
