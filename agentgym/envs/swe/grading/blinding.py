"""Blind tests: remove the expected values, and record the actual values instead of comparing.

``assert f(x) == y`` becomes a call that records ``f(x)``, a "look", and ``with pytest.raises(E)``
one that records whatever is raised. Data used only for the expected side is removed, too: columns
of ``parametrize``, whose ids become numbers, and names with literal values. Everything else,
including fixtures and marks, stays, so pytest runs the file like the original. Which side is the
expected one is decided as in :mod:`agentgym.envs.swe.held_out.programs`.

An assert whose expectation cannot be separated, such as one with calls on both sides, records
whether it holds; calls of helpers (``assert_allclose``, mocks) stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from agentgym.envs.swe.held_out.programs import UnittestAsserts, is_rich, method_of_self

MODULE = "agentgym_looks"
"""Name under which blinded tests import :mod:`.looks`."""
LOOK, CAUGHT, ENDED = "_agentgym_look", "_agentgym_caught", "_agentgym_ended"
_ERROR = "_agentgym_error"
_TOLERANT = ("assertAlmostEqual", "assertNotEqual", "assertNotAlmostEqual")
_RAISING = ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INNER = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def blind(text: str) -> str:
    """Return the blinded version of a test file.

    Args:
        text: The file.

    Returns:
        The new text; empty if no test can be blinded, or this Python cannot parse the file.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    literals = _literals(tree.body)
    cut: set[str] = set()
    count = 0
    for body in (
        tree.body,
        *(statement.body for statement in tree.body if isinstance(statement, ast.ClassDef)),
    ):
        for place, node in enumerate(body):
            if isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
                blinded, lost_names = _blinded(node, literals)
                if blinded is not None:
                    body[place] = blinded
                    cut |= lost_names
                    count += 1
    if not count:
        return ""
    _remove(tree.body, cut - _loaded(tree.body))
    tree.body[_first(tree.body) : _first(tree.body)] = ast.parse(
        f"from {MODULE} import look as {LOOK}, Caught as {CAUGHT}, ended as {ENDED}"
    ).body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _first(body: Sequence[ast.stmt]) -> int:
    """Return the index in a module's body at which an import may be inserted."""
    for place, node in enumerate(body):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not future and not _is_docstring(node):
            return place
    return len(body)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _blinded(node: Function, literals: Collection[str]) -> tuple[Function | None, set[str]]:
    """Return a blinded test, and the module's literals that it no longer uses.

    The test is None if it cannot be blinded, because it yields or asserts nothing. The loop
    removes a candidate and starts again if the blinded body still needs its value.
    """
    if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
        return None, set()
    columns = {name for mark in node.decorator_list for name, _ in _columns(mark)}
    own_literals = _literals(node.body)
    arguments = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    candidates = columns | own_literals | (set(literals) - _bound(node) - arguments)
    while True:
        looking = _Looking(candidates, _computed(node, arguments - columns))
        body = [
            changed
            for statement in node.body
            if not _is_docstring(statement)
            for changed in looking.changed(copy.deepcopy(statement))
        ]
        needed = (_loaded(body) & looking.cut) - looking.shared
        if not needed:
            break
        candidates -= needed
    if not looking.count:
        return None, set()
    lost_names = looking.cut - _loaded(body)
    _remove(body, lost_names & own_literals)
    result = copy.deepcopy(node)
    for mark in result.decorator_list:
        _cut_columns(mark, lost_names & columns)
    handler = ast.parse(f"try:\n    pass\nexcept BaseException as {_ERROR}:\n"
                      f"    {ENDED}({_ERROR})\n    raise").body[0]  # fmt: skip
    assert isinstance(handler, ast.Try)
    handler.body = body or [ast.Pass()]
    result.body = [handler]
    return result, lost_names - own_literals - columns


