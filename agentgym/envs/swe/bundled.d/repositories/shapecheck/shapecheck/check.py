"""Checking values."""

from __future__ import annotations

from typing import Any as AnyValue

from shapecheck.problem import Context, Problem
from shapecheck.scalars import Schema


class Invalid(ValueError):
    """A value breaks rules of its schema."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in found))
        self.problems = found


def check(schema: Schema, value: AnyValue, coerce: bool = False) -> AnyValue:
    """Check a value and return it in its final form, with defaults and conversions.

    Args:
        schema: What it must be like.
        value: The value; it is not changed.
        coerce: Whether texts may stand for numbers and flags.

    Raises:
        Invalid: The value breaks a rule; the error lists all problems.
    """
    context = Context(coerce)
    result = schema.visit(value, context)
    if context.problems:
        raise Invalid(context.problems)
    return result


def problems(schema: Schema, value: AnyValue, coerce: bool = False) -> list[str]:
    """List what is wrong with a value; empty if nothing is."""
    context = Context(coerce)
    schema.visit(value, context)
    return [str(problem) for problem in context.problems]


def is_valid(schema: Schema, value: AnyValue, coerce: bool = False) -> bool:
    """Tell whether a value breaks no rule."""
    return not problems(schema, value, coerce)
