"""The responses API of OpenAI, as requests for chat completions and their answers.

Text and calls of functions, whole: there is no stream, and nothing is kept, so that each request
holds the whole conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentgym.support.http_server import Refused
from trainers.gateway.chat_answer import ChatAnswer

__all__ = ["chat_body", "response"]

KEPT = ("previous_response_id", "conversation", "prompt")
"""Fields that name what a server has kept."""
TOOL_FIELDS = ("name", "description", "parameters")
"""Fields of a function that a model reads."""


def chat_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request to the responses API as the body of one for a chat completion.

    Raises:
        Refused: It asks for what is not given here, or its input is none.
    """
    if named := [name for name in KEPT if body.get(name) is not None]:
        raise Refused(400, f"expected the whole conversation as input, got {named[0]}")
    if body.get("stream") is True:
        raise Refused(400, "expected no stream of a response: chat completions have one")
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list):
        raise Refused(400, f"expected input to be a text or a list of items, got {given!r:.80}")
    messages: list[dict[str, Any]] = []
    if (instructions := body.get("instructions")) is not None:
        messages.append({"role": "system", "content": instructions})
    for item in items:
        _add(messages, item)
    tools = body.get("tools")
    return {
        "messages": messages,
        "tools": [_tool(each) for each in tools] if isinstance(tools, list) else tools,
        "tool_choice": body.get("tool_choice"),
        "max_tokens": body.get("max_output_tokens"),
        "model": body.get("model"),
    }


def _add(messages: list[dict[str, Any]], item: object) -> None:
    """Add an item to a conversation; the calls of one answer become one message with its text."""
    kind = item.get("type", "message") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or kind not in (
        "message", "function_call", "function_call_output", "reasoning",
    ):  # fmt: skip
        raise Refused(400, f"expected messages, and calls of functions, as input, got {item!r:.80}")
    if kind == "message":
        messages.append({"role": item.get("role"), "content": item.get("content")})
    elif kind == "function_call_output":
        messages.append({"role": "tool", "content": item.get("output")})
    elif kind == "function_call":
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": ""})
        messages[-1].setdefault("tool_calls", []).append({"function": item})


def _tool(given: object) -> object:
    """Return a tool as chat completions describe it; what is no function stays what it is."""
    if not isinstance(given, Mapping) or given.get("type") != "function":
        return given
    return {"function": {name: given[name] for name in TOOL_FIELDS if name in given}}


def response(answer: ChatAnswer, name: str, model: str) -> dict[str, Any]:
    """Return an answer as the body of a response."""
    whole, message = answer.finish_reason != "length", answer.message
    status = "completed" if whole else "incomplete"
    output: list[dict[str, Any]] = []
    if message.content or not message.calls:
        part = {"type": "output_text", "text": message.content, "annotations": []}
        said = {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": status}
        output.append({**said, "content": [part]})
    for number, call in enumerate(message.calls):
        called = {"type": "function_call", "id": f"fc_{name}_{number}", "status": "completed"}
        told = {"call_id": f"call_{name}_{number}", "name": call.name, "arguments": call.arguments}
        output.append({**called, **told})
    return {
        # No clock: the same episode is answered in the same bytes.
        "id": f"resp_{name}", "object": "response", "created_at": 0, "model": model,
        "status": status, "output": output, "error": None,
        "incomplete_details": None if whole else {"reason": "max_output_tokens"},
        "instructions": None, "metadata": {}, "tools": [], "tool_choice": "auto",
        "parallel_tool_calls": True, "temperature": None, "top_p": None,
        "usage": {
            "input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip
