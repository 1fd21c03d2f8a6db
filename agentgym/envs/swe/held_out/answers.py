"""Compare answers: which parts of a right answer a repair has to reproduce, and what is equal.

Answers are decoded JSON of :func:`~agentgym.envs.swe.held_out.driver.encode`. Those of a submission
are untrusted: they are compared, piece by piece, with the bank's, and never used otherwise.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Collection, Iterable
from typing import Any

from agentgym.envs.swe.held_out.driver import LONGEST_ANSWER

NEAR = 1e-9
"""Relative tolerance of floating-point numbers."""
_FAULTS = ("!", "end")
_UNTOLD = ("deep", "none", "died", "long")


def read_answer(line: str) -> Any:
    """Return the answer in a line; None if it is too long or not JSON."""
    if len(line) > LONGEST_ANSWER:
        return None
    try:
        return json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"expected JSON, got {constant}")


def known_names(tests: Iterable[str]) -> frozenset[str]:
    """Return the names of all attributes that tests mention: only those of objects are compared.

    ``iter()`` is always among them, and ``str()`` if a test formats values as text.

    Args:
        tests: Sources of the test files.
    """
    names: set[str] = {"iter()"}
    for text in tests:
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        text_uses = (isinstance(node, ast.Name) and node.id in ("str", "format") for node in nodes)
        if any(text_uses) or any(isinstance(node, ast.JoinedStr) for node in nodes):
            names.add("str()")
    return frozenset(names)


def binding(answer: Any, names: Collection[str], *, as_plain: bool) -> Any:
    """Return the part of a right answer that a repair has to reproduce; None if there is none.

    Of an object, these are the attributes that tests mention; of an exception, its class and, for
    an unchanged test, its message. An exception that no ``raise`` of the package caused, such as a
    TypeError deep inside, is accidental and does not count, unless the unchanged test expects it.

    Args:
        answer: The answer.
        names: Return value of :func:`known_names`.
        as_plain: Whether the program is an unchanged test, which also runs in the visible suite.
    """
    if not isinstance(answer, list) or not answer:
        return None
    try:
        return [_bound(part, names, as_plain) for part in answer]
    except ValueError:
        return None


def _bound(value: Any, names: Collection[str], as_plain: bool) -> Any:
    """Return the part of a value that a repair has to reproduce.

    Raises:
        ValueError: The value depends on implementation details of the package, or is incomplete.
    """
    if isinstance(value, dict):
        return {key: _bound(part, names, as_plain) for key, part in value.items() if key in names}
    if not isinstance(value, list):
        return value
    head = value[0] if value and isinstance(value[0], str) else ""
    if head in _UNTOLD:
        raise ValueError(head)
    if head in _FAULTS:
        if len(value) == 2:  # raised by reading an attribute
            return value
        _, name, message, is_raised, _ = value
        if not is_raised and not (as_plain and head == "!"):
            raise ValueError("an accident")
        return [head, name, message] if as_plain and is_raised else [head, name]
    return [_bound(part, names, as_plain) for part in value]


def equal(expected: Any, actual: Any) -> bool:
    """Return whether an answer is right.

    Numbers may differ slightly, objects may have additional attributes, and an exception may be an
    instance of a subclass.

    Args:
        expected: The right answer; its depth bounds the recursion.
        actual: The answer from a box.
    """
    number = _number(expected)
    if number is not None:
        actual_number = _number(actual)
        return actual_number is not None and _near(number, actual_number)
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and equal(part, actual[key]) for key, part in expected.items()
        )
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return False
        if expected[:1] and expected[0] in _FAULTS:
            return _equal_faults(expected, actual)
        return len(expected) == len(actual) and all(map(equal, expected, actual))
    return type(expected) is type(actual) and bool(expected == actual)


def _equal_faults(expected: list[Any], actual: list[Any]) -> bool:
    """Return whether an exception has the expected class, or a subclass, and the right message."""
    if len(actual) not in (2, 5) or actual[0] != expected[0]:
        return False
    bases = actual[4] if len(actual) == 5 and isinstance(actual[4], list) else []
    if expected[1] not in (actual[1], *bases):
        return False
    return len(expected) == 2 or (len(actual) == 5 and expected[2] == actual[2])


def _number(value: Any) -> float | int | None:
    """Return a number in an answer, or None; truth values are numbers, as in Python."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, list) and len(value) == 2 and value[0] == "f":
        try:
            return float(value[1]) if isinstance(value[1], str) else None
        except ValueError:
            return None
    return None


def _near(left: float | int, right: float | int) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    try:
        both_nan = left != left and right != right
        return both_nan or math.isclose(left, right, rel_tol=NEAR, abs_tol=1e-12)
    except OverflowError:
        return False
