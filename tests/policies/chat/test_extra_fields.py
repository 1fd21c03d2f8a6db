"""Fields that an endpoint adds are sent back unchanged, and its own words reach the user."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import pytest

from agentgym.endpoints.extra_fields import DEEPEST, LONGEST_EXTRA
from agentgym.envs.swe.engine.commands import SWELanguage
from agentgym.errors import PolicyFailure
from agentgym.evaluation import evaluate
from agentgym.policies import ChatConfig, ChatPolicy
from agentgym.policies.chat.answers import ChatAnswer, ToolCall
from tests.policies.endpoint import Canned, completion, events, refusal
from tests.toy import TOY_ID

pytest.importorskip("openai")

TOOLS = [{"type": "function", "function": {"name": "press", "parameters": {"type": "object"}}}]
SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}
DETAILS = [
    {"type": "reasoning.text", "text": "Red, ", "index": 0, "format": "x"},
    {"type": "reasoning.encrypted", "data": "ZW5j", "index": 1},
]


def act_once(server: Any, **settings: Any) -> ChatPolicy:
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True, retries=0, **settings), "")
    policy.reset("", {"tools": TOOLS})
    policy.act("next is red", {})
    return policy


def signed_call(**more: Any) -> dict[str, Any]:
    function = {"name": "press", "arguments": '{"colour": "red"}', "strict": True}
    return {"id": "a", "type": "function", "function": function, "extra_content": SIGNED, **more}


def message_of(server: Any, policy: ChatPolicy) -> dict[str, Any]:
    """Return the first answer as the next request sends it."""
    policy.act("next is blue", {})
    message: dict[str, Any] = server.requests[1]["messages"][2]
    return message


def test_what_an_endpoint_adds_goes_back_whole(serve):
    added = {"reasoning_details": DETAILS, "x_trace": {"id": 7}, "reasoning_content": "So."}
    server = serve(lambda body, n: completion(None, tool_calls=[signed_call()], **added))
    message = message_of(server, act_once(server))
    assert message["tool_calls"][0] == signed_call()
    assert message["reasoning_details"] == DETAILS and message["x_trace"] == {"id": 7}
    assert "reasoning_content" not in message


def test_what_is_streamed_goes_back_whole(serve):
    first = {"index": 0, **signed_call(function={"name": "press", "arguments": '{"colour":'})}
    last = {"index": 0, "function": {"arguments": ' "red"}'}, "extra_content": SIGNED}
    pieces = [
        {"reasoning_details": [{**DETAILS[0], "text": "Re"}]},
        {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "d, "}]},
        {"reasoning_details": [DETAILS[1]], "x_trace": {"id": 7}},
        {"tool_calls": [first]}, {"tool_calls": [last]}, {"finish_reason": "tool_calls"},
    ]  # fmt: skip
    server = serve(lambda body, n: events(*pieces))
    message = message_of(server, act_once(server, stream=True))
    assert message["reasoning_details"] == DETAILS and message["x_trace"] == {"id": 7}
    assert message["tool_calls"][0]["extra_content"] == SIGNED
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"colour": "red"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("send", [False, True])
def test_thinking_in_parts_goes_back_if_it_is_wanted(serve, stream, send):
    words = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    content = [*words, {"type": "text", "text": "press red"}]

    def answer(body: dict[str, Any], number: int) -> Any:
        if not stream:
            return completion(content)
        return events({"content": words}, {"content": "press red"}, {"finish_reason": "stop"})

    server = serve(answer)
    policy = act_once(server, stream=stream, send_reasoning=send)
    assert policy.last_output is not None
    assert (policy.last_output.text, policy.last_output.reasoning) == ("press red", "Hm.")
    assert message_of(server, policy)["content"] == (content if send else "press red")


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("stream", [False, True])
def test_a_hostile_endpoint_fills_no_history(serve, tmp_path, stream):
    added = {"first": "kept", "deep": deep(DEEPEST), "long": "x" * (LONGEST_EXTRA + 1)}

    def answer(body: dict[str, Any], number: int) -> Any:
        if not stream:
            return completion("press red", **added)
        return events({"content": "press red", **added}, {"finish_reason": "stop"})

    server = serve(answer)
    message = message_of(server, act_once(server, stream=stream))
    assert message == {"first": "kept", "role": "assistant", "content": "press red"}
    policy = ChatPolicy(ChatConfig("m", server.url, stream=stream), "")
    evaluate(policy, TOY_ID, num_tasks=1, horizon=2, out=tmp_path)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files and sum(file.stat().st_size for file in files) < 40_000


@pytest.mark.parametrize(
    "content",
    [
        "I see a <think> tag",
        "[THINK]never closed",
        'not <tool_call>{"name": "press", "arguments": {"colour": "grey"}}</tool_call>',
        "use </think> or",
        '{"name": "press", "arguments": {"colour": "grey"}}',
    ],
)
def test_a_separate_call_is_played_whatever_the_text_says(serve, content):
    call = {"id": "a", "function": {"name": "press", "arguments": '{"colour": "gold"}'}}
    server = serve(lambda body, n: completion(content, tool_calls=[call]))
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    observation, info = env.reset(seed=0)
    policy.reset(observation, info)
    action = policy.act(observation, info)
    assert env.unwrapped.spoken.read(action).native == "press gold"
    assert policy.last_output is not None and policy.last_output.text.startswith(content)
    env.close()


@pytest.mark.parametrize(
    "command", ["grep '</think>' a", "echo '</tool_call>[/THINK]'", "`<think>`"]
)
def test_what_a_call_holds_is_the_action(command):
    arguments = json.dumps({"command": command})
    answer = ChatAnswer("Hm <think>", (ToolCall("a", "bash", arguments),))
    action = SWELanguage("tool_call").read(answer.action(native=True))
    assert action.native == f"```bash\n{command}\n```"


def test_a_field_that_the_endpoint_does_not_take_back_is_left_out(serve):
    def answer(body: dict[str, Any], number: int) -> Any:
        if any("x_trace" in message for message in body["messages"]):
            return refusal("property 'x_trace' is unsupported")
        return completion("press red", x_trace={"id": 7}, x_kept=1)

    server = serve(answer)
    policy = act_once(server)
    policy.act("next is blue", {})
    policy.act("next is gold", {})
    assert len(server.requests) == 4, "it is learnt once"
    assert [message.get("x_kept") for message in server.requests[3]["messages"][2::2]] == [1, 1]


GEMINI = [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "thought_signature?"}}]
FAULTS = {
    "list": (Canned(GEMINI, 400), "HTTP 400: thought_signature?"),
    "list in 200": (Canned(GEMINI), "thought_signature?"),
    "router": (
        refusal("Provider returned error", metadata={"raw": "bad role 'tool'"}),
        "Provider returned error: bad role 'tool'",
    ),
    "nested": (Canned({"error": {"error": {"message": "x"}}}, 400), "HTTP 400:"),
    "text": (Canned({"error": "no such role"}, 400), "no such role"),
    "detail": (Canned({"detail": [{"msg": "field required"}]}, 422), "field required"),
    "deepseek": (
        refusal("The `reasoning_content` in the thinking mode must be passed back to the API."),
        "set `send_reasoning=True`",
    ),
    "kimi": (
        refusal("thinking is enabled but reasoning_content is missing in assistant tool call "
                "message at index 2"),
        "set `send_reasoning=True`",
    ),
    "call without result": (
        refusal("messages.2: `tool_use` ids were found without `tool_result` blocks"),
        "check that the endpoint runs",
    ),
    "no tools": (refusal("this model does not support tools"), "takes no tools"),
    "no tool choice": (refusal("Extra inputs are not permitted", param="tools"), "takes no tools"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_words_of_a_refusal_reach_the_user(serve, name):
    canned, words = FAULTS[name]
    with pytest.raises(PolicyFailure) as failure:
        act_once(serve(lambda body, n: canned))
    assert words in str(failure.value)
