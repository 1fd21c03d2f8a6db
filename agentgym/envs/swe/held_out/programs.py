"""Convert tests to programs that record actual values and contain no expected ones.

A program consists of the body of a test function, and the statements of its module that the body
needs. ``assert f(x) == y`` becomes ``_o(f(x))``, without the expected side. ``with
pytest.raises(E): f(x)`` becomes a ``try`` that records either outcome, and a row of ``parametrize``
becomes assignments. So all code that creates the inputs is kept: constructors, helpers, state and
sequences of steps.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOOK, LOOK_AT_ERROR = "_o", "_x"
"""Functions that programs call to record a value, and an exception."""
MOST_ROWS = 60
"""Maximum number of programs per parametrized test."""
LONGEST_PROGRAM = 6000
"""Maximum length of a program, in characters; longer ones are dropped."""
_TEMPORARY = "import pathlib, tempfile\ntmp_path = pathlib.Path(tempfile.mkdtemp())"
_EQUAL = {
    "assertEqual", "assertNotEqual", "assertAlmostEqual", "assertListEqual", "assertDictEqual",
    "assertTupleEqual", "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual",
}  # fmt: skip
_COMPARED: Mapping[str, type[ast.cmpop]] = {
    "assertIn": ast.In, "assertNotIn": ast.NotIn, "assertIs": ast.Is, "assertIsNot": ast.IsNot,
    "assertLess": ast.Lt, "assertLessEqual": ast.LtE, "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """One test, or one parametrized case of it, as a program."""

    test: str
    """pytest's id of the test, without parameters."""
    body: tuple[ast.stmt, ...]
    """Its statements. Other programs share them, so they must not be changed in place."""
    columns: Mapping[str, tuple[ast.expr, ...]]
    """Name of a parameter of ``parametrize`` -> its values in all cases."""

    @property
    def text(self) -> str:
        """The source of the program."""
        return source_text(self.body)


def source_text(body: Sequence[ast.stmt]) -> str:
    """Return the source of statements, which may contain new nodes without locations."""
    return ast.unparse(ast.fix_missing_locations(ast.Module([*body], [])))


def read_programs(file: str, text: str) -> list[Program]:
    """Convert the tests of a file to programs.

    Tests are skipped if they need fixtures except ``tmp_path``, attributes of their class, or other
    decorators than a plain ``parametrize``.

    Args:
        file: Path of the file in the repository.
        text: Its source; the result is empty if this Python cannot parse it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    programs: list[Program] = []
    shared: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _is_test(node):
            programs += _of_function(node, shared, f"{file}::{node.name}")
        elif isinstance(node, ast.ClassDef) and any(map(_is_test, node.body)):
            programs += _of_class(node, shared, f"{file}::{node.name}")
        elif not _of_pytest(node) and not _is_docstring(node):
            shared.append(node)
    return [program for program in programs if len(program.text) <= LONGEST_PROGRAM]


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test")


def _of_pytest(node: ast.stmt) -> bool:
    """Return whether a statement only concerns pytest (or is a ``__future__`` import)."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "pytest" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in ("pytest", "__future__")
    names = _bound(node)
    return names == {"pytestmark"} or "pytest_plugins" in names


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_class(node: ast.ClassDef, shared: Sequence[ast.stmt], name: str) -> Iterator[Program]:
    """Yield the programs of the test methods that do not use ``self``, except for asserts."""
    for member in node.body:
        if not isinstance(member, ast.FunctionDef) or not _is_test(member):
            continue
        method = UnittestAsserts().visit(copy.deepcopy(member))
        if "self" in _used(method.body):
            continue
        method.args.args = method.args.args[1:]
        yield from _of_function(method, shared, f"{name}::{member.name}")


