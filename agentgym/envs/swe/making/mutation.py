"""Faults put into a Python library: every candidate, in an order drawn by a seed.

A fault is one edit of one file that leaves all other bytes as they are. The kinds follow those of
mutation testing and of SWE-smith's procedural modifications (Yang et al. 2025, arXiv 2504.21798).
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.faults import changes
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import changeable
from agentgym.support.random_stream import Stream

LONGEST_FILE = 400_000
"""Bytes of a source file beyond which it is left out: it was generated, or holds a table."""


@dataclass(frozen=True)
class Mutation:
    """One fault that can be put into a library."""

    kind: str
    """The kind of the fault."""
    place: str
    """Qualified name of the function that holds it."""
    edit: Edit
    """What makes it."""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What tells it from every other fault of the library, and orders them."""
        return self.edit.path, self.edit.start, self.edit.old, self.edit.new


def mutations_of(content: bytes, path: str) -> list[Mutation]:
    """Return every fault that a source file can be given, in the order of its bytes.

    Args:
        content: The file.
        path: Its path in the repository.

    Returns:
        Candidates, see :func:`is_fault`. None for what is no UTF-8 Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in the texts of other people
            source = ParsedSource(content)
        by_key = {entry.key: entry for entry in _mutations(source, path)}
    except (SyntaxError, UnicodeDecodeError, RecursionError):
        return []
    return [by_key[key] for key in sorted(by_key)]


def _mutations(source: ParsedSource, path: str) -> Iterator[Mutation]:
    """Yield the faults that a file can be given; some may come twice."""
    for place, node, above in changeable(source.tree):
        for change in changes(source, node, above):
            old = source.content[change.start : change.end].decode()
            yield Mutation(change.kind, place, Edit(path, change.start, old, change.new))


def is_fault(content: bytes, mutation: Mutation) -> bool:
    """Return whether a file with a fault is still Python, and another program than before."""
    mutant = apply_edits(content, [mutation.edit])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(mutant, "<mutant>", "exec", dont_inherit=True)
            return ast.dump(ast.parse(mutant)) != _program(content)
    except (SyntaxError, ValueError):
        return False


@lru_cache(maxsize=4)
def _program(content: bytes) -> str:
    """Return what a file says apart from its layout; many faults of one file are looked at."""
    return ast.dump(ast.parse(content))


def source_files(folder: Path, exclude: Iterable[str] = ()) -> list[str]:
    """Return the Python files of a repository that belong to its library, in order.

    Tests, documentation, examples, build scripts and hidden folders do not.

    Args:
        folder: The repository.
        exclude: Names of further folders and files to leave out.
    """
    leave_out = {*_NOT_LIBRARY, *exclude}
    paths = []
    for file in sorted(folder.rglob("*.py")):
        relative = file.relative_to(folder)
        parts = relative.parts
        tests = relative.name.startswith(("test_", "_test")) or relative.stem.endswith("_test")
        hidden = any(part.startswith(".") or part in leave_out for part in parts)
        if not tests and not hidden and file.is_file() and file.stat().st_size <= LONGEST_FILE:
            paths.append(relative.as_posix())
    return paths


_NOT_LIBRARY = frozenset(
    (
        "test",
        "tests",
        "testing",
        "doc",
        "docs",
        "example",
        "examples",
        "benchmark",
        "benchmarks",
        "bench",
        "build",
        "dist",
        "scripts",
        "tools",
        "vendor",
        "_vendor",
        "setup.py",
        "conftest.py",
        "noxfile.py",
        "versioneer.py",
        "_version.py",
        "__main__.py",
    )
)


def mutations(folder: Path, paths: Sequence[str]) -> list[Mutation]:
    """Return every fault that the files of a repository can be given, in order.

    Args:
        folder: The repository.
        paths: Its files, as :func:`source_files` lists them.
    """
    return [entry for path in paths for entry in mutations_of((folder / path).read_bytes(), path)]


def diverse(candidates: Sequence[Mutation], stream: Stream, count: int) -> Iterator[Mutation]:
    """Yield faults in a random order in which those that resemble earlier ones come late.

    The next fault is the one with the least ``a + 2 b + 3 c`` of all that are left: ``a`` faults
    of its file, ``b`` of its kind and ``c`` of its function were chosen before, each as a share of
    what is usual; of equals, the one drawn first. No two change the same bytes, and none of a
    kind stands twice in a function.

    Args:
        candidates: All of them.
        stream: Where the draws come from.
        count: Most faults to yield.
    """
    pool = stream.shuffled(candidates)
    files: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    for _ in range(min(count, len(pool))):
        if not pool:
            return
        costs = [
            files[entry.edit.path]
            + 2 * kinds[entry.kind]
            + 3 * places[entry.edit.path, entry.place]
            for entry in pool
        ]
        mutation = pool[costs.index(min(costs))]
        yield mutation
        files[mutation.edit.path] += 1
        kinds[mutation.kind] += 1
        places[mutation.edit.path, mutation.place] += 1
        pool = [entry for entry in pool if not _resemble(entry, mutation)]


def _resemble(left: Mutation, right: Mutation) -> bool:
    """Return whether two faults are at the same bytes, or of a kind in the same function."""
    if left.edit.path != right.edit.path:
        return False
    if left.place == right.place and left.kind == right.kind:
        return True
    ends = [entry.edit.start + len(entry.edit.old.encode()) for entry in (left, right)]
    return left.edit.start <= ends[1] and right.edit.start <= ends[0]