class _Looking(ast.NodeTransformer):
    """Replaces the asserts of one test by calls that record values.

    Args:
        candidates: Names that may be expected values: columns of ``parametrize``, and literals.
        computed: Name that the test computes -> the names that it is computed from.
    """

    def __init__(self, candidates: Collection[str], computed: Mapping[str, set[str]]) -> None:
        self._candidates, self._computed = candidates, computed
        self.count = 0
        """Number of inserted calls."""
        self.cut: set[str] = set()
        """Candidates that occurred in removed expectations."""
        self.shared: set[str] = set()
        """Those of ``cut`` that also occur in the recorded value, as in a round trip."""

    def changed(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the replacement of a statement."""
        visited = self.visit(statement)
        changed = visited if isinstance(visited, list) else [visited]
        return [part for part in changed if isinstance(part, ast.stmt)]

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        """Leave functions and classes inside a test unchanged."""
        if isinstance(node, _INNER):
            return node
        result: ast.AST | list[ast.stmt] = super().visit(node)
        return result

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        name = method_of_self(node.value)
        if not name.startswith("assert") or name in _TOLERANT:
            return node
        if isinstance(node.value, ast.Call) and len(node.value.args) > 2 and "Raises" not in name:
            del node.value.args[2:]
        replacement = UnittestAsserts().visit(node)
        return node if replacement is node else self.changed(replacement)

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        return list(self._looks(node.test))

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            call = item.context_expr
            function = call.func if isinstance(call, ast.Call) else None
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name in _RAISING and isinstance(call, ast.Call) and len(call.args) <= 2:
                item.context_expr = ast.Call(ast.Name(CAUGHT, ast.Load()), [], [])
                self.count += 1
        return node

    def _looks(self, test: ast.expr) -> Iterator[ast.stmt]:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for value in test.values:
                yield from self._looks(value)
            return
        self.count += 1
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        value = self._value(test) or ast.Call(ast.Name("bool", ast.Load()), [test], [])
        yield ast.Expr(ast.Call(ast.Name(LOOK, ast.Load()), [value], []))

    def _value(self, test: ast.expr) -> ast.expr | None:
        """Return the actual side of a comparison, or None if it is not clear which side that is."""
        if (
            not isinstance(test, ast.Compare)
            or len(test.ops) != 1
            or "approx(" in ast.unparse(test)
        ):
            return None
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Is):
            return left if isinstance(right, ast.Constant) else None
        if not isinstance(test.ops[0], ast.Eq):
            return None
        for value, expected in ((left, right), (right, left)):
            if self._is_computed(value) and self._is_expected(expected):
                named = _loaded([expected]) & set(self._candidates)
                inputs = _loaded([value])
                self.cut |= named
                self.shared |= named & inputs.union(*(self._computed.get(n, ()) for n in inputs))
                return value
        return None

    def _is_computed(self, side: ast.expr) -> bool:
        return is_rich(side) or (isinstance(side, ast.Name) and side.id in self._computed)

    def _is_expected(self, side: ast.expr) -> bool:
        if isinstance(side, ast.Name):
            return side.id in self._candidates
        constant_names = {*self._candidates, "True", "False", "None"}
        return not is_rich(side) and _loaded([side]) <= constant_names


def _computed(node: Function, fixtures: Collection[str]) -> dict[str, set[str]]:
    """Return the names that a test computes, each with the names in its assignments."""
    names = _bound(node) - _literals(node.body) - set(fixtures)
    sources: dict[str, set[str]] = {name: set() for name in names}
    for part in ast.walk(node):
        if isinstance(part, ast.Assign):
            for name in names & {n for target in part.targets for n in _stores(target)}:
                sources[name] |= _loaded([part.value])
    return sources


def _bound(node: ast.AST) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del))
    }


def _loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that nodes read."""
    return {
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def _literals(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements bind exactly once, at their top level, to a literal."""
    times = Counter(name for statement in body for name in _stores(statement))
    return {
        statement.targets[0].id
        for statement in body
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and times[statement.targets[0].id] == 1
        and not is_rich(statement.value)
        and not _loaded([statement.value]) - {"True", "False", "None"}
    }


def _stores(node: ast.AST) -> Iterator[str]:
    """Yield a name once for every time that it is bound or deleted."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


def _remove(body: list[ast.stmt], names: Collection[str]) -> None:
    """Remove the assignments to names."""
    body[:] = [
        statement
        for statement in body
        if not (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id in names
        )
    ]


def _columns(mark: ast.expr) -> list[tuple[str, list[tuple[list[ast.expr], int]]]]:
    """Return the columns of a ``parametrize`` with literal rows.

    Returns:
        For each column its name, and for each cell the list that contains it and the index there,
        so that it can be replaced. Empty for other decorators.
    """
    if (
        not isinstance(mark, ast.Call)
        or not ast.unparse(mark.func).endswith("parametrize")
        or len(mark.args) != 2
        or any(word.arg != "ids" for word in mark.keywords)
        or not isinstance(mark.args[1], (ast.List, ast.Tuple))
    ):
        return []
    try:
        literal = ast.literal_eval(mark.args[0])
    except ValueError:
        return []
    names = (
        [name.strip() for name in literal.split(",")] if isinstance(literal, str) else list(literal)
    )
    rows = [_cells(row, len(names)) for row in mark.args[1].elts]
    if any(len(row) != len(names) for row in rows):
        return []
    return [(name, [(row, place) for row in rows]) for place, name in enumerate(names)]


def _cells(row: ast.expr, count: int) -> list[ast.expr]:
    """Return the list in the syntax tree that contains the cells of a row; else an empty one."""
    if isinstance(row, ast.Call):
        return row.args if ast.unparse(row.func).endswith("param") else []
    if count > 1 and isinstance(row, (ast.Tuple, ast.List)):
        return row.elts
    return []


def _cut_columns(mark: ast.expr, names: Collection[str]) -> None:
    """Replace the cells of columns by None, and number the rows: ids could reveal the values."""
    columns = _columns(mark)
    if not names & {name for name, _ in columns}:  # type: ignore[operator]
        return
    assert isinstance(mark, ast.Call)
    rows = mark.args[1]
    assert isinstance(rows, (ast.List, ast.Tuple))
    for name, cells in columns:
        for row, place in cells if name in names else ():
            row[place] = ast.Constant(None)
    for row_node in rows.elts:
        if isinstance(row_node, ast.Call):
            row_node.keywords = [word for word in row_node.keywords if word.arg != "id"]
    ids: list[ast.expr] = [ast.Constant(f"row{n}") for n in range(len(rows.elts))]
    mark.keywords = [ast.keyword("ids", ast.List(ids, ast.Load()))]