def _of_function(node: ast.FunctionDef, shared: Sequence[ast.stmt], name: str) -> Iterator[Program]:
    """Yield a program for each parametrized case of a test function."""
    tables = [_table(mark, shared) for mark in node.decorator_list]
    if any(table is None for table in tables):
        return
    read_tables = [table for table in tables if table is not None]
    parametrized = {column for names, _ in read_tables for column in names}
    fixtures = {argument.arg for argument in node.args.args} - parametrized
    if fixtures - {"tmp_path"}:
        return
    body: list[ast.stmt] = []
    looking = _Looking(parametrized)
    for statement in node.body:
        if not _is_docstring(statement):
            changed = looking.visit(copy.deepcopy(statement))
            body += changed if isinstance(changed, list) else [changed]
    columns = {
        column: tuple(row[place] for row in rows)
        for names, rows in read_tables
        for place, column in enumerate(names)
    }
    flat = [column for names, _ in read_tables for column in names]
    temporary = ast.parse(_TEMPORARY).body if fixtures else []
    for choice in itertools.islice(
        itertools.product(*(rows for _, rows in read_tables)), MOST_ROWS
    ):
        cells = [cell for row in choice for cell in row]
        needed = _used(body)
        bound = [_assign(c, cell) for c, cell in zip(flat, cells, strict=True) if c in needed]
        statements = [
            ast.fix_missing_locations(statement) for statement in (*temporary, *bound, *body)
        ]
        yield Program(name, tuple([*_needed(shared, statements), *statements]), columns)


