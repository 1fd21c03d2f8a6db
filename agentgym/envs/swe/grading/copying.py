"""Which tests of a file can be copied, and how a copy comes to expect something else."""

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
"""Changes of a text that are made before one is found that makes it another."""
_UNFIT = re.compile(rb"skip|xfail|\brequest\b|\bglobal\b|\bawait\b")
"""What the text of a test says that may come out otherwise under another name."""
_WORDS = re.compile(r"\S+")
_OPPOSITES: Mapping[str, str] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "in": "not in", "not in": "in", "is": "is not", "is not": "is",
}  # fmt: skip


class CopyEdit(NamedTuple):
    """A piece of a file that becomes another."""

    start: int
    """Its first byte."""
    end: int
    """The byte after its last one."""
    new: bytes
    """What stands there instead."""


def changed(content: bytes, changes: list[CopyEdit]) -> bytes:
    """Return a text with pieces of it changed; offsets are those of the text as it was."""
    for change in sorted(changes, key=lambda piece: piece.start, reverse=True):
        content = content[: change.start] + change.new + content[change.end :]
    return content


class SuiteText:
    """A file of tests.

    Args:
        path: Its path.
        source: Its text.
    """

    def __init__(self, path: str, source: ParsedSource) -> None:
        self.path, self.source = path, source
        self.literals: dict[type, list[tuple[Any, bytes]]] = defaultdict(list)
        """What its tests compare with, by type: values, and how they are written."""
        self.docstrings: list[str] = []
        """First lines that describe its tests."""
        for holder in (source.tree, *self._groups()):
            for function in functions(holder):
                self.docstrings += [(ast.get_docstring(function) or "").partition("\n")[0]]
                for statement in function.body:
                    self._note(_expected(statement))

    def _note(self, expected: ast.expr | None) -> None:
        literal = [] if expected is None else _literal(expected)
        if expected is not None and literal:
            spelling = self.source.text(expected).encode()
            if b"\n" not in spelling:  # several pieces of one text need brackets around them
                self.literals[type(literal[0])].append((literal[0], spelling))

    def _groups(self) -> list[ast.ClassDef]:
        return [node for node in self.source.tree.body if isinstance(node, ast.ClassDef)]

    def tests(self, counts: Mapping[str, int]) -> Iterator[CopiedTest]:
        """Yield the tests that can be copied.

        Args:
            counts: How many tests each function of a test is, of those that may be copied.
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
    """Its file."""
    group: ast.ClassDef | None
    """Its class, if it has one."""
    function: ast.FunctionDef
    """Where it is defined."""
    id: str
    """Its id, without parameters."""
    cases: int
    """How many tests it is, by its parameters."""

    def lines(self) -> tuple[int, int]:
        """Return where its lines begin, decorators included, and where they end."""
        return lines_of(self.text.source, self.function)

    def fit(self) -> bool:
        """Return whether a copy comes out as its original, as far as its text tells."""
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
        """Return what makes it fail wherever it passes as it is; None if nothing is known to."""
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
        """Return the change of an assertion into its opposite."""
        test = statement.test if isinstance(statement, ast.Assert) else None
        source = self.text.source
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            begin, end = source.start(test), source.start(test.operand)
            bare = source.content[begin:end].strip() == b"not"  # and no bracket that closes later
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
        self, expected: ast.expr | None, stream: Stream, other: _Way
    ) -> list[CopyEdit]:
        """Return the changes of what is expected, or of the column of a parameter that is."""
        nodes = [expected] if expected is not None else []
        if isinstance(expected, ast.Name):
            nodes = self._column(expected.id)
        changes = [other(node, nodes, stream) for node in nodes]
        return [change for change in changes if change] if all(changes) else []

    def _column(self, name: str) -> list[ast.expr]:
        """Return the cells of a parameter; none if a test does more than compare with it."""
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
        """Return what makes a literal another one, of the same column or file if that can be had.

        None if it is none, or stays equal.
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
            spellings = [new for other, new in self.text.literals[kind] if other != value[0]]
        if spellings:
            return CopyEdit(source.start(node), source.end(node), stream.choice(spellings))
        place = _constants(node)
        for _ in range(TRIES if place else 0):
            number, other = stream.below(len(place)), copy.deepcopy(node)
            part = _constants(other)[number]
            part.value = _other(part.value, stream)
            if _literal(other) not in ([], value):
                return self._change_literal(place[number], part.value)
        return None

    def _other_order(
        self, node: ast.expr, column: list[ast.expr], stream: Stream
    ) -> CopyEdit | None:
        """Return what exchanges two words of a message; None if it has no two.

        A message may well hold another text of the file, but hardly its own words the other way.
        """
        for value in _literal(node):
            if isinstance(value, str) and len({*_WORDS.findall(value)}) > 1:
                for _ in range(TRIES):
                    new = _other_text(value, stream)
                    if new != value:
                        return self._change_literal(node, new)
        return None

    def _change_literal(self, node: ast.expr, value: Any) -> CopyEdit:
        """Return the change of a literal, in the quotes that it has."""
        source, new = self.text.source, repr(value)
        if isinstance(value, str) and "'" not in value and '"' not in value:
            quote = source.text(node)[-1]
            new = f"{quote}{new[1:-1]}{quote}" if quote in "'\"" else new
        return CopyEdit(source.start(node), source.end(node), new.encode())


