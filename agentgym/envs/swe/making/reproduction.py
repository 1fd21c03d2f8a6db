"""From a failing test to the few lines that a user would show: a script without a test in it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LONGEST = 40
"""Maximum lines of a script; a longer one is no help."""
_PLAIN = (
    "assertEqual", "assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone",
    "assertAlmostEqual", "assertListEqual", "assertDictEqual", "assertSequenceEqual",
)  # fmt: skip
"""Methods of :mod:`unittest` whose first argument is the actual value."""


@dataclass(frozen=True)
class Reproduction:
    """A script that shows a fault."""

    setup: str
    """Statements, imports first."""
    expression: str
    """The expressions asserted; empty where the statements themselves fail or print."""

    @property
    def script(self) -> str:
        """The script as a user shows it."""
        nodes = ast.parse(self.setup).body
        apart = bool(nodes) and isinstance(nodes[-1], (*_IMPORTS, *_BLOCKS))
        gap = "\n\n" if apart else "\n"
        return gap.join(filter(None, (self.setup, self.expression)))

    @property
    def runnable(self) -> str:
        """The script with its result printed."""
        last = f"print(repr({self.expression}))" if self.expression else ""
        return "\n".join(filter(None, (self.setup, last))) + "\n"

    @property
    def subject(self) -> str:
        """The public function or class under test, if it can be determined."""
        helpers = {node.name for node in ast.parse(self.setup).body if isinstance(node, _BLOCKS)}
        tree = ast.parse(self.expression or self.setup)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = [_dotted(node.func) for node in calls]
        if helpers & set(names):  # a helper of the script, which stands for more than one function
            return ""
        usable = [name for name in names if name and name.split(".")[-1] not in _BUILTIN]
        return usable[0 if self.expression else -1] if usable else ""


_BUILTIN = frozenset((
    "len", "list", "sorted", "str", "repr", "tuple", "dict", "set", "int", "float", "bool",
    "print", "next", "iter", "sum", "isinstance", "range", "round", "any", "all", "append",
    "join", "type", "zip", "enumerate", "min", "max", "abs", "map", "filter", "bytes", "Decimal",
    "Path",
))  # fmt: skip
"""Functions that no issue would be about."""


class ParsedTests:
    """A file of tests, read so that its tests can be turned into scripts.

    Args:
        source: The file.
        conftest: The ``conftest.py`` beside it, which may hold fixtures.

    Raises:
        SyntaxError: It is no Python of this version.
    """

    def __init__(self, source: str, conftest: str = "") -> None:
        self._source = source
        tree, shared = ast.parse(source), ast.parse(conftest)
        self._tests = {name: node for name, node in _functions(tree.body, "")}
        self._globals: dict[str, ast.stmt] = {}
        self._fixtures: dict[str, ast.FunctionDef] = {}
        for node in (*shared.body, *tree.body):
            if isinstance(node, ast.FunctionDef) and _is_fixture(node):
                self._fixtures[node.name] = node
                continue
            for name in _bound(node):
                self._globals[name] = node

    def docstring(self, test: str) -> str:
        """Return the first sentence of the docstring of a test, or nothing.

        Args:
            test: Its name within the file, such as ``TestA::test_b[c]``.
        """
        node = self._tests.get(_bare(test))
        text = ast.get_docstring(node) if node is not None else None
        return " ".join(text.split("\n\n")[0].split()) if text else ""

    def failing_line(self, test: str, file: str, traceback: str) -> int | None:
        """Return the line of a test at which it failed, from the text of its failure."""
        node = self._tests.get(_bare(test))
        if node is None:
            return None
        for match in re.finditer(rf"(?m)^{re.escape(file)}:(\d+):", traceback):
            line = int(match[1])
            if node.lineno <= line <= (node.end_lineno or line):
                return line
        return None

    def reproduce(self, test: str, line: int, index: int = 0) -> Reproduction | None:
        """Turn a test into a script.

        Args:
            test: Its name within the file.
            line: The line at which it fails.
            index: Its place among the tests that come from one function by ``parametrize``.

        Returns:
            The script; None where the test is of a form that has none.
        """
        node = self._tests.get(_bare(test))
        if node is None or isinstance(node, ast.AsyncFunctionDef):
            return None
        try:
            reproduction = self._script(node, line, index)
        except _NoScript:
            return None
        if (
            "pytest" in reproduction.script
            or "unittest" in reproduction.script
            or "self." in reproduction.script
        ):
            return None
        return (
            reproduction
            if reproduction.script.count("\n") < LONGEST and reproduction.script
            else None
        )

    def _script(self, node: ast.FunctionDef, line: int, index: int) -> Reproduction:
        """Turn a test into a script, or say that it is of a form that has none."""
        body = [*_until(node.body, line)]
        used = {name for statement in body for name in _names(statement)}
        body = [*self._arguments(node, index, used), *body]
        expression = ""
        if body and isinstance(body[-1], ast.Expr) and hasattr(body[-1], "looked_at"):
            expression = self._expression(body.pop().value)  # type: ignore[attr-defined]
        needed = self._needed([*body, *ast.parse(expression).body])
        setup = "\n".join(filter(None, map(self._write_statement, [*needed, *body])))
        return Reproduction(_spaced(setup), expression)

    def _arguments(
        self, node: ast.FunctionDef, index: int, used: Collection[str]
    ) -> Iterator[ast.stmt]:
        """Yield statements that bind the parameters of a test."""
        names = [entry.arg for entry in node.args.args if entry.arg != "self"]
        bound = _parameters(node, index)
        for name in names:
            if name in bound and name not in used:
                continue
            if name in bound:
                yield _assign(name, bound[name])
            else:
                yield from self._fixture(name)

    def _fixture(self, name: str) -> Iterator[ast.stmt]:
        """Yield the statements of a fixture, which bind its return value to its name."""
        if name == "tmp_path":
            yield from ast.parse(
                "import tempfile\nfrom pathlib import Path\ntmp_path = Path(tempfile.mkdtemp())"
            ).body
            return
        node = self._fixtures.get(name)
        if node is None:
            raise _NoScript
        for argument in node.args.args:
            yield from self._fixture(argument.arg)
        for statement in node.body:
            if _is_text(statement):
                continue
            value = statement.value if isinstance(statement, (ast.Return, ast.Expr)) else None
            if isinstance(value, ast.Yield):
                value = value.value
            elif not isinstance(statement, ast.Return):
                yield statement
                continue
            if value is None:
                raise _NoScript
            yield _assign(name, value)
            return
        raise _NoScript

    def _needed(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the imports and definitions of the file that statements need, in order."""
        waiting, definitions = list(body), list[ast.stmt]()
        imports = dict[str, ast.stmt]()
        while waiting:
            for name in _names(waiting.pop()):
                node = self._globals.get(name)
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    imports[name] = _import_of(node, name)
                elif node is not None and node not in definitions:
                    definitions.append(node)
                    waiting.append(node)
        texts = dict.fromkeys(ast.unparse(imports[name]) for name in sorted(imports))
        definitions.sort(key=lambda node: node.lineno)
        return [*(ast.parse(text).body[0] for text in _joined(texts)), *definitions]

    def _expression(self, value: ast.expr) -> str:
        """Return an expression as its file writes it, if it comes from there as it is."""
        return self._verbatim(value) or ast.unparse(value)

    def _write_statement(self, node: ast.stmt) -> str:
        """Return a statement as its file writes it, if it comes from there as it is."""
        if isinstance(node, ast.Pass):
            return ""
        return self._verbatim(node) or ast.unparse(node)

    def _verbatim(self, node: ast.expr | ast.stmt) -> str | None:
        """Return a node as its file writes it, moved to the left margin; None if it is changed."""
        text = ast.get_source_segment(self._source, node) if hasattr(node, "lineno") else None
        if not text:
            return None
        line = self._source.split("\n")[node.lineno - 1]
        indent = line[: len(line) - len(line.lstrip())]
        moved = "\n".join(line.removeprefix(indent) for line in text.split("\n"))
        expected = node if isinstance(node, ast.stmt) else ast.Expr(node)
        try:
            is_same = ast.dump(ast.parse(moved)) == ast.dump(ast.Module([expected], []))
        except SyntaxError:
            return None
        return moved if is_same else None


