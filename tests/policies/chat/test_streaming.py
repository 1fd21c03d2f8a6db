from __future__ import annotations

import json
from typing import Any

import pytest

from agentgym.endpoints import completions
from agentgym.errors import PolicyFailure
from agentgym.evaluation import evaluate
from agentgym.policies import ChatConfig, ChatPolicy
from tests.policies.endpoint import Canned, events, press_next, refusal
from tests.toy import TOY_ID

pytest.importorskip("openai")

TOOLS = [{"type": "function", "function": {"name": "press", "parameters": {"type": "object"}}}]
USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}


def ask(server: Any, **settings: Any) -> ChatPolicy:
    """Return a policy that has asked once, with tools."""
    config = ChatConfig("m", server.url, stream=True, retries=1, **{"tools": True, **settings})
    policy = ChatPolicy(config, "")
    policy.reset("", {"tools": TOOLS})
    policy.act("next is red", {})
    return policy


def piece(index: int | None, id_: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        call["index"] = index
    return {"tool_calls": [call if id_ is None else {"id": id_, "type": "function", **call}]}


def test_a_model_plays_with_streamed_answers(serve):
    def answer(body: dict[str, Any], number: int) -> Canned:
        assert body["stream"] is True and body["stream_options"] == {"include_usage": True}
        text = press_next(body, number)["choices"][0]["message"]["content"]
        letters = [{"content": letter} for letter in text]
        return events({"role": "assistant"}, *letters, {"finish_reason": "stop"}, USAGE)

    policy = ChatPolicy(ChatConfig("m", serve(answer).url, stream=True), "")
    report = evaluate(policy, TOY_ID, "test", 3, concurrency=1)
    assert report.success == 1.0
    assert policy.prompt_tokens == 20 * sum(row.turns for row in report.rows)


def test_everything_streamed_is_kept(serve):
    server = serve(
        lambda body, number: events(
            {"role": "assistant", "content": "", "reasoning_content": "Red"},
            {"reasoning_content": " it is."},
            {"content": "So"},
            {"content": ":"},
            piece(0, "a", "press", ""),
            piece(0, None, None, '{"colour"'),
            piece(0, None, None, ': "red"}'),
            piece(1, "b", "press", '{"colour": "blue"}'),
            {"finish_reason": "tool_calls"},
            USAGE,
        )
    )
    policy = ask(server)
    output = policy.last_output
    assert output is not None
    payload = json.dumps({"name": "press", "arguments": '{"colour": "red"}'})
    assert output.text == f"So:<tool_call>{payload}</tool_call>"
    assert (output.reasoning, output.finish_reason) == ("Red it is.", "tool_calls")
    assert (output.prompt_tokens, output.completion_tokens) == (20, 5)
    assert (output.cached_tokens, output.reasoning_tokens) == (4, 2)
    policy.act("click", {})
    message = server.requests[1]["messages"][2]
    assert [call["id"] for call in message["tool_calls"]] == ["a", "b"]
    assert message["content"] == "So:"


@pytest.mark.parametrize(
    "pieces",
    [
        # Without an index; with the same one for each call; parsed; the name in every piece.
        [piece(None, "a", "press", '{"colour":'), piece(None, None, None, ' "red"}'),
         piece(None, "b", "press", "{}")],
        [piece(0, "a", "press", '{"colour": "red"}'), piece(0, "b", "press", "{}")],
        [piece(0, "a", "press", {"colour": "red"}), piece(1, "b", "press", {})],
        [piece(0, "a", "press", '{"colour":'), piece(0, "a", "press", ' "red"}'),
         piece(1, "b", "press", "{}")],
    ],
)  # fmt: skip
def test_calls_are_put_together_as_endpoints_send_them(serve, pieces):
    server = serve(lambda body, number: events(*pieces, {"finish_reason": "tool_calls"}))
    policy = ask(server)
    policy.act("click", {})
    calls = server.requests[1]["messages"][2]["tool_calls"]
    assert [(c["id"], c["function"]["name"]) for c in calls] == [("a", "press"), ("b", "press")]
    assert json.loads(calls[0]["function"]["arguments"]) == {"colour": "red"}


def test_an_endpoint_without_stream_options_is_streamed_without_from_then_on(serve):
    def answer(body: dict[str, Any], number: int) -> Canned:
        if "stream_options" in body:
            return refusal("Unknown parameter: 'stream_options'.")
        return events({"content": "press red"}, {"finish_reason": "stop"})

    server = serve(answer)
    policy = ask(server)
    assert policy.last_output is not None and policy.last_output.prompt_tokens == 0
    policy.copy().act("next is red", {})
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


def test_an_endpoint_that_does_not_stream_is_understood_or_named(serve):
    policy = ask(serve(press_next))
    assert policy.last_output is not None and policy.last_output.text.endswith("press red")
    refusing = serve(lambda body, number: refusal("Streaming completion is not support yet"))
    with pytest.raises(PolicyFailure, match="leave `stream=True` out"):
        ask(refusing)


BROKEN = {
    "dropped": (events({"content": "press"}, done=False), "broke off after .*: press"),
    "empty": (events(done=False), "broke off"),
    "only done": (events(), "broke off"),
    "no JSON": (Canned("data: {not json\n\n", kind="text/event-stream"), "JSONDecodeError|Expect"),
    "cut": (
        Canned(events({"content": "press"}, done=False).body, kind="text/event-stream",
               announced=9999),
        "APIConnectionError|RemoteProtocolError",
    ),
    "error": (events({"content": "pr"}, {"error": {"message": "engine died"}}), "engine died"),
    "page": (Canned("<html>hello", kind="text/html"), "HTML page"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_streams_are_retried_and_then_a_failure(serve, name):
    broken, expected = BROKEN[name]
    broken.headers = {"retry-after-ms": "1"}
    complete_stream = events({"content": "press red"}, {"finish_reason": "stop"})
    once = serve(lambda body, number: broken if number == 1 else complete_stream)
    output = ask(once).last_output
    assert output is not None and output.text == "press red" and len(once.requests) == 2
    always = serve(lambda body, number: broken)
    with pytest.raises(PolicyFailure, match=f"after 1 retry .*({expected})"):
        ask(always)
    assert len(always.requests) == 2


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"error": {"message": "maximum context length", "code": 400}}, "lower `window`"),
        ({"error": {"message": "no", "code": "context_length_exceeded"}}, "lower `window`"),
        ({"finish_reason": "content_filter"}, "content filter"),
    ],
)
def test_lasting_errors_in_a_stream_are_not_retried(serve, last, expected):
    server = serve(lambda body, number: events({"content": "pr"}, dict(last)))
    with pytest.raises(PolicyFailure, match=expected):
        ask(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": "press"},
        {"choices": [None]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0, "delta": {"content": {"a": 1}, "tool_calls": [None, 4]}}]},
        {"choices": [], "usage": [1]},
        {"choices": [], "usage": {"prompt_tokens": "many", "prompt_tokens_details": 3}},
    ],
)
def test_odd_pieces_are_passed_over(serve, odd):
    end = {"content": "press red", "finish_reason": "stop"}
    server = serve(lambda body, number: events(odd, end))
    output = ask(server).last_output
    assert output is not None and output.text == "press red" and output.prompt_tokens == 0


def test_a_stream_without_end_is_cut(serve, monkeypatch):
    monkeypatch.setattr(completions, "LARGEST", 1000)
    server = serve(lambda body, number: events(*[{"content": "word "}] * 500))
    with pytest.raises(PolicyFailure, match="more than 1,000 characters"):
        ask(server)
