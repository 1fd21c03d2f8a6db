"""The kinds of faults: for a node of the source, the pieces to put in its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from agentgym.envs.swe.parsed_source import ParsedSource
from agentgym.envs.swe.syntax import FUNCTIONS

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">="),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("+", "//"),
    ast.Div: ("*",),
    ast.FloorDiv: ("%", "*"),
    ast.Mod: ("//",),
    ast.BitAnd: ("|",),
    ast.BitOr: ("&",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
}
_PAIRS = (
    "min/max any/all floor/ceil startswith/endswith lstrip/rstrip ljust/rjust find/rfind "
    "partition/rpartition split/rsplit lower/upper bisect_left/bisect_right "
    "isalnum/isalpha union/intersection"
)
TWINS = dict(pair.split("/") for pair in _PAIRS.split())
TWINS |= {twin: name for name, twin in TWINS.items()}
TWINS |= {
    "append": "insert", "isdigit": "isalnum", "popleft": "pop",
    "appendleft": "append", "keys": "values", "issubset": "issuperset",
}  # fmt: skip
"""Functions and methods that are easily taken for each other."""
DROPPED_METHODS = frozenset(
    ("strip", "lstrip", "rstrip", "lower", "upper", "casefold", "copy", "title", "capitalize")
)
"""Methods without which their object is nearly the same."""
DROPPED_FUNCTIONS = frozenset(("reversed", "abs", "round", "int", "set"))
"""Functions without which their argument is nearly the same."""
ORDERLESS = frozenset(("set", "frozenset", "sum", "min", "max", "any", "all", "len", "Counter"))
"""Functions to which the order of their argument means nothing."""
SYMMETRIC = frozenset(("min", "max", "gcd", "isclose", "isinstance", "issubclass", "hasattr"))
"""Functions whose arguments can be swapped without effect."""
EXCEPTIONS = {
    "ValueError": "TypeError",
    "TypeError": "ValueError",
    "KeyError": "IndexError",
    "IndexError": "KeyError",
}
LARGEST = 16
"""Whole numbers up to here are counts and places, and easily off by one."""
GUARD_LINES = 6
"""Most lines of a guard that may be forgotten."""


class Change(NamedTuple):
    """A piece of a file that becomes another."""

    kind: str
    """The kind of the fault."""
    start: int
    """Offset of the piece in bytes."""
    end: int
    """Offset behind it."""
    new: str
    """The replacement text."""


Ancestors = Sequence[ast.AST]
"""The nodes around a node, from the function down."""
Fault = Callable[[ParsedSource, ast.AST, Ancestors], Iterator[Change]]


def changes(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """Yield every fault that a node can be given."""
    for fault in FAULTS:
        yield from fault(source, node, above)


def _comparison(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``<`` for ``<=``, ``!=`` for ``==``, and their like."""
    if not isinstance(node, ast.Compare):
        return
    operands = (node.left, *node.comparators)
    for index, operator in enumerate(node.ops):
        piece = source.between(operands[index], operands[index + 1])
        if piece is not None:
            start, text = piece
            for new in COMPARISONS[type(operator)]:
                kind = "boundary" if new.strip("=") == text.strip("=") != "" else "comparison"
                yield Change(kind, start, start + len(text), new)