class _NoScript(Exception):
    """A test is of a form that cannot be turned into a script."""


def _until(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """Yield the statements of a test up to the one that fails, without its other assertions."""
    for node in body:
        if _is_text(node):
            continue
        fails = node.lineno <= line <= (node.end_lineno or node.lineno)
        if fails:
            yield from _failing(node)
            return
        if isinstance(node, ast.With) and _is_check(node):
            yield from _caught(node)
            continue
        if isinstance(node, ast.Assert):
            continue
        if not (isinstance(node, ast.Expr) and _unittest_value(node.value) is not None):
            yield node


def _caught(node: ast.With) -> Iterator[ast.stmt]:
    """Yield statements that catch the expected exception if it is inspected afterwards."""
    [item, *_] = node.items
    name, call = item.optional_vars, item.context_expr
    if isinstance(name, ast.Name) and isinstance(call, ast.Call) and call.args:
        body = textwrap.indent("\n".join(map(ast.unparse, node.body)), "    ")
        kind = ast.unparse(call.args[0])
        text = f"try:\n{body}\nexcept {kind} as caught:\n    {name.id} = caught"
        yield ast.parse(text).body[0]


class _Direct(ast.NodeTransformer):
    """Inspect exceptions directly where a test inspects the object that caught them."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace ``error.value``."""
        self.generic_visit(node)
        caught = isinstance(node.value, ast.Name) and node.attr == "value"
        return node.value if caught and node.value.id in _CAUGHT_NAMES else node  # type: ignore[attr-defined]


_CAUGHT_NAMES = frozenset(
    ("error", "err", "info", "excinfo", "exc_info", "exc", "caught", "raised", "e", "failure")
)


def _failing(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements that a user would write in place of the failing one."""
    if isinstance(node, ast.Assert):
        yield _looked_at(_Direct().visit(_find_computed(node.test)))
    elif isinstance(node, ast.With):
        if not _is_check(node):
            raise _NoScript
        *earlier, last = node.body
        yield from earlier
        yield _looked_at(last.value) if isinstance(last, ast.Expr) else last
    elif isinstance(node, ast.Expr):
        value = _unittest_value(node.value)
        yield _looked_at(node.value if value is None else value)
    elif isinstance(node, (ast.For, ast.If)):
        yield ast.fix_missing_locations(_Printed().visit(ast.parse(ast.unparse(node)).body[0]))
    else:
        yield node


class _Printed(ast.NodeTransformer):
    """Print the asserted expressions."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Replace an assertion."""
        return ast.parse(f"print({ast.unparse(_find_computed(node.test))})").body[0]

    def visit_With(self, node: ast.With) -> ast.stmt:
        """Give up on expected exceptions in a loop."""
        raise _NoScript


def _find_computed(test: ast.expr) -> ast.expr:
    """Return the part of an assertion that a program computed."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        computes = (ast.Name, ast.Call, ast.Attribute)
        literal = not any(isinstance(part, computes) for part in ast.walk(test.left))
        if isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            return test.comparators[0] if literal else test.left
    return test


def _unittest_value(value: ast.expr) -> ast.expr | None:
    """Return the expression that an assertion method of :mod:`unittest` checks."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.args:
        if value.func.attr in _PLAIN:
            return value.args[0]
        if value.func.attr == "assertIn" and len(value.args) > 1:
            left, right = (ast.unparse(entry) for entry in value.args[:2])
            return ast.parse(f"{left} in {right}", mode="eval").body
    return None


def _is_check(node: ast.stmt) -> bool:
    """Return whether a statement only checks: an assertion, or that something raises."""
    if isinstance(node, ast.With):
        [first, *_] = node.items
        name = _dotted(first.context_expr.func) if isinstance(first.context_expr, ast.Call) else ""
        return name.split(".")[-1] in ("raises", "assertRaises", "assertRaisesRegex")
    return isinstance(node, ast.Assert)


def _looked_at(value: ast.expr) -> ast.stmt:
    """Mark the expression that a script ends with."""
    node = ast.Expr(value)
    node.looked_at = True  # type: ignore[attr-defined]
    return ast.copy_location(node, value)


def _parameters(node: ast.FunctionDef, index: int) -> dict[str, ast.expr]:
    """Return the values that ``parametrize`` gives to the parameters of a test."""
    marks: list[ast.Call] = [
        entry
        for entry in node.decorator_list
        if isinstance(entry, ast.Call) and _dotted(entry.func).endswith("parametrize")
    ]
    if not marks:
        return {}
    if len(marks) > 1 or len(marks[0].args) < 2:
        raise _NoScript
    names, values = marks[0].args[:2]
    try:
        literal = ast.literal_eval(names)
    except ValueError as error:
        raise _NoScript from error
    parameter_names = re.findall(r"\w+", literal) if isinstance(literal, str) else list(literal)
    if not isinstance(values, (ast.List, ast.Tuple)) or index >= len(values.elts):
        raise _NoScript
    row = values.elts[index]
    if isinstance(row, ast.Call) and _dotted(row.func).endswith("param"):
        row = ast.Tuple(row.args, ast.Load()) if len(parameter_names) > 1 else row.args[0]
    if len(parameter_names) == 1:
        return {parameter_names[0]: row}
    if not isinstance(row, (ast.List, ast.Tuple)) or len(row.elts) != len(parameter_names):
        raise _NoScript
    return dict(zip(parameter_names, row.elts, strict=True))


def _functions(
    body: Sequence[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions of a file with their names as pytest writes them."""
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")


def _bare(test: str) -> str:
    return test.partition("[")[0]


def _assign(name: str, value: ast.expr) -> ast.stmt:
    if isinstance(value, ast.Name) and value.id == name:
        return ast.Pass()
    return ast.parse(f"{name} = {ast.unparse(value)}").body[0]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_fixture(node: ast.FunctionDef) -> bool:
    marks = (entry.func if isinstance(entry, ast.Call) else entry for entry in node.decorator_list)
    return any(_dotted(mark).split(".")[-1] == "fixture" for mark in marks)


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a file binds, but for tests and fixtures."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        if not node.name.lower().startswith("test"):
            yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((entry.asname or entry.name).split(".")[0] for entry in node.names)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _import_of(node: ast.Import | ast.ImportFrom, name: str) -> ast.stmt:
    """Return the import of one name out of a statement that imports several."""
    entry = next(e for e in node.names if (e.asname or e.name).split(".")[0] == name)
    if isinstance(node, ast.Import):
        return ast.Import([entry])
    if node.level:
        raise _NoScript
    return ast.ImportFrom(node.module, [entry], 0)


def _joined(texts: dict[str, None]) -> list[str]:
    """Join imports of several names from one module."""
    modules: dict[str, list[str]] = {}
    plain_parts = []
    for text in texts:
        match = re.fullmatch(r"from (\S+) import (.+)", text)
        if match:
            modules.setdefault(match[1], []).append(match[2])
        else:
            plain_parts.append(text)
    joined = (f"from {module} import {', '.join(names)}" for module, names in modules.items())
    return [*sorted(plain_parts), *joined]


def _spaced(setup: str) -> str:
    """Set imports and definitions off from the rest."""
    nodes = ast.parse(setup).body
    lines = setup.split("\n")
    parts: list[str] = []
    for previous, node in zip([None, *nodes], nodes, strict=False):
        if previous is not None:
            imports = isinstance(previous, _IMPORTS) and not isinstance(node, _IMPORTS)
            defines = isinstance(previous, _BLOCKS) or isinstance(node, _BLOCKS)
            parts += [""] if imports or defines else []
        parts += lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(parts)


_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCKS = (*FUNCTIONS, ast.ClassDef)


def _dotted(node: ast.AST) -> str:
    """Return a name with its attributes, such as ``pytest.raises``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""
