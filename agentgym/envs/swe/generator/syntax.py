"""Python source by byte offsets: where a syntax node stands, and what may be changed there."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COSMETIC_KEYWORDS = frozenset(("stacklevel", "maxsize", "indent", "file", "flush", "category"))
"""Keyword arguments that change no result, or only how fast it comes."""
SILENT_METHODS = frozenset(("__hash__", "__repr__", "__sizeof__", "__dir__", "__del__"))
"""Methods whose faults no user reports."""
# Before 3.11.9 and 3.12.3 Python mixes up the depths of trees that threads build at once, and
# raises a SystemError (python/cpython#106905).
_parsing = threading.Lock()
_CLOSING = re.compile(rb"[ \t)]*")
_OPENING = re.compile(rb"[ \t(]*")


class ParsedSource:
    """A parsed file and the bytes that it was parsed from.

    Args:
        content: The file.

    Raises:
        SyntaxError: It is no Python of this version.
        UnicodeDecodeError: It is not UTF-8.
    """

    def __init__(self, content: bytes) -> None:
        content.decode("utf-8")
        self.content = content
        try:
            with _parsing:
                self.tree = ast.parse(content)
        except ValueError as error:  # null bytes, before Python 3.12
            raise SyntaxError(str(error)) from error
        self._lines = [0]
        for line in content.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.AST) -> int:
        """Return the offset at which a node begins."""
        return self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Return the offset at which a node ends."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return a node as it is written."""
        return self.content[self.start(node) : self.end(node)].decode()

    def line_start(self, offset: int) -> int:
        """Return the offset of the line that holds an offset."""
        return self.content.rfind(b"\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Return the offset behind the end of the line that holds an offset."""
        end = self.content.find(b"\n", offset)
        return len(self.content) if end < 0 else end + 1

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, str] | None:
        """Return the operator between two operands with its offset.

        None where a comment or a line break stands beside it, which a change would have to move.
        """
        begin, end = self.end(left), self.start(right)
        gap = self.content[begin:end]
        if b"#" in gap or b"\n" in gap or b"\\" in gap:
            return None
        closing = _CLOSING.match(gap)
        skipped = closing.end() if closing else 0
        rest = gap[skipped:]
        operator = rest[: len(rest) - len(_trailing(rest))]
        return (begin + skipped, operator.decode()) if operator else None

    def own_lines(self, node: ast.stmt) -> tuple[int, int] | None:
        """Return the lines of a statement that shares them with no other, comments above included.

        Those belong to it, and what they say would stand without it.
        """
        begin, end = self.line_start(self.start(node)), self.line_end(self.end(node))
        indent = self.content[begin : self.start(node)]
        rest = self.content[self.end(node) : end].strip()
        if indent.strip() or (rest and not rest.startswith(b"#")):
            return None
        while begin:
            above = self.line_start(begin - 1)
            if not self.content[above:begin].startswith(indent + b"#"):
                break
            begin = above
        return begin, end


def _trailing(gap: bytes) -> bytes:
    """Return the blanks and opening brackets that end a gap."""
    found = _OPENING.match(gap[::-1])
    return gap[len(gap) - found.end() :] if found else b""


def changeable(tree: ast.Module) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    """Yield what may be changed in a file: every node that decides what a function does.

    Left out are text (docstrings, f-strings), type hints, decorators, assertions, arguments of
    exceptions, branches for type checkers, and everything outside of functions, such as
    ``__all__``.

    Yields:
        The qualified name of the function, the node, and its ancestors from the function down.
    """
    yield from _definitions(tree.body, "")


def _definitions(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    """Walk through classes and top-level branches to the functions."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, FUNCTIONS):
            if node.name not in SILENT_METHODS and not _is_overload(node):
                name = prefix + node.name
                for child in _parts(node):
                    yield from _walk(name, child, (node,))
        elif isinstance(node, (ast.If, ast.Try)) and not _never_runs(node):
            yield from _definitions(node.body + node.orelse, prefix)


def _walk(
    name: str, node: ast.AST, above: tuple[ast.AST, ...]
) -> Iterator[tuple[str, ast.AST, tuple[ast.AST, ...]]]:
    yield name, node, above
    for child in _parts(node):
        yield from _walk(name, child, (*above, node))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node that may be changed."""
    if isinstance(node, (ast.JoinedStr, ast.Assert, ast.Raise)) or _never_runs(node):
        return
    if isinstance(node, FUNCTIONS):
        yield from filter(None, (*node.args.defaults, *node.args.kw_defaults))
        yield from node.body
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        yield from filter(None, (node.value,))
    elif isinstance(node, ast.Call):
        yield from _call_parts(node)
    else:
        yield from ast.iter_child_nodes(node)


def _call_parts(node: ast.Call) -> Iterator[ast.AST]:
    """Yield function and arguments of a call, without those that change no result."""
    yield node.func
    if isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar", "NewType"):
        yield from node.args[1:]
        return
    yield from node.args
    yield from (entry.value for entry in node.keywords if entry.arg not in COSMETIC_KEYWORDS)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(entry, "attr", getattr(entry, "id", "")) for entry in node.decorator_list}
    return bool(names & {"overload", "abstractmethod"})


def _never_runs(node: ast.AST) -> bool:
    """Return whether a branch is for type checkers or for a run as a script."""
    if not isinstance(node, ast.If):
        return False
    names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node.test)}
    return bool(names & {"TYPE_CHECKING", "__name__"})
