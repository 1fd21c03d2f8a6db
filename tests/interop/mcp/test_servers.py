"""``mcp:COMMAND`` with servers as they are: stray lines, nested schemas, keys of their own."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgym.actions import openai_tools, parse, render
from agentgym.actions.specs import GRAMMARS
from agentgym.authoring.tools.tool_actions import make_tool
from agentgym.core.env import TextEnv
from agentgym.errors import EnvFailure
from agentgym.interop.mcp.imported import NO_REWARD, NO_WORDS, make
from tests.interop.mcp.mcp_servers import ITEM, ODD, ORDER, SEARCH, STRUCTURED

SCRIPT = Path(__file__).with_name("mcp_servers.py")


@contextmanager
def opened(name: str, **options: Any) -> Iterator[TextEnv]:
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(SCRIPT))} {name}"
    env = make(command, grammar="tool_call", **options)
    try:
        env.reset(seed=0)
        yield env
    finally:
        env.close()


def call(tool: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def test_lines_that_are_no_messages_are_skipped() -> None:
    with opened("banner") as env:
        for _ in range(3):
            observation, *_, info = env.step(call("look"))
            assert observation == "a desk" and info["action_valid"]


def test_the_first_such_line_is_named_where_the_server_fails() -> None:
    message = r"is no message: 'INFO starting server v1\.2'"
    with opened("dying") as env, pytest.raises(EnvFailure, match=message):
        env.step(call("look"))


@pytest.mark.parametrize("name", STRUCTURED)
def test_keys_of_others_are_not_ours(name: str) -> None:
    with opened("foreign") as env:
        assert NO_REWARD in env.limits  # type: ignore[attr-defined]
        observation, reward, terminated, truncated, info = env.step(call(name))
        assert json.loads(observation) == STRUCTURED[name]
        assert (reward, terminated, truncated, info["action_valid"]) == (0.0, False, False, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bare", '{"temperature": 21.5, "sky": "clear ☀"}'),
        ("missing", '{"n": 1}'),
        ("nothing", "(the tool returned nothing)"),
        ("null", "(the tool returned nothing)"),
        ("failed", NO_WORDS),
        ("words", "plain words"),
        ("old", '{"toolResult": [1, 2]}'),
        ("blocks", "inside a file\n[resource_link: file:///b.txt]\n[image]\nnull\nbare"),
    ],
)
def test_content_is_shown_wherever_it_is(name: str, expected: str) -> None:
    with opened("odd") as env:
        observation, *_, info = env.step(call(name))
        assert observation == expected and info["action_valid"] == (name != "failed")
    assert len(ODD) == 8


def test_nested_models_can_be_given() -> None:
    arguments = {
        "items": [{"sku": "a", "count": 2}, {"sku": "b"}],
        "to": {"street": "Main", "inside": {"street": "Yard"}},
        "billing": {"street": "Other"},
        "speed": "fast",
    }
    with opened("orders") as env:
        observation, *_, info = env.step(call("order", **arguments))
        assert info["action_valid"] and json.loads(observation) == arguments
        prompt = env.action_prompt()
        assert '[{"sku": string, "count": integer (optional)}, ...]' in prompt
        assert "one of slow, fast" in prompt and "Where it goes." in prompt
        refused = env.step(call("order", items=[], to="Main"))[4]
        assert not refused["action_valid"]


def test_schemas_of_function_calls_have_no_references() -> None:
    (tool,) = openai_tools((make_tool("order", "", ORDER).spec,))
    properties = tool["function"]["parameters"]["properties"]
    assert "$ref" not in json.dumps(tool)
    assert properties["items"]["items"]["properties"]["sku"] == ITEM["properties"]["sku"]  # type: ignore[index]
    assert properties["to"]["required"] == ["street"]
    assert properties["to"]["properties"]["inside"]["type"] == "object"


def test_all_arguments_that_may_be_left_out_can_be_given() -> None:
    everything = {"mode": "web", "query": ["a", "b"], "lang": "de", "cursor": "c"}
    everything |= {f"o{number}": 10 * number for number in range(1, 8)} | {"extra": {"any": [None]}}
    some = {"mode": "web", "query": "a ]", "o2": 1, "o7": 2, "extra": "words"}
    with opened("search") as env:
        for arguments in (everything, some):
            observation, *_, info = env.step(call("search", **arguments))
            assert info["action_valid"], observation
            assert json.loads(observation) == {"cursor": None, **arguments}
        assert json.loads(env.step(call("search", **{**some, "query": 3.5}))[0])["query"] == "3.5"
        for bad_input in ({"mode": "other"}, {"lang": "fr"}, {"o2": "many"}):
            assert not env.step(call("search", **{**some, **bad_input}))[4]["action_valid"]


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_any_choice_of_arguments_is_written_and_read(grammar: str) -> None:
    specs = (make_tool("search", "", SEARCH).spec,)
    optional = [param.name for param in specs[0].params if not param.required]
    assert len(optional) == 10
    for number in (*range(0, 1 << len(optional), 37), (1 << len(optional)) - 1):
        arguments: dict[str, Any] = {"mode": "web", "query": "x"}
        values = {"lang": "en", "cursor": "two\nlines <o1> ]", "extra": "[1, 2]"}
        for place, name in enumerate(optional):
            if number >> place & 1:
                arguments[name] = values.get(name, place)
        parsed = parse(call("search", **arguments), specs, "tool_call").call
        assert parsed is not None
        assert parse(render(parsed, specs, grammar), specs, grammar).call == parsed
