"""A function that was moved to another module, without an import that it needs there."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.making.kinds.candidate import Candidate, LibrarySource, spread
from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import FUNCTIONS
from agentgym.support.random_stream import Stream

_IMPORTS = (ast.Import, ast.ImportFrom)


def moved_function(library: LibrarySource, stream: Stream, count: int) -> Iterator[Candidate]:
    """Yield moves of functions that need a name which their new module does not import.

    The old module imports the function from the new one, so that everybody still finds it. The new
    module must not depend on the old one.

    Args:
        library: The library.
        stream: Where the draws come from.
        count: Tasks that are asked for; all moves are yielded.
    """
    modules = {path: _Module.of(path, source) for path, source in library.sources.items()}
    candidates = []
    for old in modules.values():
        for node in old.source.tree.body:
            if not isinstance(node, FUNCTIONS) or node.decorator_list:
                continue
            for new in modules.values():
                if _fits(modules, old, new):
                    candidates += [*_moves(old, new, node)]
    yield from spread(candidates, stream)


@dataclass(frozen=True)
class _Module:
    """A module of the library."""

    path: str
    source: ParsedSource
    name: str
    """As it is imported."""
    imports: dict[str, str]
    """Statement that imports each name on the top level."""
    bound: frozenset[str]
    """All names of the top level."""
    used: frozenset[str]
    """Modules that it imports from."""

    @classmethod
    def of(cls, path: str, source: ParsedSource) -> _Module:
        """Read a module."""
        imports, bound, used = dict[str, str](), set[str](), set[str]()
        for node in source.tree.body:
            if isinstance(node, _IMPORTS):
                for alias in node.names:
                    name = (alias.asname or alias.name).split(".")[0]
                    imports[name] = _one_import(node, alias)
                    bound.add(name)
            for part in ast.walk(node):
                if isinstance(part, ast.ImportFrom) and part.module:
                    used |= {part.module, *(f"{part.module}.{entry.name}" for entry in part.names)}
                elif isinstance(part, ast.Import):
                    used |= {entry.name for entry in part.names}
            bound |= {name for name in _bound(node)}
        parts = PurePosixPath(path).with_suffix("").parts
        parts = parts[1:] if parts[0] == "src" else parts
        return cls(path, source, ".".join(parts), imports, frozenset(bound), frozenset(used))

    @property
    def package(self) -> str:
        """The package that it is part of."""
        return self.name.rpartition(".")[0]

    @property
    def behind_imports(self) -> int:
        """Offset behind the last import of the top level, or behind the docstring."""
        body = self.source.tree.body
        last = max((n for n, node in enumerate(body) if isinstance(node, _IMPORTS)), default=-1)
        if last < 0:
            if ast.get_docstring(self.source.tree, clean=False) is None:
                return 0
            last = 0
        return self.source.line_end(self.source.end(body[last]))


def _fits(modules: dict[str, _Module], old: _Module, new: _Module) -> bool:
    """Return whether functions may move: to a neighbour that does not depend on the old module."""
    names = {entry.name: entry for entry in modules.values()}
    if old is new or not new.package or old.package != new.package or "__init__" in new.path:
        return False
    if not all(entry.source.content.endswith(b"\n") for entry in (old, new)):
        return False
    if any(name.startswith(".") for name in new.used):
        return False
    waiting, visited = [new.name], set[str]()
    while waiting:
        name = waiting.pop()
        if name in visited:
            continue
        visited.add(name)
        waiting += [used for used in names[name].used if used in names]
    return old.name not in visited


def _moves(
    old: _Module, new: _Module, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Candidate]:
    """Yield the move of a function, if it breaks by it and only in its body."""
    lines = old.source.own_lines(node)
    needed = _free_names(node) - set(dir(builtins))
    outside = needed & old.bound
    lazily = "annotations" in old.imports and "annotations" in new.imports
    hints = {
        part.id for hint in _hints(node) for part in ast.walk(hint) if isinstance(part, ast.Name)
    }
    if lines is None or node.name in new.bound or (not lazily and hints - set(dir(builtins))):
        return
    if outside - old.imports.keys() or _defaults(node) & outside:
        return  # it needs what the old module defines, or breaks when it is defined
    missing = sorted(name for name in outside if name not in new.bound)
    differ = [n for n in outside & new.bound if new.imports.get(n) != old.imports[n]]
    if not missing or differ:
        return
    text = old.source.content[slice(*lines)].decode()
    start, end = old.behind_imports, len(new.source.content)
    leave = (
        Edit(old.path, lines[0], text, ""),
        Edit(old.path, start, "", f"from {new.name} import {node.name}\n"),
        Edit(new.path, end, "", f"\n\n{text.strip(chr(10))}\n"),
    )
    if start > lines[0]:
        return
    imports = "".join(f"{line}\n" for line in dict.fromkeys(old.imports[n] for n in missing))
    repair = (Edit(new.path, new.behind_imports, "", imports),)
    yield Candidate("moved function", node.name, (leave,), repair=repair)


def _free_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return names that the body of a function reads; those that it binds may be among them."""
    hints = {id(part) for hint in _hints(node) for part in ast.walk(hint)}
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in hints
    }


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the type hints inside of a node."""
    for part in ast.walk(node):
        if isinstance(part, FUNCTIONS) and part.returns is not None:
            yield part.returns
        annotation = getattr(part, "annotation", None)
        if isinstance(annotation, ast.expr):
            yield annotation


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that the defaults of a function read."""
    values = filter(None, (*node.args.defaults, *node.args.kw_defaults))
    return {part.id for value in values for part in ast.walk(value) if isinstance(part, ast.Name)}


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of the top level binds, but for imports."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif not isinstance(node, _IMPORTS):
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
            elif isinstance(part, _IMPORTS):
                yield from ((entry.asname or entry.name).split(".")[0] for entry in part.names)


def _one_import(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the statement that imports one name out of those that stand together."""
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import([alias]))
    return ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
