"""Schemas of values that contain others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any as AnyValue

from shapecheck.problem import Context
from shapecheck.scalars import Schema, kind_of, plural

NO_DEFAULT = object()


class ListOf(Schema):
    """A list of values that are all alike.

    Args:
        item: What each of them must be like.
        min_items: The fewest.
        max_items: The most; ``None`` is without limit.
        unique: Whether no two may be equal.
    """

    def __init__(
        self,
        item: Schema,
        min_items: int = 0,
        max_items: int | None = None,
        unique: bool = False,
    ) -> None:
        super().__init__()
        self.item = item
        self.min_items = min_items
        self.max_items = max_items
        self.unique = unique

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check the list and its items."""
        if not isinstance(value, (list, tuple)):
            context.report(f"a list expected, got {kind_of(value)}")
            return value
        if len(value) < self.min_items:
            context.report(f"at least {plural(self.min_items, 'item')}, got {len(value)}")
        if self.max_items is not None and len(value) > self.max_items:
            context.report(f"at most {plural(self.max_items, 'item')}, got {len(value)}")
        items = [self.item.visit(item, context.at(place)) for place, item in enumerate(value)]
        if self.unique:
            for place, item in enumerate(items):
                first = items.index(item)
                if first < place:
                    context.at(place).report(f"the same as item {first}")
        return items


class TupleOf(Schema):
    """A list of a fixed length with a schema for each place.

    Args:
        *items: The schemas.
    """

    def __init__(self, *items: Schema) -> None:
        super().__init__()
        self.items = items

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check the length and each place; the result is a tuple."""
        if not isinstance(value, (list, tuple)):
            context.report(f"a list expected, got {kind_of(value)}")
            return value
        if len(value) != len(self.items):
            context.report(f"{plural(len(self.items), 'item')} expected, got {len(value)}")
            return value
        pairs = zip(self.items, value, strict=True)
        return tuple(
            schema.visit(item, context.at(place)) for place, (schema, item) in enumerate(pairs)
        )


class MapOf(Schema):
    """A mapping from texts to values that are all alike.

    Args:
        value: What the values must be like.
        key: What the keys must be like.
    """

    def __init__(self, value: Schema, key: Schema | None = None) -> None:
        super().__init__()
        self.value = value
        self.key = key

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check keys and values."""
        if not isinstance(value, dict):
            context.report(f"a mapping expected, got {kind_of(value)}")
            return value
        result = {}
        for key, item in value.items():
            inner = context.at(str(key))
            if not isinstance(key, str):
                inner.report(f"the key is {kind_of(key)}, not a text")
            elif self.key is not None:
                trial = inner.trial()
                key = self.key.visit(key, trial)
                for problem in trial.problems:
                    inner.report(f"key: {problem.message}")
            result[key] = self.value.visit(item, inner)
        return result


@dataclass(frozen=True)
class Field:
    """A key of a record."""

    schema: Schema
    required: bool = True
    default: AnyValue = NO_DEFAULT
    """What stands for a key that is missing; it is then not required."""
    alias: str = ""
    """Another name under which the key may stand in the data."""


class Record(Schema):
    """A mapping with known keys.

    Args:
        extra: What to do with other keys: ``forbid``, ``keep`` or ``drop``.
        **fields: The keys; a schema alone is a required field.
    """

    def __init__(self, extra: str = "forbid", **fields: Field | Schema) -> None:
        super().__init__()
        if extra not in ("forbid", "keep", "drop"):
            raise ValueError(f"extra is forbid, keep or drop, not {extra!r}")
        self.extra = extra
        self.fields = {
            name: Field(item) if isinstance(item, Schema) else item for name, item in fields.items()
        }
        self.field_rules: list[tuple[str, Callable[[dict[str, AnyValue]], bool], str]] = []

    def rule(self, name: str, test: Callable[[dict[str, AnyValue]], bool], message: str) -> Record:
        """Add a rule about several keys, asked if all of them are right.

        Args:
            name: The key at which the problem is reported.
            test: Gets the whole record.
            message: What is wrong if the test says no.
        """
        record = copy.copy(self)
        record.field_rules = [*self.field_rules, (name, test, message)]
        return record

    def extend(self, **fields: Field | Schema) -> Record:
        """Make a record with more keys, or other schemas for some."""
        record = copy.copy(self)
        record.fields = {**self.fields, **Record("forbid", **fields).fields}
        return record

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Check the keys that are known and look for others."""
        if not isinstance(value, dict):
            context.report(f"a mapping expected, got {kind_of(value)}")
            return value
        before = len(context.problems)
        result: dict[str, AnyValue] = {}
        used = set()
        for name, item in self.fields.items():
            key = name if name in value or not item.alias else item.alias
            used.add(key)
            if key in value:
                result[name] = item.schema.visit(value[key], context.at(name))
            elif item.default is not NO_DEFAULT:
                result[name] = copy.deepcopy(item.default)
            elif item.required:
                context.at(name).report("missing")
        for key in value:
            if key in used:
                continue
            if self.extra == "forbid":
                context.at(str(key)).report("unknown key")
            elif self.extra == "keep":
                result[key] = value[key]
        if len(context.problems) == before:
            for name, test, message in self.field_rules:
                if not test(result):
                    context.at(name).report(message)
        return result


class OneOf(Schema):
    """A value that fits one of several schemas; the first that fits counts.

    Args:
        *schemas: The schemas.
    """

    def __init__(self, *schemas: Schema) -> None:
        super().__init__()
        if not schemas:
            raise ValueError("at least one schema is needed")
        self.schemas = schemas

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Try the schemas; if none fits, report what the one with the deepest problem says."""
        trials = []
        for schema in self.schemas:
            trial = context.trial()
            result = schema.visit(value, trial)
            if not trial.problems:
                return result
            trials.append(trial.problems)
        deepest = max(trials, key=lambda found: max(len(problem.path) for problem in found))
        if max(len(problem.path) for problem in deepest) > len(context.path):
            context.problems.extend(deepest)
        else:
            messages = dict.fromkeys(problem.message for found in trials for problem in found)
            context.report(" or ".join(messages))
        return value


class Nullable(Schema):
    """A value that may be ``None``.

    Args:
        schema: What it must be like otherwise.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self.schema = schema

    def convert(self, value: AnyValue, context: Context) -> AnyValue:
        """Accept ``None`` or check the value."""
        return None if value is None else self.schema.visit(value, context)
