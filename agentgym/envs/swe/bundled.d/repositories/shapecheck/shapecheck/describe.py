"""Schemas as text."""

from __future__ import annotations

from shapecheck.nested import NO_DEFAULT, Field, ListOf, MapOf, Nullable, OneOf, Record, TupleOf
from shapecheck.scalars import Constant, Flag, Number, Schema, Text


def describe(schema: Schema, indent: int = 0) -> str:
    """Describe a schema; a record takes a line for each key."""
    if isinstance(schema, Text):
        return "text" + bounds(schema.min_length or None, schema.max_length)
    if isinstance(schema, Number):
        name = "whole number" if schema.whole else "number"
        return name + bounds(schema.minimum, schema.maximum)
    if isinstance(schema, Flag):
        return "flag"
    if isinstance(schema, Constant):
        return " | ".join(repr(value) for value in schema.values)
    if isinstance(schema, ListOf):
        size = bounds(schema.min_items or None, schema.max_items)
        return f"list{size} of {describe(schema.item, indent)}"
    if isinstance(schema, TupleOf):
        return f"({', '.join(describe(item, indent) for item in schema.items)})"
    if isinstance(schema, MapOf):
        return f"mapping to {describe(schema.value, indent)}"
    if isinstance(schema, Nullable):
        return f"{describe(schema.schema, indent)} | nothing"
    if isinstance(schema, OneOf):
        return " | ".join(describe(item, indent) for item in schema.schemas)
    if isinstance(schema, Record):
        lines = [_field(name, item, indent + 2) for name, item in schema.fields.items()]
        return "\n".join(["record", *lines])
    return "anything"


def bounds(low: float | None, high: float | None) -> str:
    """Write bounds as in ``(1..5)``; nothing if there are none."""
    if low is None and high is None:
        return ""
    if low == high:
        return f"({low})"
    return f"({'' if low is None else low}..{'' if high is None else high})"


def _field(name: str, item: Field, indent: int) -> str:
    text = " " * indent + name
    if item.default is not NO_DEFAULT:
        return f"{text} = {item.default!r}: {describe(item.schema, indent)}"
    mark = "" if item.required else "?"
    return f"{text}{mark}: {describe(item.schema, indent)}"