def _truthiness(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``x`` for ``x is not None``, which takes 0 and empty things for missing."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    comparator, operator = node.comparators[0], node.ops[0]
    missing = isinstance(comparator, ast.Constant) and comparator.value is None
    if missing and isinstance(node.left, (ast.Name, ast.Attribute)):
        text = source.text(node.left)
        if isinstance(operator, ast.IsNot):
            yield Change("truthiness", source.start(node), source.end(node), text)
        elif isinstance(operator, ast.Is):
            yield Change("truthiness", source.start(node), source.end(node), f"not {text}")


def _boolean(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``or`` for ``and``, ``and`` for ``or``, or the last operand left out."""
    if not isinstance(node, ast.BoolOp):
        return
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    if len(node.values) == 2:
        piece = source.between(*node.values)
        if piece is not None and piece[1] == old:
            yield Change("boolean operator", piece[0], piece[0] + len(old), new)
    last, next_to_last = node.values[-1], node.values[-2]
    piece = source.between(next_to_last, last)
    clause = source.content[source.end(next_to_last) : source.end(last)]
    if piece is not None and b"(" not in clause and b")" not in clause:
        yield Change("dropped condition", source.end(next_to_last), source.end(last), "")


def _arithmetic(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``-`` for ``+`` and similar operators, and swapped operands."""
    if not isinstance(node, ast.BinOp) or _is_text(node.left) or _is_text(node.right):
        return
    piece = source.between(node.left, node.right)
    if piece is None:
        return
    start, text = piece
    for new in ARITHMETIC.get(type(node.op), ()):
        yield Change("arithmetic", start, start + len(text), new)
    is_plain = isinstance(node.left, (ast.Name, ast.Attribute)) and isinstance(
        node.right, (ast.Name, ast.Attribute)
    )
    if is_plain and isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
        yield _swapped("swapped operands", source, node.left, node.right)


def _augmented(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``-=`` for ``+=``, ``=`` for ``+=``, or the statement left out."""
    if not isinstance(node, ast.AugAssign):
        return
    piece = source.between(node.target, node.value)
    if piece is not None:
        start, text = piece
        yield Change("overwritten sum", start, start + len(text), "=")
        if not _is_text(node.value):
            for new in ARITHMETIC.get(type(node.op), ())[:1]:
                yield Change("arithmetic", start, start + len(text), new + "=")
    yield from _left_out("dropped update", source, node, above)


def _number(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A whole number that is off by one."""
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return
    if node.value > LARGEST or source.text(node) != str(node.value):
        return
    kind = "wrong default" if _is_default(node, above) else "off by one"
    for value in (node.value + 1, node.value - 1):
        if value >= 0:
            yield Change(kind, source.start(node), source.end(node), str(value))


def _range(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A range that ends one too early or too late."""
    if not (isinstance(node, ast.Call) and _called(node) == "range" and node.args):
        return
    last = node.args[min(len(node.args), 2) - 1]
    if isinstance(last, (ast.Name, ast.Attribute, ast.Call)):
        for new in (" - 1", " + 1"):
            yield Change("off by one", source.end(last), source.end(last), new)


def _flag(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``False`` for ``True`` and the reverse; not as the condition of a loop."""
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        if isinstance(above[-1], ast.While) and above[-1].test is node:
            return
        kind = "wrong default" if _is_default(node, above) else "flipped flag"
        yield Change(kind, source.start(node), source.end(node), str(not node.value))


def _negation(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """``not``, or a minus sign, left out."""
    if not isinstance(node, ast.UnaryOp):
        return
    start = source.start(node)
    if isinstance(node.op, ast.Not):
        width = len(b"not")
        while source.content[start + width : start + width + 1] in (b" ", b"\t"):
            width += 1
        yield Change("dropped not", start, start + width, "")
    elif isinstance(node.op, ast.USub) and source.content[start : start + 1] == b"-":
        yield Change("dropped sign", start, start + 1, "")


def _branches(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """The two ways of a condition, swapped."""
    if isinstance(node, ast.IfExp):
        yield _swapped("swapped branches", source, node.body, node.orelse)
    elif isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
        if source.content[source.end(node.test) : source.end(node.test) + 1] != b":":
            return  # brackets stand around the condition
        is_plain = isinstance(node.test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        text = source.text(node.test)
        if "\n" not in text and not isinstance(node.test, (ast.UnaryOp, ast.Compare)):
            new = f"not {text}" if is_plain else f"not ({text})"
            yield Change("swapped branches", source.start(node.test), source.end(node.test), new)


def _guard(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A case that is forgotten: an ``if`` that leaves the block, or an ``elif`` at the end."""
    if not isinstance(node, ast.If) or node.orelse:
        return
    if (node.end_lineno or node.lineno) - node.lineno >= GUARD_LINES:
        return
    leaves = isinstance(node.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
    start = source.start(node)
    if source.content[start : start + 4] == b"elif":
        lines = source.own_lines(node)
        if lines is not None:
            yield Change("missing case", *lines, "")
    elif leaves:
        yield from _left_out("missing guard", source, node, above)


def _statement(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A call for its effect, or an assignment to a part of an object, left out."""
    acts = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stores = isinstance(node, ast.Assign) and isinstance(
        node.targets[0], (ast.Attribute, ast.Subscript)
    )
    if isinstance(node, ast.stmt) and (acts or stores):
        yield from _left_out("dropped statement", source, node, above)


def _call(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A function taken for its twin, or left out; arguments in the wrong order."""
    if not isinstance(node, ast.Call):
        return
    name, function = _called(node), node.func
    end = source.end(function)
    single = len(node.args) == 1 and not node.keywords
    if name in TWINS and not (name == "append" and not single):
        new = TWINS[name] + ("(0, " if name == "append" else "")
        end_of_name = end + 1 if name == "append" else end
        yield Change("wrong function", end - len(name), end_of_name, new)
    if isinstance(function, ast.Attribute) and name in DROPPED_METHODS and not node.keywords:
        yield Change("dropped call", source.end(function.value), source.end(node), "")
    if isinstance(function, ast.Name) and single and not isinstance(node.args[0], ast.Starred):
        yield from _dropped_function(source, node, name, above)
    yield from _arguments(source, node, name)


def _dropped_function(
    source: ParsedSource, node: ast.Call, name: str, above: Ancestors
) -> Iterator[Change]:
    """``x`` for ``abs(x)``, ``list(x)`` for ``sorted(x)``."""
    [argument] = node.args
    if isinstance(argument, ast.GeneratorExp):
        return
    around = _called(above[-1]) if isinstance(above[-1], ast.Call) else ""
    if name == "sorted" and around not in ORDERLESS:
        yield Change("dropped call", source.start(node), source.end(node.func), "list")
    elif name in DROPPED_FUNCTIONS and isinstance(argument, (ast.Name, ast.Attribute, ast.Call)):
        yield Change("dropped call", source.start(node), source.end(node), source.text(argument))


def _arguments(source: ParsedSource, node: ast.Call, name: str) -> Iterator[Change]:
    """Two neighbouring arguments, swapped."""
    if name in SYMMETRIC or name in TWINS:
        return
    simple = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript)
    for argument, next_argument in zip(node.args, node.args[1:], strict=False):
        if isinstance(argument, simple) and isinstance(next_argument, simple):
            yield _swapped("swapped arguments", source, argument, next_argument)


def _fallback(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A slice with one end left out, or with a step."""
    if isinstance(node, ast.Slice):
        if node.lower is not None and node.upper is not None:
            yield Change("wrong slice", source.start(node.lower), source.end(node.lower), "")
            yield Change("wrong slice", source.start(node.upper), source.end(node.upper), "")
        elif node.upper is not None and isinstance(node.upper, (ast.Name, ast.Attribute)):
            yield Change("wrong slice", source.end(node.upper), source.end(node.upper), " + 1")
        elif node.lower is not None and isinstance(node.lower, (ast.Name, ast.Attribute)):
            yield Change("wrong slice", source.end(node.lower), source.end(node.lower), " + 1")


def _exception(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """Another exception raised, or one not caught."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        name = node.exc.func
        if isinstance(name, ast.Name) and name.id in EXCEPTIONS:
            new = EXCEPTIONS[name.id]
            yield Change("wrong exception", source.start(name), source.end(name), new)
    elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
        for entry in node.type.elts:
            text = source.text(entry)
            yield Change("narrow except", source.start(node.type), source.end(node.type), text)


def _loop(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A loop that ends at the first element to be skipped."""
    if isinstance(node, ast.Continue):
        yield Change("ended loop", source.start(node), source.end(node), "break")


def _returned(source: ParsedSource, node: ast.AST, above: Ancestors) -> Iterator[Change]:
    """A pair returned, or yielded, the wrong way round."""
    value = node.value if isinstance(node, (ast.Return, ast.Yield)) else None
    if isinstance(value, ast.Tuple) and len(value.elts) == 2:
        yield _swapped("swapped results", source, *value.elts)


FAULTS: tuple[Fault, ...] = (
    _comparison,
    _truthiness,
    _boolean,
    _arithmetic,
    _augmented,
    _number,
    _range,
    _flag,
    _negation,
    _branches,
    _guard,
    _statement,
    _call,
    _fallback,
    _exception,
    _loop,
    _returned,
)


def _swapped(kind: str, source: ParsedSource, left: ast.expr, right: ast.expr) -> Change:
    """Swap two pieces; the text between them stays."""
    gap = source.content[source.end(left) : source.start(right)].decode()
    new = source.text(right) + gap + source.text(left)
    return Change(kind, source.start(left), source.end(right), new)


def _left_out(
    kind: str, source: ParsedSource, node: ast.stmt, above: Ancestors
) -> Iterator[Change]:
    """Leave out a statement with its lines, where its block holds others."""
    blocks = (getattr(above[-1], name, None) for name in ("body", "orelse", "finalbody"))
    block = next((entry for entry in blocks if isinstance(entry, list) and node in entry), [])
    siblings = [entry for entry in block if entry is not node and not _is_docstring(entry)]
    lines = source.own_lines(node)
    if siblings and lines is not None:
        yield Change(kind, *lines, "")


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_text(node: ast.AST) -> bool:
    """Return whether an operand is text or a list by its form, with which no one can calculate."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict))


def _is_default(node: ast.AST, above: Ancestors) -> bool:
    """Return whether a constant is the default of a parameter."""
    around = above[-1]
    if not isinstance(around, FUNCTIONS):
        return False
    return node in around.args.defaults or node in around.args.kw_defaults


def _called(node: ast.AST) -> str:
    """Return the bare name of the function that is called."""
    function = node.func if isinstance(node, ast.Call) else node
    return str(getattr(function, "attr", getattr(function, "id", "")))
