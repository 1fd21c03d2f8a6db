"""Lists and objects as arguments: canonical, with every digit, in every grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgym.actions import ActionSpec, Param, openai_tools, parse, prompt, render
from agentgym.actions.specs import GRAMMARS
from agentgym.errors import ConfigurationError

SPECS = (
    ActionSpec("sum", "Add.", (Param("numbers", "array", items="number"),)),
    ActionSpec("put", "Store.", (Param("row", "object"),)),
)


def read(name: str, value: Any) -> str:
    """Return what is read of a call as models write it."""
    text = json.dumps({"name": name, "arguments": value}) if not isinstance(value, str) else value
    parsed = parse(text, SPECS, "tool_call")
    return "".join(parsed.call.arguments.values()) if parsed.call else parsed.error


def test_values_are_canonical_and_keep_their_digits() -> None:
    digits = '{"name": "sum", "arguments": {"numbers": [0.10, 123456789012345678901234567890]}}'
    assert read("sum", digits) == "[0.10, 123456789012345678901234567890]"
    assert read("sum", {"numbers": " [1,2 ] "}) == "[1, 2]"
    marks = {"row": {"a]": "</row>```", "b": [None, True]}}
    text = read("put", marks)
    assert json.loads(text) == marks["row"] and not set("<`]") & set(text.split("[null")[0])
    for value in ("{}", "[1", "[1] 2", 1, True, "[" * 10_000):
        assert read("sum", {"numbers": value}).endswith("must be JSON, an array")
    call = parse(json.dumps({"name": "put", "arguments": marks}), SPECS, "tool_call").call
    assert call is not None
    for grammar in GRAMMARS:
        assert parse(render(call, SPECS, grammar), SPECS, grammar).call == call
    schema = openai_tools(SPECS)[0]["function"]["parameters"]["properties"]["numbers"]
    assert schema == {"type": "array", "items": {"type": "number"}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, "a"], '[1, "a"]'),
        ({"a": None}, '{"a": null}'),
        (0.10, "0.1"),
        (True, "true"),
        ("plain words", '"plain words"'),
        ("two\nlines [", '"two\\nlines \\u005b"'),
        ("[1,2]", "[1, 2]"),
        ('"quoted"', '"quoted"'),
        ("", '""'),
    ],
)
def test_an_argument_of_any_type_takes_all_values(value: Any, expected: str) -> None:
    specs = (ActionSpec("put", "Store.", (Param("it", "any", description="What."),)),)
    call = parse(json.dumps({"name": "put", "arguments": {"it": value}}), specs, "tool_call").call
    assert call is not None and call.arguments == {"it": expected}
    for grammar in GRAMMARS:
        assert parse(render(call, specs, grammar), specs, grammar).call == call
    properties = openai_tools(specs)[0]["function"]["parameters"]["properties"]
    assert properties == {"it": {"description": "What."}} and "it (JSON): What." in prompt(specs)


def test_a_schema_of_its_own_is_what_function_calls_say() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}
    for row_schema in (schema, {"type": "array"}):
        param = Param("rows", "array", "Rows.", schema=json.dumps(row_schema))
        (tool,) = openai_tools((ActionSpec("put", "Store.", (param,)),))
        shown_schema = tool["function"]["parameters"]["properties"]["rows"]
        assert shown_schema == {"items": {}, **row_schema, "description": "Rows."}


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "list"},
        {"type": "object", "items": "string"},
        {"type": "array", "items": "text"},
        {"type": "array", "enum": ("[]",)},
        {"type": "array", "verbatim": True},
        {"type": "any", "enum": ("1",)},
        {"type": "string", "schema": "{}"},
    ],
)
def test_declarations_that_mean_nothing_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="parameter 'a'"):
        Param("a", **fields)


@pytest.mark.parametrize("value", ["1e999", "-1e309", "1E+400", "NaN", "Infinity", "-inf"])
def test_a_number_is_one_that_json_can_hold(value: str) -> None:
    specs = (ActionSpec("pour", "Pour.", (Param("litres", "number"),)),)
    for text in (value, json.dumps(value)):
        action = f'<tool_call>{{"name": "pour", "arguments": {{"litres": {text}}}}}</tool_call>'
        assert parse(action, specs, "tool_call").call is None
    sound = '<tool_call>{"name": "pour", "arguments": {"litres": 1e300}}</tool_call>'
    assert parse(sound, specs, "tool_call").call is not None
