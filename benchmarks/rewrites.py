"""Behaviour-preserving rewrites of functions, on syntax trees.

Each rewrite changes the tree of a function in place where its pattern occurs. They imitate people:
another order of branches, a name for a result, De Morgan, a helper function, a loop instead of a
comprehension. A pattern is skipped if rewriting could change what is evaluated, or when.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

Function = ast.FunctionDef
_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def _not(test: ast.expr) -> ast.expr:
    """Return the opposite of a condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _NEGATED:
        return ast.Compare(test.left, [_NEGATED[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression has no calls, so that the order of evaluation does not matter."""
    kinds = (ast.Name, ast.Constant, ast.Attribute, ast.Load, ast.UnaryOp, ast.USub, ast.Tuple)
    return all(isinstance(part, kinds) for part in ast.walk(node))


class _Branches(ast.NodeTransformer):
    """``if a: X else: Y`` as ``if not a: Y else: X``."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        return ast.If(_not(node.test), node.orelse or [ast.Pass()], node.body)


class _DeMorgan(ast.NodeTransformer):
    """``if a and b`` as ``if not (not a or not b)``, only where just its truth value counts."""

    def _condition(self, test: ast.expr) -> ast.expr:
        if not isinstance(test, ast.BoolOp):
            return test
        operator = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.UnaryOp(
            ast.Not(), ast.BoolOp(operator, [_not(operand) for operand in test.values])
        )

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            node.test = self._condition(node.test)
        return node


class _Comparisons(ast.NodeTransformer):
    """``a < b`` as ``b > a``; ``a <= b < c`` as ``a <= b and b < c``."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        if not all(map(_is_plain, sides)):
            return node
        pairs = []
        for left, operation, right in zip(sides, node.ops, sides[1:], strict=False):
            swap = _SWAPPED.get(type(operation))
            if swap is None:
                pairs.append(ast.Compare(left, [operation], [right]))
            else:
                pairs.append(ast.Compare(copy.deepcopy(right), [swap()], [copy.deepcopy(left)]))
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), list(pairs))


class _Results(ast.NodeTransformer):
    """``return f(x)`` as ``outcome = f(x)`` and ``return outcome``; a choice as two branches."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        value = node.value
        if isinstance(value, ast.IfExp):
            choice = ast.If(value.test, [ast.Return(value.body)], [ast.Return(value.orelse)])
            return choice
        if value is None or isinstance(value, ast.Name | ast.Constant):
            return node
        name = "outcome"
        return [
            ast.Assign([ast.Name(name, ast.Store())], value),
            ast.Return(ast.Name(name, ast.Load())),
        ]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]


class _Sums(ast.NodeTransformer):
    """``n += 1`` as ``n = n + 1``, with numbers only: a list would be replaced by a new one."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
        if not number or not isinstance(node.target, ast.Name):
            return node
        left = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(left, node.op, node.value))


class _Loops(ast.NodeTransformer):
    """``for x in xs`` as a loop that asks an iterator."""

    def __init__(self) -> None:
        self._count = 0

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if node.orelse:
            return node
        self._count += 1
        name = f"walker_{self._count}"
        begin = ast.parse(f"{name} = iter(0)").body[0]
        assert isinstance(begin, ast.Assign) and isinstance(begin.value, ast.Call)
        begin.value.args = [node.iter]
        ask = ast.parse(f"try:\n    x = next({name})\nexcept StopIteration:\n    break").body[0]
        assert isinstance(ask, ast.Try) and isinstance(ask.body[0], ast.Assign)
        ask.body[0].targets = [node.target]
        return [begin, ast.While(ast.Constant(True), [ask, *node.body], [])]


class _Lists(ast.NodeTransformer):
    """``return [f(x) for x in xs if c]`` as a loop that appends."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        comprehension = node.value
        if not isinstance(comprehension, ast.ListComp) or len(comprehension.generators) > 1:
            return node
        if any(isinstance(inner, ast.Lambda) for inner in ast.walk(comprehension)):
            return node
        part = comprehension.generators[0]
        add = ast.parse("gathered.append(0)").body[0]
        assert isinstance(add, ast.Expr) and isinstance(add.value, ast.Call)
        add.value.args = [comprehension.elt]
        body: list[ast.stmt] = [add]
        for test in reversed(part.ifs):
            body = [ast.If(test, body, [])]
        loop = ast.For(part.target, part.iter, body, [])
        first, last = ast.parse("gathered = []\nreturn gathered").body
        return [first, loop, last]


def _swap_branches(function: Function) -> None:
    _Branches().generic_visit(function)


def _de_morgan(function: Function) -> None:
    _DeMorgan().generic_visit(function)


def _swap_comparisons(function: Function) -> None:
    _Comparisons().generic_visit(function)


def _name_results(function: Function) -> None:
    if "outcome" not in _names(function):
        _Results().generic_visit(function)


def _write_sums(function: Function) -> None:
    _Sums().generic_visit(function)


def _ask_iterators(function: Function) -> None:
    if not any(name.startswith("walker_") for name in _names(function)):
        _Loops().generic_visit(function)


def _gather(function: Function) -> None:
    if "gathered" not in _names(function):
        _Lists().generic_visit(function)


def _nest(function: Function) -> None:
    """Move statements after a branch that returns into its ``else``."""

    def nested(body: list[ast.stmt]) -> list[ast.stmt]:
        for place, statement in enumerate(body[:-1]):
            leaves = isinstance(statement, ast.If) and isinstance(
                statement.body[-1], ast.Return | ast.Raise
            )
            if isinstance(statement, ast.If) and leaves and not statement.orelse:
                nested_body = nested(body[place + 1 :])
                return [*body[:place], ast.If(statement.test, statement.body, nested_body)]
        return body

    function.body = nested(function.body)


def _rename(function: Function) -> None:
    """Give local names other names."""
    kinds = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Lambda,
             ast.ClassDef, ast.Match)  # fmt: skip
    inside = [node for part in function.body for node in ast.walk(part)]
    if any(isinstance(node, kinds) for node in inside) or {"locals", "vars"} & _names(function):
        return
    reserved = {
        argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)
    }
    reserved |= {node.name or "" for node in inside if isinstance(node, ast.ExceptHandler)}
    stored = {node.id for node in inside if isinstance(node, ast.Name) and
              isinstance(node.ctx, ast.Store)} - reserved  # fmt: skip
    if any(f"my_{name}" in _names(function) for name in stored):
        return
    for node in inside:
        if isinstance(node, ast.Name) and node.id in stored:
            node.id = f"my_{node.id}"