def _needed(shared: Sequence[ast.stmt], later: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the module's statements that others need, directly or not, by the names they bind."""
    names, needed = _used(later), list[ast.stmt]()
    for node in reversed(shared):
        if _bound(node) & names:
            needed.insert(0, node)
            names |= _used([node])
    return needed


Table = tuple[list[str], list[list[ast.expr]]]


def _table(mark: ast.expr, shared: Sequence[ast.stmt]) -> Table | None:
    """Return the names and rows of a ``parametrize``; None for other or dynamic decorators."""
    if not isinstance(mark, ast.Call) or "parametrize" not in ast.unparse(mark.func):
        return None
    if len(mark.args) < 2:
        return None
    try:
        value = ast.literal_eval(mark.args[0])
    except ValueError:
        return None
    names = [n.strip() for n in value.split(",")] if isinstance(value, str) else list(value)
    rows: ast.expr | None = mark.args[1]
    if isinstance(rows, ast.Name):
        table_name = rows.id
        rows = next(
            (s.value for s in shared if isinstance(s, ast.Assign) and table_name in _bound(s)), None
        )
    if not isinstance(rows, (ast.List, ast.Tuple)):
        return None
    cells = [_cells(row, len(names)) for row in rows.elts]
    return names, [row for row in cells if len(row) == len(names)]


def _cells(row: ast.expr, count: int) -> list[ast.expr]:
    """Return the cells of a row of ``parametrize``."""
    if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
        return row.args
    if count > 1:
        return row.elts if isinstance(row, (ast.Tuple, ast.List)) else []
    return [row]


class UnittestAsserts(ast.NodeTransformer):
    """Replaces calls of ``unittest.TestCase``'s assert methods by assert statements."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replace a call such as ``self.assertEqual(a, b)`` by an assert or ``with raises()``."""
        call = node.value
        name = method_of_self(call)
        if not isinstance(call, ast.Call) or not name:
            return node
        args = call.args
        if name in _EQUAL and len(args) >= 2:
            return ast.Assert(ast.Compare(args[0], [ast.Eq()], [args[1]]), None)
        if name in ("assertTrue", "assertFalse") and args:
            return ast.Assert(args[0], None)
        if name in ("assertIsNone", "assertIsNotNone") and args:
            return ast.Assert(ast.Compare(args[0], [ast.Is()], [ast.Constant(None)]), None)
        if name in _COMPARED and len(args) >= 2:
            return ast.Assert(ast.Compare(args[0], [_COMPARED[name]()], [args[1]]), None)
        if name == "assertIsInstance" and len(args) >= 2:
            test = ast.Call(ast.Name("isinstance", ast.Load()), args[:2], [])
            return ast.Assert(test, None)
        if name.startswith("assertRaises") and len(args) >= 2:
            inner = ast.Expr(ast.Call(args[1], args[2:], call.keywords))
            return ast.With([ast.withitem(_raises(), None)], [inner])
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        """Replace ``with self.assertRaises(E)`` by ``with raises()``."""
        self.generic_visit(node)
        for item in node.items:
            if method_of_self(item.context_expr).startswith("assertRaises"):
                item.context_expr = _raises()
        return node


def method_of_self(node: ast.expr) -> str:
    """Return the name of the method of ``self`` that a node calls; empty for other nodes."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id == "self" else ""
    return ""


def _raises() -> ast.expr:
    return ast.Call(ast.Name("raises", ast.Load()), [], [])


class _Looking(ast.NodeTransformer):
    """Replaces asserts by calls that record values.

    Args:
        columns: Names of the parameters of ``parametrize``, which are expected values as a side of
            ``==``.
    """

    def __init__(self, columns: set[str]) -> None:
        self._numbers, self._columns = itertools.count(), columns

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        return list(self._looks(node.test))

    def _looks(self, test: ast.expr) -> Iterator[ast.stmt]:
        """Yield the replacement of an assert."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.BoolOp):
            for value in test.values:
                yield from self._looks(value)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            equality = isinstance(test.ops[0], (ast.Eq, ast.NotEq))
            yield from self._equal(test) if equality else [_look(test)]
        else:  # the test only requires its truth value
            yield _look(ast.Call(ast.Name("bool", ast.Load()), [test], []))

    def _equal(self, test: ast.Compare) -> Iterator[ast.stmt]:
        """Yield calls that record the actual side of ``==``, or both if neither is expected."""
        sides = [test.left, test.comparators[0]]
        rich: list[ast.expr] = [s for s in sides if is_rich(s) or self._is_local(s)]
        if not rich:
            rich += [side for side in sides if isinstance(side, ast.Name)][:1]
        if len(rich) != 2:
            yield _look(rich[0] if rich else test)
            return
        names = [f"_s{next(self._numbers)}" for _ in sides]
        for name, side in zip(names, sides, strict=True):
            yield _assign(name, side)
        left, right = (ast.Name(name, ast.Load()) for name in names)
        yield from (_look(left), _look(right), _look(ast.Compare(left, test.ops, [right])))

    def _is_local(self, side: ast.expr) -> bool:
        return isinstance(side, ast.Name) and side.id not in self._columns

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        raising = [i for i in node.items if ".raises(" in f".{ast.unparse(i.context_expr)}"]
        if not raising:
            return node
        body: list[ast.stmt] = [
            _look(statement.value)
            if isinstance(statement, ast.Expr) and not _is_look(statement)
            else statement
            for statement in node.body
        ]
        other_items = [item for item in node.items if item not in raising]
        inner: list[ast.stmt] = [ast.With(other_items, body)] if other_items else body
        error = ast.Name("_e", ast.Load())
        handling: list[ast.stmt] = [
            ast.Expr(ast.Call(ast.Name(LOOK_AT_ERROR, ast.Load()), [error], []))
        ]
        if raising[0].optional_vars is not None:
            name = ast.unparse(raising[0].optional_vars)
            caught = f"import types\n{name} = types.SimpleNamespace(value=_e, type=type(_e))"
            handling = [*ast.parse(caught).body, *handling]
        handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), "_e", handling)
        return ast.Try(inner, [handler], [], [])


def is_rich(node: ast.expr) -> bool:
    """Return whether a side of ``==`` is computed, rather than a literal, a name or ``approx``."""
    if isinstance(node, ast.Name) or "approx(" in ast.unparse(node):
        return False
    kinds = (ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.comprehension)
    parts = list(ast.walk(node))
    computed = any(isinstance(part, kinds) for part in parts)
    return computed and any(isinstance(part, ast.Name) for part in parts)


def _is_look(node: ast.Expr) -> bool:
    call = node.value
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Name) and function.id in (LOOK, LOOK_AT_ERROR)


def _look(value: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(LOOK, ast.Load()), [value], []))


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _used(nodes: Sequence[ast.AST]) -> set[str]:
    """Return all names in nodes."""
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}
