"""Repairs that an issue, or a look at the source, suggests: they are tried before single tokens.

Typed by ``IssueSearch`` into a box and run there; nothing on the host imports it.
"""

from __future__ import annotations

import ast
import builtins
import dis
import re
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Change = tuple[str, tuple[int, int, int, str]]
MOST_GUARDED = 6
_RENAMED = re.compile(r"`(\w+)`[^.]*? should be called `(\w+)`")
_WANTED_ERROR = re.compile(r"(?:expect|should)[^`]{0,40}`+\n?(\w+): ([^`\n]*)", re.IGNORECASE)
_CONDITIONS = (
    "not {0}", "{0} is None", "{0} < 0", "{0} <= 0", "{0} < 1", "not isinstance({0}, str)",
    "not isinstance({0}, int)", "isinstance({0}, bool)", "len({0}) != 1", "len({0}) == 0",
)  # fmt: skip
_IMPORTS = (ast.Import, ast.ImportFrom)


def rename(issue: str, paths: Sequence[str], passing: Callable[[], set[str]]) -> bool:
    """Give a parameter the name that the issue asks for; return whether no test breaks by it."""
    match = _RENAMED.search(issue)
    if match is None:
        return False
    old_texts, passed = {path: read(path) for path in paths}, passing()
    for path, text in old_texts.items():
        write(path, re.sub(rf"\b{match[1]}\b", match[2], text))
    if passed <= passing():
        return True
    for path, text in old_texts.items():
        write(path, text)
    return False


def repairs(issue: str, hot: list[list[Any]], paths: Sequence[str]) -> list[Change]:
    """Return imports that modules lack, then checks of what functions get that tests call."""
    return [*imports(paths), *guards(issue, hot)]


def imports(paths: Sequence[str]) -> Iterator[Change]:
    """Yield for each module the imports of names that it uses and nobody defines."""
    trees = {path: ast.parse(read(path)) for path in paths}
    statements = _collect_imports(trees)
    for path, tree in trees.items():
        code = compile(read(path), path, "exec")
        bound = {*dir(builtins), *_bound(tree), "__file__", "__name__"}
        lines = sorted(
            {statements[n] for n in _globals(code) if n not in bound and n in statements}
        )
        if lines:
            ends = (node.end_lineno or 1 for node in tree.body if isinstance(node, _IMPORTS))
            yield path, (max(ends, default=1) + 1, 0, 0, "".join(f"{line}\n" for line in lines))


def guards(issue: str, hot: list[list[Any]]) -> Iterator[Change]:
    """Yield checks at the head of the functions that failing tests call most."""
    match = _WANTED_ERROR.search(issue)
    for path, line, _score in sorted(hot, key=lambda entry: -entry[2])[:MOST_GUARDED]:
        tree = ast.parse(read(path))
        error, message = match.groups() if match else (_usual_error(tree), "invalid value")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _first_line(node) == line:
                for check in _checks(node, f"raise {error}({message!r})"):
                    body = node.body[ast.get_docstring(node) is not None :] or node.body
                    indent = " " * body[0].col_offset
                    text = "".join(f"{indent}{row}\n" for row in check)
                    yield path, (body[0].lineno, 0, 0, text)


def _first_line(node: ast.FunctionDef) -> int:
    """Return the line at which a function begins, its decorators included."""
    return min([node.lineno, *(part.lineno for part in node.decorator_list)])


def _checks(node: ast.FunctionDef, raising: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a check of each parameter."""
    for argument in (*node.args.args, *node.args.kwonlyargs):
        for condition in _CONDITIONS if argument.arg not in ("self", "cls") else ():
            yield f"if {condition.format(argument.arg)}:", f"    {raising}"


def read(path: str) -> str:
    """Return the text of a file."""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def write(path: str, text: str) -> None:
    """Write a file at once."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _globals(code: types.CodeType) -> Iterator[str]:
    """Yield the global names that code reads."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _globals(part)


def _bound(tree: ast.Module) -> set[str]:
    """Return every name that a module binds anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, _IMPORTS):
            names |= {(part.asname or part.name).split(".")[0] for part in node.names}
    return names


def _collect_imports(trees: dict[str, ast.Module]) -> dict[str, str]:
    """Return the statement that imports each name which a module of the package has."""
    statements: dict[str, str] = {}
    for path, tree in trees.items():
        module = path.removesuffix(".py").replace("/", ".").removeprefix("src.")
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                statements[node.name] = f"from {module} import {node.name}"
    for tree in trees.values():
        for node in tree.body:
            for part in node.names if isinstance(node, _IMPORTS) else ():
                alone: ast.stmt = ast.Import([part])
                if isinstance(node, ast.ImportFrom):
                    alone = ast.ImportFrom(node.module, [part], node.level)
                statements.setdefault((part.asname or part.name).split(".")[0], ast.unparse(alone))
    return statements


def _usual_error(tree: ast.Module) -> str:
    """Return the exception that a module raises most."""
    raised = Counter(
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
    )
    return raised.most_common(1)[0][0] if raised else "ValueError"
