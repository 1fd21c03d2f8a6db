"""Calls in the forms of other families are read if they are JSON, else the parser is named."""

from __future__ import annotations

import pytest

from agentgym.actions import ActionCall, parse
from agentgym.actions.call_forms import FORMS, find_form
from tests.actions.test_grammars import SHOP

RED = ActionCall("search", {"query": "red"})
JSON = '{"name": "search", "arguments": {"query": "red"}}'
ARGS = '{"query": "red"}'
BAR = "\N{FULLWIDTH VERTICAL LINE}"
DEEPSEEK = f"<{BAR}tool▁calls▁begin{BAR}><{BAR}tool▁call▁begin{BAR}>"
SEPARATOR, END = f"<{BAR}tool▁sep{BAR}>", f"<{BAR}tool▁call▁end{BAR}>"
READ = {
    "llama3_json": f"<|python_tag|>{JSON.replace('arguments', 'parameters')}",
    "mistral": f"[TOOL_CALLS] [{JSON}]",
    "mistral, newer": f"[TOOL_CALLS]search{ARGS}",
    "mistral, newest": f"[TOOL_CALLS]search[CALL_ID]a1b2[ARGS]{ARGS}",
    "deepseek_v3": f"{DEEPSEEK}function{SEPARATOR}search\n```json\n{ARGS}\n```{END}",
    "deepseek_v31": f"{DEEPSEEK}search{SEPARATOR}{ARGS}{END}",
    "openai": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
    f"to=functions.search <|constrain|>json<|message|>{ARGS}<|call|>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
    f"<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
    "granite": f"<|tool_call|>[{JSON}]",
    "hunyuan_a13b": f"<tool_calls>\n[{JSON}]\n</tool_calls>",
    "longcat": f"<longcat_tool_call>{JSON}</longcat_tool_call>",
    "internlm": f"Yes.<|action_start|><|plugin|>\n{JSON}<|action_end|>",
    "phi4_mini_json": f"functools[{JSON}]",
    "hermes": f"I search.\n```json\n{JSON}\n```",
    "openai's shape": f'<tool_call>{{"type": "function", "function": {JSON}}}</tool_call>',
    "a list": f"<tool_call>[{JSON}]</tool_call>",
    "a namespace": JSON.replace('"search', '"functions.search'),
}
NAMED = {
    "qwen3_coder": "<tool_call>\n<function=search>\n<parameter=query>\nred\n</parameter>\n"
    "</function>\n</tool_call>",
    "glm45": "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>red</arg_value>\n"
    "</tool_call>",
    "pythonic": '[search(query="red")]',
    "deepseek_v32": f'<{BAR}DSML{BAR}function_calls><{BAR}DSML{BAR}invoke name="search">',
    "minimax_m2": '<minimax:tool_call><invoke name="search"></invoke></minimax:tool_call>',
    "seed_oss": "<seed:tool_call><function=x></function></seed:tool_call>",
    "gemma4": '<|tool_call>call:search{query:<|"|>red<|"|>}<tool_call|>',
    "cohere_command3": '<|START_ACTION|>[{"tool_name": "search"}]<|END_ACTION|>',
}


@pytest.mark.parametrize("name", READ)
def test_calls_of_other_families_are_read(name: str) -> None:
    assert parse(READ[name], SHOP, "tool_call").call == RED
    assert parse(f"[THINK]{READ[name].replace('red', 'blue')}[/THINK]{READ[name]}", SHOP,
                 "tool_call").call == RED  # fmt: skip
    marked = READ[name].replace("red", "what is <think> for")
    call = parse(marked, SHOP, "tool_call").call
    assert call is not None and call.arguments["query"] == "what is <think> for"


@pytest.mark.parametrize("name", NAMED)
def test_the_parser_of_what_is_not_read_is_known(name: str) -> None:
    assert parse(NAMED[name], SHOP, "tool_call").call is None
    form = find_form(NAMED[name])
    assert form is not None and form.parser in (name, "qwen3_coder")


def test_the_forms_of_the_suite_are_no_foreign_ones() -> None:
    for text in ("search[red]", f"<tool_call>{JSON}</tool_call>", "Action: click[x]", "[x] and y"):
        assert find_form(text) is None
    assert len({form.parser for form in FORMS}) == len(FORMS)


def test_blank_arguments_are_none() -> None:
    parsed = parse('{"name": "search", "arguments": " "}', SHOP, "tool_call")
    assert "needs the argument 'query'" in parsed.error