def _help(function: Function) -> None:
    """Put the body into a helper inside the function."""
    parameters = {
        argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)
    }
    inside = [node for part in function.body for node in ast.walk(part)]
    stored = {node.id for node in inside if isinstance(node, ast.Name) and
              not isinstance(node.ctx, ast.Load)}  # fmt: skip
    kinds = (ast.Global, ast.Nonlocal, ast.Await)
    names = _names(function)
    if parameters & stored or any(isinstance(node, kinds) for node in inside):
        return
    if names & {"super", "locals", "vars", "in_full", "__class__"}:
        return
    doc = function.body[:1] if ast.get_docstring(function) is not None else []
    body = function.body[len(doc) :]
    if not body or any(
        isinstance(node, ast.ExceptHandler) and node.name in parameters for node in inside
    ):
        return
    helper = ast.parse("def in_full():\n    pass\nreturn in_full()").body
    assert isinstance(helper[0], ast.FunctionDef)
    helper[0].body = body
    function.body = [*doc, *helper]


REWRITES: dict[str, Callable[[Function], None]] = {
    "branches swapped": _swap_branches,
    "De Morgan": _de_morgan,
    "comparisons swapped": _swap_comparisons,
    "results named": _name_results,
    "sums written out": _write_sums,
    "iterators asked": _ask_iterators,
    "lists gathered": _gather,
    "branches nested": _nest,
    "locals renamed": _rename,
    "helper": _help,
}
"""Rewrites by name."""


def rewrite(text: str, line: int, names: Sequence[str]) -> str | None:
    """Rewrite the innermost function around a line.

    Args:
        text: A module.
        line: A line of it, from 1.
        names: Names of :data:`REWRITES`, applied one after the other.

    Returns:
        The module with the function rewritten; None where there is no function, or where a rewrite
        of these finds nothing to change.
    """
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
             and _first(node) <= line <= (node.end_lineno or 0)]  # fmt: skip
    if not functions:
        return None
    function = max(functions, key=lambda candidate: candidate.lineno)
    first, last = _first(function), function.end_lineno or 0
    indent = " " * function.col_offset
    for name in names:
        old_dump = ast.dump(function)
        REWRITES[name](function)
        ast.fix_missing_locations(function)
        if ast.dump(function) == old_dump:
            return None
        # Parsed again, because a tree may hold what no source text does.
        reread = ast.parse(ast.unparse(function)).body[0]
        assert isinstance(reread, ast.FunctionDef)
        function = reread
    lines = text.split("\n")
    new = [indent + row if row else row for row in _unparsed(function)]
    return "\n".join([*lines[: first - 1], *new, *lines[last:]])


def _unparsed(function: Function) -> list[str]:
    """Return the lines of a function: no text in it goes over several, so indenting is safe."""
    doc = ast.get_docstring(function, clean=False)
    if doc is not None and "\n" in doc:
        function.body = function.body[1:] or [ast.Pass()]
    return ast.unparse(function).split("\n")


def _first(function: Function) -> int:
    """Return the first line of a function, its decorators included."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _names(function: Function) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
