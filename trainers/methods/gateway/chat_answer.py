"""Answers to agents: the policy's text as a message with parsed tool calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.actions import parse, render, strip_think
from agentgym.actions.json_values import DECODER
from agentgym.core.language import Language
from agentgym.errors import ConfigurationError
from agentgym.support.strict_json import parse_json
from trainers.methods.gateway.chat_request import ChatMessage, ChatRequest, MessageToolCall

__all__ = ["GatewayAnswer", "chunks", "completion", "read_answer"]

OPEN, CLOSE = "<tool_call>", "</tool_call>"
"""Marks of a call, as most models write them."""
MOST_CALLS = 32
"""Calls of one answer that are read."""
PIECE = 24
"""Characters of a part of a stream."""


@dataclass(frozen=True)
class GatewayAnswer:
    """An answer of the policy."""

    message: ChatMessage
    """What it says, and which tools it calls."""
    finish_reason: str
    """``stop``, ``length`` or ``tool_calls``."""
    prompt_tokens: int = 0
    """Tokens that the policy read."""
    completion_tokens: int = 0
    """Tokens that it wrote."""


def read_answer(
    text: str, stopped: bool, request: ChatRequest, language: Language
) -> tuple[ChatMessage, str]:
    """Read calls of tools out of what the policy wrote.

    With tools in the request, ``<tool_call>{"name": ..., "arguments": ...}</tool_call>`` is a call,
    of which there may be several, and so is the first complete action in the grammar of the
    environment if a tool has its name. All else stays text.

    Args:
        text: What the policy wrote.
        stopped: Whether it ended by itself.
        request: What was asked.
        language: Grammar and actions of the environment.

    Returns:
        The message and its finish reason.
    """
    end = "stop" if stopped else "length"
    if not request.tools:
        return ChatMessage("assistant", text), end
    visible = strip_think(text, grammar="tool_call")  # a call that was thought of is none
    calls = tuple(_marked(visible))
    if calls:
        content = visible[: visible.index(OPEN)].strip()
    else:
        calls, content = _in_grammar(text, request, language), ""
    if not calls:
        return ChatMessage("assistant", text), end
    return ChatMessage("assistant", content, calls), "tool_calls"


def _marked(text: str) -> Iterator[MessageToolCall]:
    """Yield the calls that stand between marks."""
    position, n_calls = 0, 0
    while n_calls < MOST_CALLS and (start := text.find(OPEN, position)) >= 0:
        try:  # an argument may hold the closing mark
            _, stop = DECODER.raw_decode(text, start + len(OPEN) + _blank(text, start + len(OPEN)))
        except (ValueError, RecursionError):
            stop = start
        end = text.find(CLOSE, stop)
        position = len(text) if end < 0 else end + len(CLOSE)
        try:
            call = parse_json(text[start + len(OPEN) : end if end >= 0 else len(text)])
        except ValueError:
            continue
        name = call.get("name") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and isinstance(name, str):
            arguments = call.get("arguments", call.get("parameters"))
            yield MessageToolCall(
                name, arguments if isinstance(arguments, str) else json.dumps(arguments or {})
            )
            n_calls += 1


def _blank(text: str, position: int) -> int:
    """Return how many characters of white space stand at a place."""
    return len(text[position : position + 64]) - len(text[position : position + 64].lstrip())


def _in_grammar(text: str, request: ChatRequest, language: Language) -> tuple[MessageToolCall, ...]:
    """Return the call that an action in the environment's own grammar is, if it is one."""
    call = parse(text, language.specs, language.grammar).call
    if call is None or call.name not in {tool["function"]["name"] for tool in request.tools}:
        return ()
    try:
        marked_text = render(call, language.specs, "tool_call")
    except ConfigurationError:
        return ()
    return tuple(_marked(marked_text))


def completion(answer: GatewayAnswer, name: str, model: str) -> dict[str, Any]:
    """Return an answer as the body of a chat completion."""
    message = {"role": "assistant", **_encode_message(answer.message, name)}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    return {**_head(name, model, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def chunks(answer: GatewayAnswer, name: str, model: str, counts: bool) -> Iterator[dict[str, Any]]:
    """Yield an answer as the parts of a stream: every call whole, the text piece by piece."""
    head, body = _head(name, model, "chat.completion.chunk"), _encode_message(answer.message, name)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = body["content"] or ""
    deltas += [{"content": text[start : start + PIECE]} for start in range(0, len(text), PIECE)]
    deltas += [
        {"tool_calls": [{"index": index, **call}]}
        for index, call in enumerate(body.get("tool_calls", ()))
    ]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {
        **head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}],
    }  # fmt: skip
    if counts:
        yield {**head, "choices": [], "usage": _usage(answer)}


def _encode_message(message: ChatMessage, name: str) -> dict[str, Any]:
    """Return text and calls of an answer."""
    if not message.calls:
        return {"content": message.content}
    calls = [
        {
            "id": f"call_{name}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(message.calls)
    ]
    return {"content": message.content or None, "tool_calls": calls}


def _head(name: str, model: str, kind: str) -> dict[str, Any]:
    # No clock: the same episode is answered in the same bytes.
    return {"id": f"chatcmpl-{name}", "object": kind, "created": 0, "model": model}


def _usage(answer: GatewayAnswer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }
