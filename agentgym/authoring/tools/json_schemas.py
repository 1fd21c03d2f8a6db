"""JSON schemas of other projects in plain form: without references, constants and null.

Pydantic, zod and their kin write ``$ref``, ``anyOf``, ``const`` and ``allOf`` for every nested
model. A schema may refer to itself, and references may double at each step, so depth and size of
the result are bounded; what lies deeper takes any value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

DEPTH = 8
"""Levels of a schema that are read."""
MOST_NODES = 400
"""Most schemas inside of a schema that are read."""
LONGEST_SHAPE = 400
"""Most characters of a schema in words."""
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""Python's types of values, by JSON's."""
NULLABLE = "nullable"
"""Key of a plain schema that takes null, too."""
_CONSTRAINTS = (
    "title", "description", "default", "format", "pattern", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxItems", "uniqueItems",
)  # fmt: skip
"""Keys that are kept if their values are no containers."""


def plain_schema(schema: object) -> dict[str, Any]:
    """Return a JSON schema in plain form.

    Args:
        schema: The schema, whatever it holds.

    Returns:
        A schema with no other keys than ``type`` (one name), ``enum``, ``properties``,
        ``required``, ``items``, ``additionalProperties``, ``anyOf`` (what one type cannot say),
        ``nullable``, and constraints. Empty: any value.
    """
    return _Reader(schema).read(schema, 0, ())


def fields_of(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a plain schema of an object, and the names of those that it needs.

    Of several forms of the object each gives some fields; needed is what all of them need.
    """
    fields: dict[str, Any] = {}
    forms = [option for option in keywords.get("anyOf", ()) if "properties" in option]
    for form in forms:
        fields |= form["properties"]
    shared = [set(form.get("required", ())) for form in forms]
    needed = list(keywords.get("required", ()))
    needed += sorted(set.intersection(*shared) - set(needed)) if shared else []
    return {**fields, **keywords.get("properties", {})}, needed


def json_type(value: object) -> str:
    """Return the name of JSON's type of a value; "" for null."""
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, kinds in TYPES.items() if isinstance(value, kinds)), "")


def types_of(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return JSON's types of the values that a plain schema takes; empty: all."""
    if "type" in schema:
        return frozenset({str(schema["type"])})
    values = schema.get("enum")
    if values:
        return frozenset(map(json_type, values))
    options = [types_of(option) for option in schema.get("anyOf", ())]
    return frozenset().union(*options) if all(options) else frozenset()


def shape(schema: Mapping[str, Any]) -> str:
    """Write a plain schema in words of bounded length, such as ``{"x": number}``."""
    text = _shape(schema)
    return text if len(text) <= LONGEST_SHAPE else f"{text[: LONGEST_SHAPE - 3]}..."


class _Reader:
    """Reads the parts of a schema.

    Args:
        root: The schema, to which references lead.
    """

    def __init__(self, root: object) -> None:
        self._root, self._nodes_left = root, MOST_NODES

    def read(self, schema: object, depth: int, above: tuple[str, ...]) -> dict[str, Any]:
        """Return a part in plain form; ``above`` are the references that led to it."""
        self._nodes_left -= 1
        if not isinstance(schema, Mapping) or depth > DEPTH or self._nodes_left < 0:
            return {}
        keywords = _read_keywords(schema)
        parts = [self._referred(schema.get("$ref"), depth, above)]
        parts += [self.read(part, depth + 1, above) for part in _listed(schema, "allOf")]
        for key in ("anyOf", "oneOf"):
            options = [self.read(option, depth + 1, above) for option in _listed(schema, key)]
            parts.append(_joined(options))
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            keywords["properties"] = {
                str(name): self.read(field, depth + 1, above) for name, field in properties.items()
            }
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), Mapping):
                keywords[key] = self.read(schema[key], depth + 1, above)
        for part in parts:
            keywords = _merged(part, keywords)
        if "type" not in keywords and "properties" in keywords:
            keywords["type"] = "object"
        return keywords

    def _referred(self, reference: object, depth: int, above: tuple[str, ...]) -> dict[str, Any]:
        """Return what a reference leads to; of one that leads back to itself its type alone."""
        if not isinstance(reference, str):
            return {}
        target = self._find(reference)
        if reference in above:
            kind = target.get("type") if isinstance(target, Mapping) else None
            return {"type": kind} if kind in TYPES else {}
        return self.read(target, depth + 1, (*above, reference))

    def _find(self, reference: str) -> object:
        """Return what stands at a place of the schema; None elsewhere and where nothing is."""
        if not reference.startswith("#"):
            return None
        place = self._root
        for step in filter(None, reference[1:].split("/")):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(place, Mapping):
                place = place.get(name)
            elif isinstance(place, Sequence) and name.isdecimal() and int(name) < len(place):
                place = place[int(name)]
            else:
                return None
        return place


