"""Programs with other inputs: literals are changed, and at most a number's type.

Numbers move; texts are cut, spliced and reordered in the alphabet of the library's tests; lists and
dicts lose, repeat and swap entries; an argument, or a cell of ``parametrize``, becomes one that
stands elsewhere at the same place of the same callee; a statement is left out or done twice. Where
boundaries are given, a literal may become one of them, or equal to another one of its program: that
is where ``<`` and ``<=`` part.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agentgym.envs.swe.held_out.programs import (
    LONGEST_PROGRAM,
    LOOK,
    LOOK_AT_ERROR,
    Program,
    source_text,
)
from agentgym.support.random_stream import Stream

TRIES = 5
"""Changed programs that are drawn, at most, for each that is wanted."""
_NUMBER = re.compile(r"\d+")
_LITERALS = (int, float, str, bytes)
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


class _Place(NamedTuple):
    """Where a literal stands in a program."""

    holder: ast.AST
    field: str
    number: int | None
    node: ast.expr
    argument: tuple[str, int] | None
    """The callee and the number of the argument that it is, if it is one."""

    def put(self, new: ast.expr) -> None:
        """Put another expression there."""
        if self.number is None:
            setattr(self.holder, self.field, new)
        else:
            getattr(self.holder, self.field)[self.number] = new


class Variation:
    """Changed programs of a suite of tests.

    Args:
        programs: All programs of the suite; literals are taken from them.
        boundaries: Values that the library compares with, see :func:`boundaries_of`; without them
            no literal is moved to a boundary.
    """

    def __init__(self, programs: Sequence[Program], boundaries: Collection[Any] = ()) -> None:
        self._programs = programs
        self._boundaries: dict[type, list[Any]] = defaultdict(list)
        for value in boundaries:
            self._boundaries[type(value)].append(value)
        self._plain_texts = {program.text for program in programs}
        # By identity, of the statements of the tests themselves, which live as long as this does.
        self._texts: dict[int, str] = {}
        self._counts: dict[int, int] = {}
        self._arguments: dict[tuple[str, int], list[ast.expr]] = defaultdict(list)
        self._constants: dict[type, list[Any]] = defaultdict(list)
        collected: set[str] = set()
        for program in programs:
            for statement in program.body:
                if id(statement) in self._texts:
                    continue
                text = self._texts[id(statement)] = source_text([statement])
                self._counts[id(statement)] = sum(1 for _ in _places(statement))
                if text not in collected:  # a prelude comes with every row
                    collected.add(text)
                    self._collect(statement)
        characters = {c for text in self._constants[str] for c in text}
        self._alphabet = sorted(characters) or ["a"]

    def draw(
        self, stream: Stream, limit: int, tests: Collection[str] | None = None
    ) -> list[tuple[str, str]]:
        """Return different changed programs, each with the test that it comes from.

        Args:
            stream: Where the draws come from.
            limit: Most programs.
            tests: Only of these tests.
        """
        by_test: dict[str, list[Program]] = defaultdict(list)
        for program in self._programs:
            if tests is None or program.test in tests:
                by_test[program.test].append(program)
        names = sorted(by_test)
        drawn: dict[str, str] = {}
        for _ in range(limit * TRIES if names else 0):
            if len(drawn) >= limit:
                break
            name = stream.choice(names)
            text = self._changed(stream, stream.choice(by_test[name]))
            if text and text not in self._plain_texts:
                drawn.setdefault(text, name)
        return [(name, text) for text, name in drawn.items()]

    # -- parts ----------------------------------------------------------------------------------

    def _collect(self, statement: ast.stmt) -> None:
        """Remember the literals of a statement."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                for number, argument in enumerate(node.args):
                    names = (ast.Name, ast.Call, ast.Starred)
                    if not any(isinstance(part, names) for part in ast.walk(argument)):
                        self._arguments[_callee(node), number].append(argument)
            elif isinstance(node, ast.Constant):
                self._constants[type(node.value)].append(node.value)

    def _changed(self, stream: Stream, program: Program) -> str:
        """Return a changed program; empty if that cannot be written."""
        body = list(program.body)
        if program.columns and stream.percent(50):
            _other_cells(stream, body, program.columns)
        if len(body) > 2 and stream.percent(10):
            _other_steps(stream, body)
        for _ in range(stream.choice((1, 1, 1, 2, 2, 3))):
            counts = [self._count(statement) for statement in body]
            if not any(counts):
                break
            number = stream.below(sum(counts))
            place = next(n for n in range(len(body)) if number < sum(counts[: n + 1]))
            body[place] = copy.deepcopy(body[place])  # the others are still the test's own
            chosen_place = list(_places(body[place]))[number - sum(counts[:place])]
            if not (self._boundaries and stream.percent(50)):
                self._change(stream, chosen_place)
            else:
                self._move(stream, chosen_place, body)
        try:
            text = "\n".join(map(self._text, body))
        except (ValueError, RecursionError, OverflowError):
            return ""
        looks = f"{LOOK}(" in text or f"{LOOK_AT_ERROR}(" in text
        return text if looks and len(text) <= LONGEST_PROGRAM else ""

    def _count(self, statement: ast.stmt) -> int:
        """Return how many literals of a statement may be changed."""
        count = self._counts.get(id(statement))
        return sum(1 for _ in _places(statement)) if count is None else count

    def _text(self, statement: ast.stmt) -> str:
        """Return the source of a statement."""
        text = self._texts.get(id(statement))
        return source_text([statement]) if text is None else text

    def _change(self, stream: Stream, place: _Place) -> None:
        """Put another literal in place of one."""
        pool = self._arguments.get(place.argument, ()) if place.argument else ()
        new: ast.expr | None
        if pool and stream.percent(35):
            new = copy.deepcopy(stream.choice(pool))
        elif isinstance(place.node, ast.Constant):
            new = ast.Constant(self._other_value(stream, place.node.value))
        else:
            new = _other_entries(stream, place.node)
        if new is not None:
            place.put(new)

    def _move(self, stream: Stream, place: _Place, body: Sequence[ast.stmt]) -> None:
        """Move a literal, or a number in a text, to a boundary or to another one beside it."""
        value: Any = getattr(place.node, "value", None)
        inside = [*_NUMBER.finditer(value)] if isinstance(value, str) else []
        if inside and self._boundaries.get(int) and stream.percent(50):
            match = stream.choice(inside)
            number = max(0, stream.choice(self._boundaries[int]) + stream.choice((-1, 0, 0, 1)))
            text = str(number).zfill(len(match[0]))
            place.put(ast.Constant(value[: match.start()] + text + value[match.end() :]))
            return
        kinds = (int, float) if type(value) in (int, float) else (type(value),)
        boundaries = [boundary for kind in kinds for boundary in self._boundaries.get(kind, ())]
        neighbours = [
            part.node.value for statement in body for part in _places(statement)
            if isinstance(part.node, ast.Constant) and type(part.node.value) in kinds
        ]  # fmt: skip
        pools = [pool for pool in (boundaries, neighbours) if pool]
        if not pools:
            self._change(stream, place)
            return
        new = stream.choice(stream.choice(pools))
        if type(new) is int and stream.percent(30):
            new += stream.choice((-1, 1))
        place.put(ast.Constant(new))

    def _other_value(self, stream: Stream, value: Any) -> Any:
        """Return another value of the same type."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            pool = [constant for constant in self._constants[int] if type(constant) is int] or [3]
            return stream.choice((value + 1, value - 1, value + 1, value * 2, -value,
                                  value + stream.between(2, 11), stream.below(20),
                                  stream.choice(pool)))  # fmt: skip
        if isinstance(value, float):
            return stream.choice((value + 0.5, value - 0.5, value * 2, value / 2, value + 0.1,
                                  -value, value + stream.between(1, 8),
                                  stream.choice(self._constants[float] or [2.5])))  # fmt: skip
        if isinstance(value, bytes):
            cut, byte = stream.below(len(value) + 1), bytes([stream.below(256)])
            return stream.choice(
                (value[:cut], value[cut:], value + byte, value[:cut] + byte + value[cut + 1 :])
            )
        return self._other_text(stream, value)

    def _other_text(self, stream: Stream, value: str) -> str:
        """Return a text that resembles another one."""
        new_text = stream.choice(self._constants[str]) or "a"
        character = stream.choice(self._alphabet)
        if not value:
            return stream.choice((new_text, character))
        place = stream.below(len(value))
        start = stream.below(len(new_text))
        piece = new_text[start : start + stream.between(1, 8)]
        digits = [place for place, character in enumerate(value) if character.isdigit()]
        digit = stream.choice(digits) if digits else place
        words = value.split(" ")
        return stream.choice((
            value[:place] + value[place + 1 :],
            value[:place] + value[place] + value[place:],
            value[:place] + character + value[place:],
            value[:place] + character + value[place + 1 :],
            value[:place] + value[place + 1 : place + 2] + value[place] + value[place + 2 :],
            value[:place] + new_text[start:],
            value[:place] + piece + value[place:],
            value[:digit] + str(stream.below(10)) + value[digit + 1 :],
            stream.choice((value.upper(), value.lower(), value.swapcase(), value.title())),
            new_text,
            " ".join(stream.shuffled(words)) if len(words) > 1 else value + value,
        ))  # fmt: skip


def boundaries_of(sources: Iterable[str]) -> list[Any]:
    """Return the numbers and texts that comparisons of a library compare with, in a fixed order.

    Args:
        sources: Its files; files that are not Python are left out.
    """
    constants: dict[tuple[str, str], Any] = {}
    for text in sources:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            for part in ast.walk(node) if isinstance(node, ast.Compare) else ():
                if isinstance(part, ast.Constant) and type(part.value) in _LITERALS:
                    constants[type(part.value).__name__, repr(part.value)] = part.value
    return [constants[key] for key in sorted(constants)]


def _other_cells(
    stream: Stream, body: list[ast.stmt], columns: Mapping[str, tuple[ast.expr, ...]]
) -> None:
    """Give names of ``parametrize`` the cells of other rows."""
    for place, statement in enumerate(body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ""
        if name in columns and isinstance(statement, ast.Assign) and stream.percent(60):
            body[place] = ast.Assign(statement.targets, stream.choice(columns[name]))


def _other_steps(stream: Stream, body: list[ast.stmt]) -> None:
    """Leave a step out, or take it twice."""
    steps = [
        place for place, statement in enumerate(body)
        if isinstance(statement, (ast.Expr, ast.AugAssign)) and not _looks(statement)
    ]  # fmt: skip
    if steps:
        place = stream.choice(steps)
        body[place : place + 1] = [body[place]] * stream.choice((0, 2))


def _looks(statement: ast.stmt) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id in (LOOK, LOOK_AT_ERROR)
        for part in ast.walk(statement)
    )


def _places(statement: ast.stmt) -> Iterator[_Place]:
    """Yield the literals of a statement that may be changed."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        for field, value in ast.iter_fields(node):
            is_list = isinstance(value, list)
            for index, child in enumerate(value if is_list else [value]):
                if not isinstance(child, ast.AST):
                    continue
                waiting.append(child)
                if isinstance(child, ast.expr) and _is_literal(child):
                    called = isinstance(node, ast.Call) and field == "args"
                    argument = (_callee(node), index) if called else None
                    yield _Place(node, field, index if is_list else None, child, argument)


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, _LITERALS)
    loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    return isinstance(node, _CONTAINERS) and loaded


def _callee(node: ast.AST) -> str:
    """Return the bare name of the function that a call calls."""
    function = getattr(node, "func", None)
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _other_entries(stream: Stream, node: ast.expr) -> ast.expr | None:
    """Return a container with other entries; None if nothing can be done."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.Dict):
        size = len(node.keys)
        if not size:
            return None
        first_index, second_index = stream.below(size), stream.below(size)
        if size > 1 and stream.percent(40):
            del node.keys[first_index], node.values[first_index]
        else:
            values = node.values
            values[first_index], values[second_index] = values[second_index], values[first_index]
        return node
    assert isinstance(node, (ast.List, ast.Tuple, ast.Set))
    entries, fixed = node.elts, isinstance(node, ast.Tuple)
    if not entries or (fixed and stream.percent(80)):
        return None
    first_index, second_index = stream.below(len(entries)), stream.below(len(entries))
    change = 2 if fixed else stream.below(4)
    if change == 0 and (len(entries) > 1 or isinstance(node, ast.List)):
        del entries[first_index]
    elif change == 1:
        entries.insert(second_index, copy.deepcopy(entries[first_index]))
    elif change == 2:
        entries[first_index], entries[second_index] = entries[second_index], entries[first_index]
    else:
        entries.reverse()
    return node