_Way = Callable[[ast.expr, "list[ast.expr]", Stream], "CopyEdit | None"]


def lines_of(source: ParsedSource, function: ast.FunctionDef) -> tuple[int, int]:
    """Return where the lines of a function begin, decorators included, and where they end."""
    first = min(map(source.start, (function, *function.decorator_list)))
    return source.line_start(first), source.end(function)


@lru_cache(64)
def suite_text(path: str, content: bytes) -> SuiteText | None:
    """Return a file of tests; None if it is no Python of this version.

    Args:
        path: Its path.
        content: What it holds.
    """
    if content.startswith(b"\xef\xbb\xbf") or b"\r" in content:
        return None
    try:
        return SuiteText(path, ParsedSource(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def functions(holder: ast.AST) -> list[ast.FunctionDef]:
    """Return the tests that a file or a class defines."""
    body = getattr(holder, "body", [])
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name[:4] == "test"]


def parameters(
    function: ast.FunctionDef,
) -> tuple[tuple[str, ...], tuple[tuple[ast.expr, ...], ...]] | None:
    """Return the names and rows of ``parametrize``; none without it, None if they are not plain."""
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
    """Return what a statement compares a value with."""
    test = statement.test if isinstance(statement, ast.Assert) else None
    if isinstance(test, ast.Compare) and [type(operator) for operator in test.ops] == [ast.Eq]:
        return test.comparators[0]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if ast.unparse(call.func) == "self.assertEqual" and len(call.args) == 2:
            return call.args[1]
    return None


def _pattern(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement finds in the message of an exception."""
    if isinstance(statement, ast.With) and len(statement.items) == 1:
        raising = statement.items[0].context_expr
        if isinstance(raising, ast.Call) and ast.unparse(raising.func) == "pytest.raises":
            return next(
                (keyword.value for keyword in raising.keywords if keyword.arg == "match"), None
            )
    return None


def _literal(node: ast.expr) -> list[Any]:
    """Return the value of a literal, alone; nothing if it is none."""
    try:
        return [ast.literal_eval(node)]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return []


def _constants(node: ast.expr) -> list[ast.Constant]:
    kinds = (bool, int, float, str, bytes)
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return [constant for constant in parts if type(constant.value) in kinds]


def _other(value: Any, stream: Stream) -> Any:
    """Return another value of the same type that could stand there as well."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + stream.choice((1, 2, -1, 10))
    if isinstance(value, bytes):
        return _other_text(value.decode("latin-1"), stream).encode("latin-1")
    return _other_text(value, stream)


def _other_text(text: str, stream: Stream) -> str:
    """Return a text with two words exchanged, or a character more or less."""
    words = [*_WORDS.finditer(text)]
    if len(words) > 1:
        left, right = sorted(stream.sample(words, 2), key=lambda word: word.start())
        middle = text[left.end() : right.start()]
        return text[: left.start()] + right[0] + middle + left[0] + text[right.end() :]
    at = stream.below(len(text) + 1)
    return text[:at] + text[at + 1 :] if at < len(text) else text + (text[:1] or "a")