def _read_keywords(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a schema says itself: type, values, required fields and constraints."""
    keywords: dict[str, Any] = {
        key: schema[key]
        for key in _CONSTRAINTS
        if key in schema and not isinstance(schema[key], Mapping | list)
    }
    kinds = schema.get("type")
    names = kinds if isinstance(kinds, list) else [kinds]
    json_types = [*dict.fromkeys(name for name in names if isinstance(name, str) and name in TYPES)]
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        keywords["enum"] = [value for value in values if value is not None]
        kinds_of_values = {json_type(value) for value in keywords["enum"]}
        # Several types say less than the values do.
        json_types = json_types if len(json_types) == 1 else sorted(kinds_of_values)
    if (
        "null" in names
        or schema.get(NULLABLE) is True
        or (isinstance(values, list) and None in values)
    ):
        keywords[NULLABLE] = True
    if len(json_types) == 1 or "enum" not in keywords:
        keywords |= _joined([{"type": name} for name in json_types])
    if not keywords.get("enum", True):
        del keywords["enum"]  # null alone
    required = schema.get("required")
    if isinstance(required, list):
        keywords["required"] = [name for name in required if isinstance(name, str)]
    return keywords


def _joined(options: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one schema of several alternatives."""
    options_left = [option for option in options if set(option) - {NULLABLE} or not option]
    null = {NULLABLE: True} if any(option.get(NULLABLE) for option in options) else {}
    if len(options_left) == 1:
        return {**options_left[0], **null}
    kinds = {option.get("type") for option in options_left}
    if not options_left or None in kinds:
        return {**({"anyOf": options_left} if all(options_left) and options_left else {}), **null}
    if all("enum" in option for option in options_left) and len(kinds) == 1:
        values = [value for option in options_left for value in option["enum"]]
        distinct = {json.dumps(value, sort_keys=True): value for value in values}
        return {"type": kinds.pop(), "enum": [*distinct.values()], **null}
    has_no_enum = not any("enum" in option for option in options_left)
    if has_no_enum and kinds <= {"integer", "number"}:
        return {"type": "integer" if kinds == {"integer"} else "number", **null}
    if has_no_enum and kinds in ({"string"}, {"boolean"}):
        return {"type": kinds.pop(), **null}
    kind_keyword = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {**kind_keyword, "anyOf": options_left, **null}


def _merged(part: Mapping[str, Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return two schemas that hold at once as one; the second has the last word."""
    merged = {**part, **keywords}
    if "properties" in part and "properties" in keywords:
        merged["properties"] = {**part["properties"], **keywords["properties"]}
    if "required" in part and "required" in keywords:
        merged["required"] = list(dict.fromkeys((*part["required"], *keywords["required"])))
    return merged


def _listed(schema: Mapping[str, Any], key: str) -> Sequence[object]:
    parts = schema.get(key)
    return parts if isinstance(parts, list) else ()


def _shape(schema: Mapping[str, Any]) -> str:
    """Write a plain schema in words."""
    null = " or null" if schema.get(NULLABLE) else ""
    if "enum" in schema:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"]) + null
    if "properties" in schema:
        required = schema.get("required", ())
        fields = (
            f"{json.dumps(name, ensure_ascii=False)}: {_shape(field)}"
            + ("" if name in required else " (optional)")
            for name, field in schema["properties"].items()
        )
        return f"{{{', '.join(fields)}}}{null}"
    if "anyOf" in schema:
        return " or ".join(_shape(option) for option in schema["anyOf"]) + null
    if schema.get("items"):
        return f"[{_shape(schema['items'])}, ...]{null}"
    if schema.get("additionalProperties"):
        return f"{{name: {_shape(schema['additionalProperties'])}, ...}}{null}"
    return f"{schema.get('type', 'any value')}{null}"
