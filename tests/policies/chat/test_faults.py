"""What an endpoint does wrong is a `PolicyFailure`, what the model did counts; both are told."""

from __future__ import annotations

import json
import re
import socket
import time
import traceback
from email.utils import formatdate
from typing import Any

import pytest

from agentgym.endpoints.endpoint import _back_off
from agentgym.endpoints.faults import Cause, EndpointFault, seconds_to_wait
from agentgym.errors import PolicyFailure
from agentgym.evaluation import evaluate
from agentgym.policies import ChatConfig, ChatPolicy
from agentgym.policies.play import play
from agentgym.support.random_stream import Stream
from tests.policies.endpoint import (
    KEY,
    Canned,
    completion,
    events,
    press_next,
    refusal,
)
from tests.toy import TOY_ID, ToyEnv

pytest.importorskip("openai")

WHOLE = json.dumps(completion("press red"))
USE_OTHER = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
ONLY_DEFAULT = (
    "Unsupported value: 'temperature' does not support 0.5 with this model. "
    "Only the default (1) value is supported."
)
PAGE = "<!doctype html>\n<title>Welcome\x1b[31m to nginx</title>" + "<p>hello</p>" * 999

FAULTS: dict[str, tuple[Any, str, int]] = {
    # What the endpoint answers, what the message says, and how many requests are sent.
    "key": (refusal("no such key", 401), "no such key.*OPENAI_API_KEY", 1),
    "model": (refusal("The model `m` does not exist", 404), "serves this model", 1),
    "429": (refusal("slow down", 429), "HTTP 429: slow down; .*requests_per_minute", 3),
    "quota": (refusal("pay first", 429, code="insufficient_quota"), "pay first; .*quota", 1),
    "500": (refusal("down", 500), "HTTP 500: down", 3),
    "500 page": (Canned(PAGE, 502, "text/html"), "HTTP 502: <!doctype html>", 3),
    "truncated": (WHOLE[:40], "no whole JSON", 3),
    "cut off": (Canned(WHOLE[:40], announced=len(WHOLE)), "after 2 retries APIConn", 3),
    "empty body": ("", "an empty body; .*base_url", 3),
    "page": (Canned(PAGE, kind="text/html"), "HTML page.*base_url ends in /v1", 3),
    "no choices": ({"hello": "world"}, "with choices.*hello", 1),
    "empty choices": ({"choices": [], "usage": {}}, "with choices", 1),
    "no message": ({"choices": [{"index": 0}]}, "with choices", 1),
    "odd choices": ({"choices": {"0": "hm"}}, "with choices", 1),
    "a list": ([1, 2], "with choices", 1),
    "deep": ("[" * 100_000, "no whole JSON", 3),
    "error in the body": ({"error": {"message": "busy", "code": 503}}, "HTTP 503: busy", 3),
    "lasting error in the body": ({"error": {"message": "no", "code": 403}}, "HTTP 403: no", 1),
    "context": (
        refusal("This model's maximum context length is 4096 tokens. However, you requested 5000 "
                "tokens (4488 in the messages, 512 in the completion)."),
        "lower window or max_tokens", 1,
    ),
    "context, by code": (refusal("too long", code="context_length_exceeded"), "lower window", 1),
    "context, vLLM": (
        refusal("'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum "
                "context length is 600 tokens and your request has 300 input tokens."),
        "lower window or max_tokens", 1,
    ),
    "context, llama.cpp": (
        refusal("the request exceeds the available context size",
                type="exceed_context_size_error"),
        "lower window", 1,
    ),
    "context, by size": (Canned("too large", 413, "text/plain"), "too large; .*lower window", 1),
    "filter": (completion("press", "content_filter"), "content_filter.*content filter", 1),
    "filtered prompt": (refusal("no", code="content_filter"), "content filter", 1),
    "temperature": (
        refusal(ONLY_DEFAULT, param="temperature", code="unsupported_value"),
        "leave temperature out", 1,
    ),
    "top_p": (refusal("top_p may not be set"), "leave top_p out", 1),
    "seed": (refusal("Unknown field: seed", 422), "leave seed out", 1),
    "top_k": (refusal("[body.top_k] Extra inputs are not permitted", 422),
              "leave top_k out of extra", 1),
    "FastAPI": (
        Canned({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}, 422),
        "extra_forbidden.*leave seed out", 1,
    ),
    "length": (refusal("max_tokens is too large: 512. This model supports at most 64 tokens"),
               "refuses max_tokens=4096.*max_tokens_parameter", 1),
    "stream": (
        refusal("This model only support stream mode, please enable the stream parameter."),
        "set stream=True", 1,
    ),
    "streams": (events({"content": "press"}, {"finish_reason": "stop"}), "set stream=True", 1),
    "tools": (refusal('"auto" tool choice requires --enable-auto-tool-choice'),
              "leave tools=True out", 1),
}  # fmt: skip


