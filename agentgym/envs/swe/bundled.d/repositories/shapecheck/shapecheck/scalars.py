"""Schemas of single values."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any as AnyValue
from typing import TypeVar

from shapecheck.problem import Context

S = TypeVar("S", bound="Schema")
TRUE_WORDS = ("true", "yes", "on", "1")
FALSE_WORDS = ("false", "no", "off", "0")


class Schema:
    """What a value must be like. Schemas are not changed: ``where`` makes a new one."""

    def __init__(self) -> None:
        self.rules: list[tuple[Callable[[AnyValue], bool], str]] = []

    def where(self: S, test: Callable[[AnyValue], bool], message: str) -> S:
        """Add a rule that is asked if the value is right otherwise.

        Args:
            test: Tells whether a value is right.
            message: What is wrong if it is not.
        """
        schema = copy.copy(self)
        schema.rules = [*self.rules, (test, message)]
        return schema

    def visit(self, value: AnyValue, context: Context) -> AnyValue:
        """Check a value and return it in its final form; problems go to the context."""
        before = len(context.problems)
        result = self.convert(value, context)
        if len(context.problems) == before:
            for test, message in self.rules:
                if not test(result):
                    context.report(message)
        return result

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check a value without the added rules."""
        raise NotImplementedError


class Any(Schema):
    """Whatever there may be."""

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Accept everything."""
        return value


class Constant(Schema):
    """One of some fixed values.

    Args:
        *values: The values; True and 1 are different.
    """

    def __init__(self, *values: AnyValue) -> None:
        super().__init__()
        self.values = values

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Accept the values only."""
        if not any(type(value) is type(item) and value == item for item in self.values):
            known = ", ".join(repr(item) for item in self.values)
            context.report(f"one of {known} expected, got {value!r}")
        return value


class Text(Schema):
    """A string.

    Args:
        min_length: The fewest characters.
        max_length: The most characters; ``None`` is without limit.
        pattern: A regular expression for the whole text.
        strip: Whether blanks at both ends are dropped before anything is checked.
    """

    def __init__(
        self,
        min_length: int = 0,
        max_length: int | None = None,
        pattern: str | None = None,
        strip: bool = False,
    ) -> None:
        super().__init__()
        self.min_length = min_length
        self.max_length = max_length
        self.pattern = pattern
        self.strip = strip

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check type, length and pattern."""
        if not isinstance(value, str):
            context.report(f"a text expected, got {kind_of(value)}")
            return value
        text = value.strip() if self.strip else value
        if len(text) < self.min_length:
            context.report(f"at least {plural(self.min_length, 'character')}, got {len(text)}")
        if self.max_length is not None and len(text) > self.max_length:
            context.report(f"at most {plural(self.max_length, 'character')}, got {len(text)}")
        if self.pattern is not None and not re.fullmatch(self.pattern, text):
            context.report(f"{text!r} does not match {self.pattern}")
        return text


class Number(Schema):
    """An int or float.

    Args:
        minimum: The least value.
        maximum: The greatest value.
        whole: Whether it must be whole; 3.0 becomes 3.
        multiple_of: A whole number of which it must be a multiple.
    """

    def __init__(
        self,
        minimum: float | None = None,
        maximum: float | None = None,
        whole: bool = False,
        multiple_of: int | None = None,
    ) -> None:
        super().__init__()
        self.minimum = minimum
        self.maximum = maximum
        self.whole = whole
        self.multiple_of = multiple_of

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check type and bounds."""
        number = _to_number(value) if context.coerce and isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            context.report(f"a number expected, got {kind_of(value)}")
            return value
        if self.whole and isinstance(number, float):
            if not number.is_integer():
                context.report(f"a whole number expected, got {number}")
                return value
            number = int(number)
        if self.minimum is not None and number < self.minimum:
            context.report(f"at least {self.minimum}, got {number}")
        if self.maximum is not None and number > self.maximum:
            context.report(f"at most {self.maximum}, got {number}")
        if self.multiple_of is not None and number % self.multiple_of != 0:
            context.report(f"a multiple of {self.multiple_of} expected, got {number}")
        return number


class Flag(Schema):
    """True or False; with coercion also words such as yes and no."""

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check the type."""
        if isinstance(value, bool):
            return value
        if context.coerce and isinstance(value, str):
            if value.lower() in TRUE_WORDS:
                return True
            if value.lower() in FALSE_WORDS:
                return False
        context.report(f"true or false expected, got {kind_of(value)}")
        return value


def _to_number(text: str) -> AnyValue:
    """The number that a text is, or the text."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def kind_of(value: AnyValue) -> str:
    """Name the type of a value as people do."""
    if value is None:
        return "nothing"
    names: Sequence[tuple[type, str]] = [
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (str, "a text"),
        (list, "a list"),
        (tuple, "a list"),
        (dict, "a mapping"),
    ]
    for kind, name in names:
        if isinstance(value, kind):
            return name
    return type(value).__name__


def plural(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
