"""Guessing a schema from examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as AnyValue

from shapecheck.nested import Field, ListOf, Nullable, OneOf, Record
from shapecheck.scalars import Any, Flag, Number, Schema, Text, kind_of


def infer(examples: Sequence[AnyValue]) -> Schema:
    """Guess the strictest schema without bounds that all examples fit.

    Keys that some of the mappings lack are not required. Values of several types give ``OneOf``,
    in the order in which the types appear.
    """
    present = [value for value in examples if value is not None]
    if not present:
        return Any()
    groups: dict[str, list[AnyValue]] = {}
    for value in present:
        groups.setdefault(kind_of(value), []).append(value)
    schemas = [_of_kind(kind, values) for kind, values in groups.items()]
    schema = schemas[0] if len(schemas) == 1 else OneOf(*schemas)
    return Nullable(schema) if len(present) < len(examples) else schema


def _of_kind(kind: str, values: list[AnyValue]) -> Schema:
    """Guess from values that are all of one kind."""
    if kind == "a text":
        return Text()
    if kind == "a number":
        return Number(whole=all(isinstance(value, int) for value in values))
    if kind == "true or false":
        return Flag()
    if kind == "a list":
        return ListOf(infer([item for value in values for item in value]))
    if kind == "a mapping":
        fields: dict[str, Field | Schema] = {}
        for name in dict.fromkeys(key for value in values for key in value):
            found = [value[name] for value in values if name in value]
            fields[name] = Field(infer(found), required=len(found) == len(values))
        return Record("forbid", **fields)
    return Any()
