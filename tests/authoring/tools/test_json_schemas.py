"""JSON schemas in plain form, whatever they refer to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentgym.authoring.tools.json_schemas import (
    LONGEST_SHAPE,
    MOST_NODES,
    fields_of,
    plain_schema,
    shape,
    types_of,
)
from agentgym.authoring.tools.tool_actions import make_tool

SIDE = {"enum": ["left", "right"], "type": "string"}


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"$ref": "#/$defs/S", "$defs": {"S": SIDE}}, SIDE),
        ({"$ref": "#/definitions/a~1b%20c", "definitions": {"a/b c": SIDE}}, SIDE),
        ({"$ref": "#/$defs/L/1", "$defs": {"L": [{}, SIDE]}}, SIDE),
        (
            {
                "$ref": "#/$defs/A",
                "$defs": {"A": {"$ref": "#/$defs/B"}, "B": SIDE},
                "default": "left",
            },
            {**SIDE, "default": "left"},
        ),
        ({"$ref": "#/$defs/none"}, {}),
        ({"$ref": "https://example.org/s.json"}, {}),
        ({"const": 5}, {"type": "integer", "enum": [5]}),
        ({"const": None}, {"nullable": True}),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"enum": ["a", 1]}, {"enum": ["a", 1]}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "integer", "nullable": True}, {"type": "integer", "nullable": True}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        (
            {"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": ["b", "c"]}, {"type": "null"}]},
            {"type": "string", "enum": ["a", "b", "c"], "nullable": True},
        ),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "string"}, {}]}, {}),
        (
            {"anyOf": [{"type": "string"}, {"type": "array"}]},
            {"anyOf": [{"type": "string"}, {"type": "array"}]},
        ),
        (
            {"allOf": [{"properties": {"a": SIDE}, "required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": SIDE}, "required": ["b", "a"]},
        ),
        (True, {}),
        ([], {}),
        ({"type": "file", "enum": [], "required": "a", "properties": []}, {}),
    ],
)
def test_what_schemas_say_in_many_ways(schema: Any, plain: dict[str, Any]) -> None:
    assert plain_schema(schema) == plain
    assert plain_schema(plain) == plain


def test_schemas_that_refer_to_themselves_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    loop = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    for schema in ({"$ref": "#/$defs/N", "$defs": {"N": node}}, loop, {"$ref": "#"}):
        plain_form = plain_schema(schema)
        assert len(json.dumps(plain_form)) < 1000 and "$ref" not in json.dumps(plain_form)
    assert plain_schema({"$ref": "#/$defs/N", "$defs": {"N": node}})["properties"]["next"] == {
        "type": "object"
    }


def test_references_that_double_at_each_step_are_bounded() -> None:
    defs = {
        f"D{n}": {"properties": {side: {"$ref": f"#/$defs/D{n + 1}"} for side in "ab"}}
        for n in range(60)
    }
    plain_form = plain_schema({"$ref": "#/$defs/D0", "$defs": defs})
    assert json.dumps(plain_form).count("{") < 2 * MOST_NODES + 2
    assert len(shape(plain_form)) <= LONGEST_SHAPE
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep, "type": "array"}
    assert shape(plain_schema(deep)).startswith("[[[[")


def test_several_forms_of_an_object_give_all_their_fields() -> None:
    forms = [
        {"properties": {"kind": {"const": "go"}, "to": {"type": "string"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "say"}, "words": {}}, "required": ["kind", "words"]},
    ]
    fields, needed = fields_of(plain_schema({"oneOf": forms}))
    assert list(fields) == ["kind", "to", "words"] and needed == ["kind"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5)
    | st.sampled_from(["object", "array", "#", "#/$defs/A", "#/properties", "null", "string"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["$ref", "$defs", "A", "type", "enum", "const", "anyOf", "allOf", "items", "properties",
             "required", "additionalProperties", "default", "description", "nullable"]
        ), inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(JSON)
@example({"type": ["object", "object"], "enum": [False]})
@example({"type": ["string", "number"], "enum": [False]})
def test_no_schema_breaks_the_reader(schema: Any) -> None:
    plain_form = plain_schema(schema)
    assert plain_schema(plain_form) == plain_form
    assert len(shape(plain_form)) <= LONGEST_SHAPE and isinstance(types_of(plain_form), frozenset)
    make_tool("tool", "", {"properties": {"a": plain_form, "b": True}, "required": ["a"]})
