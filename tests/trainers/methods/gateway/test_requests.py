"""What comes over the wire is hostile: it is read, or refused in one sentence."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.support.http_server import Refused
from tests.toy import ToyEnv
from trainers.methods.gateway.chat_answer import GatewayAnswer, chunks, completion, read_answer
from trainers.methods.gateway.chat_request import (
    ChatMessage,
    ChatRequest,
    MessageToolCall,
    read_request,
)
from trainers.methods.gateway.responses import read_responses_request, response
from trainers.methods.gateway.server import GatewayServer

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = ("messages", "tools", "n", "max_tokens", "model", "tool_choice")
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "walrus"])},
    optional={"content": ANYTHING, "tool_calls": ANYTHING},
)
LANGUAGE = ToyEnv().language
TOOLS = ({"type": "function", "function": {"name": "press", "parameters": {"properties": {}}}},)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), ANYTHING), st.lists(MESSAGE, max_size=3) | ANYTHING)
def test_every_body_is_read_or_refused(body: dict[str, Any], messages: Any) -> None:
    try:
        request = read_request({**body, "messages": messages})
    except Refused as problem:
        assert problem.status == 400 and str(problem)
    else:
        assert all(isinstance(message.content, str) for message in request.messages)
        assert request.depth <= len(request.messages) and json.dumps(request.tools)


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=30).map(lambda text: text.replace("x", "<tool_call>").replace("y", '{"name":'))
    | st.sampled_from(["press red", "<tool_call>[1]</tool_call>", "<tool_call>" * 99])
)
def test_every_text_is_an_answer_whole_or_in_parts(text: str) -> None:
    message, finish = read_answer(text, True, ChatRequest((), TOOLS), LANGUAGE)
    assert finish == ("tool_calls" if message.calls else "stop")
    assert message.calls or message.content == text
    answer = GatewayAnswer(message, finish, 3, 2)
    complete = completion(answer, "0", "policy")["choices"][0]["message"]
    deltas = [part["choices"][0]["delta"] for part in chunks(answer, "0", "policy", False)]
    assert "".join(delta.get("content", "") for delta in deltas) == (complete["content"] or "")
    streamed = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert [call["function"] for call in streamed] == [
        call["function"] for call in complete.get("tool_calls", ())
    ]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("press red", ("press", {"colour": "red"})),
        ('<tool_call>{"name": "look", "arguments": {"at": 1}}', ("look", {"at": 1})),
        (
            '<tool_call>{"name": "look", "arguments": "{\\"at\\": 1}"}</tool_call>',
            ("look", {"at": 1}),
        ),
        ("press walrus", None),
        ("I press nothing", None),
        ('[THINK]<tool_call>{"name": "look", "arguments": {}}</tool_call>[/THINK]no', None),
        (
            '<think><tool_call>{"name": "look"}</tool_call></think>'
            '<tool_call>{"name": "look", "arguments": {"at": "</tool_call></think>"}}</tool_call>',
            ("look", {"at": "</tool_call></think>"}),
        ),
    ],
)
def test_calls_are_read_in_two_notations(text: str, call: Any) -> None:
    message, _ = read_answer(text, True, ChatRequest((), TOOLS), LANGUAGE)
    calls = [(tool_call.name, json.loads(tool_call.arguments)) for tool_call in message.calls]
    assert calls == ([call] if call else [])


CALLS = st.sampled_from([MessageToolCall("press", "{}"), MessageToolCall("look", '{"at": 1}')])
ANSWERS = st.tuples(st.sampled_from(["", "so"]), st.lists(CALLS, max_size=3).map(tuple))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(ANSWERS, st.booleans()), min_size=1, max_size=4))
def test_answers_come_back_as_they_were_said(answers: list[Any]) -> None:
    """Whether all calls of an answer are told before their outputs, or each before its own."""
    items: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    messages = [ChatMessage("user", "go")]
    for number, ((text, calls), in_turn) in enumerate(answers):
        answer = ChatMessage("assistant", text, calls)
        outputs = response(GatewayAnswer(answer, "stop"), str(number), "policy")["output"]
        results = [
            {"type": "function_call_output", "call_id": output["call_id"], "output": output["name"]}
            for output in outputs if output["type"] == "function_call"
        ]  # fmt: skip
        echo = outputs + results
        if in_turn and results:
            text_items = outputs[: -len(results)]
            pairs = zip(outputs[-len(results) :], results, strict=True)
            echo = [*text_items, *(item for pair in pairs for item in pair)]
        items += echo
        messages += [answer, *(ChatMessage("tool", call.name) for call in calls)]
    assert list(read_responses_request({"input": items}).messages) == messages
    # Ids of somebody else are no numbers of ours: neighbours belong together.
    call = {"type": "function_call", "name": "press", "call_id": "call_x1", "arguments": "{}"}
    foreign = [{"role": "assistant", "content": "so", "id": "msg_a"}, call, call]
    (message,) = read_responses_request({"input": foreign}).messages
    assert message == ChatMessage("assistant", "so", (MessageToolCall("press", "{}"),) * 2)


def test_one_set_of_tools_is_told_alike_by_both_apis() -> None:
    tool = {
        "name": "press",
        "description": "Press.",
        "strict": True,
        "parameters": {"type": "object"},
    }
    chat = read_request({"messages": [{"role": "user"}], "tools": [{"function": dict(tool)}]})
    flat = {"input": "", "tools": [{"type": "function", **tool}]}
    assert json.dumps(read_responses_request(flat).tools) == json.dumps(chat.tools)


@pytest.mark.parametrize("field", ["max_completion_tokens", "max_tokens"])
def test_a_limit_is_refused_by_the_name_that_it_was_given(field: str) -> None:
    with pytest.raises(Refused, match=f"expected {field} to be"):
        read_request({"messages": [{"role": "user"}], field: 0})


@pytest.mark.parametrize("no_proxy", ["", "a.example", "*"])
def test_agents_reach_the_endpoint_past_proxies(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # discards, or refuses
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    server = GatewayServer()
    with pytest.raises(HTTPError, match="401") as refused:
        urlopen(f"{server.address().base_url}/models", timeout=60)
    refused.value.close()
    server.close()
    expected = {"": "127.0.0.1", "a.example": "a.example,127.0.0.1", "*": "*"}[no_proxy]
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == expected