def answer_of(server, grammar="tool_call"):
    """The last moment of an episode, and what was said of its end."""
    config = ChatConfig(
        "m", server.url, retries=2, temperature=0.5, top_p=0.5, seed=1, tools=True,
        extra={"top_k": 5},
    )  # fmt: skip
    policy = ChatPolicy(config, "")
    moments = [*play(policy, ToyEnv(grammar=grammar), seed=1)]
    assert len(moments) == 2 and policy.last_output is None
    return moments[-1], str(moments[-1].failure or moments[-1].words)


THE_MODELS = {
    **{name: "context" for name in FAULTS if name.startswith("context")},
    "filter": "refused", "filtered prompt": "refused",
    "nothing": "unreadable", "call": "unreadable", "call, by code": "unreadable",
}  # fmt: skip
FAULTS |= {
    "nothing": (completion(None), "after 2 retries a completion without text", 3),
    "call": (refusal("Failed to parse tool call: {{", 500), "Failed to parse tool call", 3),
    "call, by code": (refusal("no", code="tool_use_failed"), "raise max_tokens", 3),
    "429, tokens": (refusal("Too many tokens, please wait", 429), "HTTP 429", 3),
    "filter down": (refusal("the content filter is down", 500), "HTTP 500", 3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_endpoint_is_a_failure_and_not_an_action(serve, name):
    reply, expected, requests = FAULTS[name]
    server = serve(lambda body, number: Canned(reply) if isinstance(reply, list) else reply)
    last, text = answer_of(server)
    assert isinstance(last.failure, PolicyFailure) == (name not in THE_MODELS)
    assert last.info["stop_reason"] == THE_MODELS.get(name, "")
    assert re.search(expected, text.replace("`", "")), text
    assert text.startswith("expected an answer of the model 'm' at http://127.0.0.1:")
    assert len(text) < 900 and text.isprintable()
    assert len(server.requests) == requests


def test_an_endpoint_that_does_not_run():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        policy = ChatPolicy(ChatConfig("m", url, retries=0), "")
        with pytest.raises(PolicyFailure, match=r"refused.*check that the endpoint runs"):
            policy.act("look", {})


@pytest.mark.parametrize("stream", [False, True])
def test_an_endpoint_that_does_not_answer(stream):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        policy = ChatPolicy(ChatConfig("m", url, retries=0, timeout=0.2, stream=stream), "")
        with pytest.raises(PolicyFailure, match=r"raise `timeout`, now 0\.2 seconds"):
            policy.act("look", {})


@pytest.mark.parametrize(
    "fault",
    [
        refusal("busy", 503),
        refusal("busy", 408),
        refusal("busy", 409),
        refusal("busy", 429),
        Canned(WHOLE[:40]),
        Canned(WHOLE[:40], announced=len(WHOLE)),
        Canned("<html>", kind="text/html"),
        {"error": {"message": "busy"}},
    ],
)
def test_what_passes_is_retried(serve, fault):
    server = serve(lambda body, number: fault if number < 3 else press_next(body, number))
    policy = ChatPolicy(ChatConfig("m", server.url, retries=2), "")
    assert policy.act("next is red", {}).endswith("press red")
    assert len(server.requests) == 3 and server.requests[0] == server.requests[2]


def test_an_episode_whose_context_is_full_counts_as_it_stands(serve):
    def answer(body: dict[str, Any], number: int) -> Any:
        task = body["messages"][1]["content"]
        return refusal("maximum context length") if "gold" in task else press_next(body, number)

    policy = ChatPolicy(ChatConfig("m", serve(answer).url), "")
    report = evaluate(policy, TOY_ID, "test", 20)
    full = [row for row in report.rows if row.stop_reason == "context"]
    assert 0 < len(full) < 20 and report.n == 20 and report.errors == 0
    assert report.success == pytest.approx(1 - len(full) / 20)
    assert all("lower `window`" in row.error for row in full)


def test_a_refused_max_tokens_is_sent_under_its_other_name_from_then_on(serve):
    def answer(body: dict[str, Any], number: int) -> Any:
        if "max_tokens" in body:
            return refusal(USE_OTHER, param="max_tokens", code="unsupported_parameter")
        return press_next(body, number)

    server = serve(answer)
    policy = ChatPolicy(ChatConfig("m", server.url, retries=0, max_tokens=77), "")
    policy.act("next is red", {})
    policy.act("next is red", {})
    policy.copy().act("next is red", {})
    limits = [(r.get("max_tokens"), r.get("max_completion_tokens")) for r in server.requests]
    assert limits == [(77, None), (None, 77), (None, 77), (None, 77)]


def test_the_name_of_max_tokens_can_be_set(serve):
    server = serve(press_next)
    config = ChatConfig("m", server.url, max_tokens_parameter="max_completion_tokens")
    ChatPolicy(config, "").act("next is red", {})
    assert "max_tokens" not in server.requests[0]
    assert server.requests[0]["max_completion_tokens"] == 4096
    refusing = serve(lambda body, number: refusal(USE_OTHER))
    config = ChatConfig("m", refusing.url, max_tokens_parameter="max_tokens")
    with pytest.raises(PolicyFailure, match="max_tokens_parameter"):
        ChatPolicy(config, "").act("next is red", {})
    assert len(refusing.requests) == 1


def test_an_endpoint_that_refuses_both_names_is_not_asked_for_ever(serve):
    server = serve(lambda body, number: refusal(USE_OTHER))
    with pytest.raises(PolicyFailure, match="refuses max_completion_tokens=4096"):
        ChatPolicy(ChatConfig("m", server.url), "").act("look", {})
    assert len(server.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_the_endpoint_repeats_is_not_shown(serve, stream):
    # Also where the message is cut in the middle of the key.
    cases = [(status, padding) for status in (200, 400, 401, 500) for padding in (0, 280, 290, 300)]

    def answer(body: dict[str, Any], number: int) -> Canned:
        status, padding = cases[number - 1]
        return refusal("x" * padding + f" Incorrect key {KEY}, {KEY}: Bearer {KEY}", status)

    policy = ChatPolicy(ChatConfig("m", serve(answer).url, retries=0, stream=stream), "")
    for _ in cases:
        with pytest.raises(PolicyFailure) as caught:
            policy.act("look", {})
        text = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert KEY[:8] not in text and "expected an answer" in text
        assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_that_an_endpoint_asks_for_is_read(headers, expected):
    assert seconds_to_wait(headers) == expected


def test_a_moment_to_wait_for_is_read():
    seconds = seconds_to_wait({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert seconds is not None and 0 < seconds <= 61


def test_waits_grow_are_bounded_and_are_the_same_in_every_run():
    fault = EndpointFault(Cause.CONNECTION, "")
    waits = [_back_off(fault, retries, Stream("a", retries)) for retries in range(12)]
    assert waits == [_back_off(fault, retries, Stream("a", retries)) for retries in range(12)]
    for retries, wait in enumerate(waits):
        longest = min(0.5 * 2**retries, 8.0)
        assert 0.75 * longest <= wait <= longest
    assert len({wait / min(0.5 * 2**n, 8.0) for n, wait in enumerate(waits)}) > 6  # they jitter
    assert _back_off(EndpointFault(Cause.STATUS, "", 429, retry_after=9.0), 0, Stream("a")) == 9.0


def test_an_endpoint_that_asks_for_hours_is_not_waited_for(serve):
    server = serve(
        lambda body, number: Canned({"error": "full"}, 429, headers={"retry-after": "7200"})
    )
    with pytest.raises(PolicyFailure, match="full; it asks to wait 7200 seconds"):
        ChatPolicy(ChatConfig("m", server.url), "").act("look", {})
    assert len(server.requests) == 1


def test_the_turn_that_failed_is_not_in_the_history(serve):
    server = serve(lambda body, number: refusal("no") if number == 2 else completion("hm"))
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    policy.act("one", {})
    with pytest.raises(PolicyFailure):
        policy.act("two", {})
    policy.act("two, again", {})
    assert [m["role"] for m in server.requests[2]["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
