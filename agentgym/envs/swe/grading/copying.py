"""Find the tests of a file that can be copied, and change a copy so that it must fail.

`agentgym.envs.swe.grading.twins` uses the copies as canaries.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.support.random_stream import Stream

TRIES = 20
"""Number of random changes of a literal to try until its value differs."""
_UNFIT = re.compile(rb"skip|xfail|\brequest\b|\bglobal\b|\bawait\b")
"""Source text of tests whose outcome may depend on their name or that may not simply pass."""
_WORDS = re.compile(r"\S+")
_OPPOSITES: Mapping[str, str] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "in": "not in", "not in": "in", "is": "is not", "is not": "is",
}  # fmt: skip


class CopyEdit(NamedTuple):
    """A replacement of a byte range of a file."""

    start: int
    """Offset of the first byte."""
    end: int
    """Offset after the last byte."""
    new: bytes
    """The replacement."""


def changed(content: bytes, changes: list[CopyEdit]) -> bytes:
    """Return ``content`` with the edits applied; all offsets refer to ``content``."""
    for change in sorted(changes, key=lambda piece: piece.start, reverse=True):
        content = content[: change.start] + change.new + content[change.end :]
    return content


class SuiteText:
    """A test file.

    Args:
        path: Path of the file.
        source: Its parsed source.
    """

    def __init__(self, path: str, source: ParsedSource) -> None:
        self.path, self.source = path, source
        self.literals: dict[type, list[tuple[Any, bytes]]] = defaultdict(list)
        """Literals that its tests compare with: type -> pairs of value and source text."""
        self.docstrings: list[str] = []
        """First lines of the docstrings of its tests; empty for tests without one."""
        for holder in (source.tree, *self._groups()):
            for function in functions(holder):
                self.docstrings += [(ast.get_docstring(function) or "").partition("\n")[0]]
                for statement in function.body:
                    self._note(_expected(statement))

    def _note(self, expected: ast.expr | None) -> None:
        literal = [] if expected is None else _literal(expected)
        if expected is not None and literal:
            spelling = self.source.text(expected).encode()
            if b"\n" not in spelling:  # a multi-line literal may need brackets elsewhere
                self.literals[type(literal[0])].append((literal[0], spelling))

    def _groups(self) -> list[ast.ClassDef]:
        return [node for node in self.source.tree.body if isinstance(node, ast.ClassDef)]

    def tests(self, counts: Mapping[str, int]) -> Iterator[CopiedTest]:
        """Yield the tests that can be copied.

        Args:
            counts: Test id without parameters -> its number of parametrized cases. Other tests are
                not copied.
        """
        for group in (None, *self._groups()):
            if group is not None and group.decorator_list:
                continue
            for function in functions(group or self.source.tree):
                name = [group.name] if group else []
                test = "::".join((self.path, *name, function.name))
                copied_test = CopiedTest(self, group, function, test, counts.get(test, 0))
                if copied_test.cases and copied_test.fit():
                    yield copied_test


class CopiedTest(NamedTuple):
    """A test that can be copied."""

    text: SuiteText
    """The file that contains it."""
    group: ast.ClassDef | None
    """The class that contains it, if any."""
    function: ast.FunctionDef
    """Its definition."""
    id: str
    """Its id, without parameters."""
    cases: int
    """Its number of parametrized cases; 1 without parameters."""

    def lines(self) -> tuple[int, int]:
        """Return the byte range of its lines, including decorators."""
        return lines_of(self.text.source, self.function)

    def fit(self) -> bool:
        """Return whether a copy has the same outcome as the original, judging by the source.

        This excludes fixtures, other decorators than one plain ``parametrize``, and tests that
        mention their own name.
        """
        function, parametrized = self.function, parameters(self.function)
        if parametrized is None or (len(parametrized[1]) or 1) != self.cases:
            return False
        arguments = function.args
        names = {argument.arg for argument in arguments.args} - ({"self"} if self.group else set())
        more = arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.posonlyargs
        start, end = self.lines()
        text = self.text.source.content[start:end]
        named = re.findall(rb"\b%s\b" % function.name.encode(), text)
        return not (more or names - set(parametrized[0]) or _UNFIT.search(text) or len(named) != 1)

    def expecting_something_else(self, stream: Stream) -> list[CopyEdit] | None:
        """Return edits that make a passing test fail, or None if none can be found."""
        for statement in stream.shuffled(self.function.body):
            changes = (
                self._other_value(_expected(statement), stream, self._other_literal)
                or self._other_value(_pattern(statement), stream, self._other_order)
                or self._opposite(statement, stream)
            )
            if changes:
                return changes
        return None

    def _opposite(self, statement: ast.stmt, stream: Stream) -> list[CopyEdit]:
        """Return the edits that negate an assertion; empty if it has no supported form."""
        test = statement.test if isinstance(statement, ast.Assert) else None
        source = self.text.source
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            begin, end = source.start(test), source.start(test.operand)
            bare = source.content[begin:end].strip() == b"not"  # else a bracket follows
            return [CopyEdit(begin, end, b"")] if bare else []
        if isinstance(test, ast.Compare):
            number = stream.below(len(test.ops))
            left, right = [test.left, *test.comparators][number : number + 2]
            place, operator = source.between(left, right) or (0, "")
            new = _OPPOSITES.get(operator, "").encode()
            return [CopyEdit(place, place + len(operator), new)] if new else []
        if isinstance(test, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
            return [CopyEdit(source.start(test), source.start(test), b"not ")]
        return []

    def _other_value(
        self, expected: ast.expr | None, stream: Stream, opposite_way: _Way
    ) -> list[CopyEdit]:
        """Return the edits of an expected value; of all cells if it is a parameter, else empty."""
        nodes = [expected] if expected is not None else []
        if isinstance(expected, ast.Name):
            nodes = self._column(expected.id)
        changes = [opposite_way(node, nodes, stream) for node in nodes]
        return [change for change in changes if change] if all(changes) else []

    def _column(self, name: str) -> list[ast.expr]:
        """Return the cells of a parameter; empty if the test uses it anywhere else."""
        used = [
            node for statement in self.function.body for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id == name
        ]  # fmt: skip
        names, rows = parameters(self.function) or ((), ())
        if len(used) != 1 or name not in names or any(len(row) != len(names) for row in rows):
            return []
        return [row[names.index(name)] for row in rows]

    def _other_literal(
        self, node: ast.expr, column: list[ast.expr], stream: Stream
    ) -> CopyEdit | None:
        """Return the replacement of a literal by another value.

        Preferably the value is from the same column or file, which makes it inconspicuous. None if
        the node is not a literal, or no other value was found.
        """
        value, source = _literal(node), self.text.source
        if not value:
            return None
        kind = type(value[0])
        pairs = [(_literal(cell), source.text(cell).encode()) for cell in column]
        spellings = [
            new
            for other_value, new in pairs
            if other_value != value and [*map(type, other_value)] == [kind]
        ]
        if not spellings and not stream.percent(30):
            spellings = [new for literal, new in self.text.literals[kind] if literal != value[0]]
        if spellings:
            return CopyEdit(source.start(node), source.end(node), stream.choice(spellings))
        place = _constants(node)
        for _ in range(TRIES if place else 0):
            number, changed_node = stream.below(len(place)), copy.deepcopy(node)
            part = _constants(changed_node)[number]
            part.value = _different_value(part.value, stream)
            if _literal(changed_node) not in ([], value):
                return self._change_literal(place[number], part.value)
        return None

    def _other_order(
        self, node: ast.expr, column: list[ast.expr], stream: Stream
    ) -> CopyEdit | None:
        """Return the edit that exchanges two words of an expected message, or None.

        Another text of the file could also occur in the actual message, but hardly the same words
        in another order.
        """
        for value in _literal(node):
            if isinstance(value, str) and len({*_WORDS.findall(value)}) > 1:
                for _ in range(TRIES):
                    new = _other_text(value, stream)
                    if new != value:
                        return self._change_literal(node, new)
        return None

    def _change_literal(self, node: ast.expr, value: Any) -> CopyEdit:
        """Return the replacement of a literal, with the quotes of the original."""
        source, new = self.text.source, repr(value)
        if isinstance(value, str) and "'" not in value and '"' not in value:
            quote = source.text(node)[-1]
            new = f"{quote}{new[1:-1]}{quote}" if quote in "'\"" else new
        return CopyEdit(source.start(node), source.end(node), new.encode())


_Way = Callable[[ast.expr, "list[ast.expr]", Stream], "CopyEdit | None"]


def lines_of(source: ParsedSource, function: ast.FunctionDef) -> tuple[int, int]:
    """Return the byte range of a function: from the line of its first decorator to its end."""
    first = min(map(source.start, (function, *function.decorator_list)))
    return source.line_start(first), source.end(function)


@lru_cache(64)
def suite_text(path: str, content: bytes) -> SuiteText | None:
    """Parse a test file; None if that fails, or it has carriage returns or a byte order mark.

    Args:
        path: Path of the file.
        content: Its bytes.
    """
    if content.startswith(b"\xef\xbb\xbf") or b"\r" in content:
        return None
    try:
        return SuiteText(path, ParsedSource(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def functions(holder: ast.AST) -> list[ast.FunctionDef]:
    """Return the test functions directly in a module or class."""
    body = getattr(holder, "body", [])
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name[:4] == "test"]


def parameters(
    function: ast.FunctionDef,
) -> tuple[tuple[str, ...], tuple[tuple[ast.expr, ...], ...]] | None:
    """Return the names and rows of a function's ``parametrize``.

    Both are empty without decorators. None if there are other decorators, or the names and rows are
    not plain literals.
    """
    if not function.decorator_list:
        return (), ()
    call, *more = function.decorator_list
    if more or not isinstance(call, ast.Call) or call.keywords or len(call.args) != 2:
        return None
    named, values = call.args
    if ast.unparse(call.func) != "pytest.mark.parametrize" or not _literal(named):
        return None
    if not isinstance(values, (ast.List, ast.Tuple)):
        return None
    literal = _literal(named)[0]
    names = tuple(re.findall(r"\w+", literal) if isinstance(literal, str) else map(str, literal))
    single = isinstance(literal, str) and "," not in literal
    rows: list[tuple[ast.expr, ...]] = []
    for row in values.elts:
        if isinstance(row, ast.Starred):
            return None
        is_row = isinstance(row, (ast.Tuple, ast.List)) and not single
        rows.append(tuple(getattr(row, "elts", ())) if is_row else (row,))
    return names, tuple(rows)


def _expected(statement: ast.stmt) -> ast.expr | None:
    """Return the expected side of an equality assertion, or None."""
    test = statement.test if isinstance(statement, ast.Assert) else None
    if isinstance(test, ast.Compare) and [type(operator) for operator in test.ops] == [ast.Eq]:
        return test.comparators[0]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if ast.unparse(call.func) == "self.assertEqual" and len(call.args) == 2:
            return call.args[1]
    return None


def _pattern(statement: ast.stmt) -> ast.expr | None:
    """Return the argument ``match`` of ``with pytest.raises``, or None."""
    if isinstance(statement, ast.With) and len(statement.items) == 1:
        raising = statement.items[0].context_expr
        if isinstance(raising, ast.Call) and ast.unparse(raising.func) == "pytest.raises":
            return next(
                (keyword.value for keyword in raising.keywords if keyword.arg == "match"), None
            )
    return None


def _literal(node: ast.expr) -> list[Any]:
    """Return the value of a literal in a list, which is empty for other nodes (None is a value)."""
    try:
        return [ast.literal_eval(node)]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return []


def _constants(node: ast.expr) -> list[ast.Constant]:
    kinds = (bool, int, float, str, bytes)
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return [constant for constant in parts if type(constant.value) in kinds]


def _different_value(value: Any, stream: Stream) -> Any:
    """Return a similar value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + stream.choice((1, 2, -1, 10))
    if isinstance(value, bytes):
        return _other_text(value.decode("latin-1"), stream).encode("latin-1")
    return _other_text(value, stream)


def _other_text(text: str, stream: Stream) -> str:
    """Return a text with two words exchanged or, if it has one word, a character more or less."""
    words = [*_WORDS.finditer(text)]
    if len(words) > 1:
        left, right = sorted(stream.sample(words, 2), key=lambda word: word.start())
        middle = text[left.end() : right.start()]
        return text[: left.start()] + right[0] + middle + left[0] + text[right.end() :]
    position = stream.below(len(text) + 1)
    return (
        text[:position] + text[position + 1 :] if position < len(text) else text + (text[:1] or "a")
    )
