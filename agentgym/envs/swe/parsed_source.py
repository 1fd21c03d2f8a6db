"""`ParsedSource`: the syntax tree of a Python file, with byte offsets of its nodes."""

from __future__ import annotations

import ast
import re
import threading

# Before 3.11.9 and 3.12.3 Python mixes up the depths of trees that threads build at once, and
# raises a SystemError (python/cpython#106905).
_parsing = threading.Lock()
_CLOSING = re.compile(rb"[ \t)]*")
_OPENING = re.compile(rb"[ \t(]*")


class ParsedSource:
    """The syntax tree of a Python file, together with its bytes.

    All offsets are in bytes, as in the ``col_offset`` of :mod:`ast`.

    Args:
        content: The file.

    Raises:
        SyntaxError: The file is not valid for this version of Python.
        UnicodeDecodeError: The file is not UTF-8.
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
        """Return the offset of the first byte of a node."""
        return self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Return the offset after the last byte of a node."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        return self.content[self.start(node) : self.end(node)].decode()

    def line_start(self, offset: int) -> int:
        """Return the offset of the start of the line that contains ``offset``."""
        return self.content.rfind(b"\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Return the offset after the line that contains ``offset``, line break included."""
        end = self.content.find(b"\n", offset)
        return len(self.content) if end < 0 else end + 1

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, str] | None:
        """Return the offset and text of the operator between two operands.

        None if there is a comment or line break between them, which a replacement of the operator
        would have to preserve.
        """
        begin, end = self.end(left), self.start(right)
        gap = self.content[begin:end]
        if b"#" in gap or b"\n" in gap or b"\\" in gap:
            return None
        closing = _CLOSING.match(gap)
        skipped = closing.end() if closing else 0
        gap_tail = gap[skipped:]
        operator = gap_tail[: len(gap_tail) - len(_trailing(gap_tail))]
        return (begin + skipped, operator.decode()) if operator else None

    def own_lines(self, node: ast.stmt) -> tuple[int, int] | None:
        """Return the byte range of the lines of a statement, including comments directly above it.

        Those comments describe the statement and have to be removed with it. None if the statement
        shares a line with another one.
        """
        begin, end = self.line_start(self.start(node)), self.line_end(self.end(node))
        indent = self.content[begin : self.start(node)]
        line_tail = self.content[self.end(node) : end].strip()
        if indent.strip() or (line_tail and not line_tail.startswith(b"#")):
            return None
        while begin:
            above = self.line_start(begin - 1)
            if not self.content[above:begin].startswith(indent + b"#"):
                break
            begin = above
        return begin, end


def _trailing(gap: bytes) -> bytes:
    """Return the blanks and opening brackets at the end of a gap."""
    match = _OPENING.match(gap[::-1])
    return gap[len(gap) - match.end() :] if match else b""
