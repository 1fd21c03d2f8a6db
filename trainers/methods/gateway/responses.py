"""The responses API of OpenAI: its requests, read as those for chat completions, and its answers.

Text and calls of functions, whole: there is no stream, and nothing is kept, so that each request
holds the whole conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentgym.support.http_server import Refused
from trainers.methods.gateway.chat_answer import GatewayAnswer
from trainers.methods.gateway.chat_request import ChatRequest, read_limit, read_messages, read_tools

__all__ = ["read_responses_request", "response"]

KEPT = ("previous_response_id", "conversation", "prompt")
"""Fields that refer to state stored on the server."""
OURS = re.compile(r"msg_([0-9]+)|(?:call|fc)_([0-9]+)_[0-9]+")
"""Ids of the items of our answers, with the number of the answer."""


def read_responses_request(body: Mapping[str, Any]) -> ChatRequest:
    """Read the body of a request to the responses API.

    Raises:
        Refused: It requests an unsupported feature, or its input is invalid.
    """
    if named := [name for name in KEPT if body.get(name) is not None]:
        raise Refused(400, f"expected the whole conversation as input, got {named[0]}")
    if body.get("stream") is True:
        raise Refused(400, "expected no stream of a response: chat completions have one")
    if body.get("background") is True:
        raise Refused(400, "expected no background: a response is given when it is asked for")
    content = body.get("input")
    items = [{"role": "user", "content": content}] if isinstance(content, str) else content
    if not isinstance(items, list):
        raise Refused(400, f"expected input to be a text or a list of items, got {content!r:.80}")
    conversation = _Conversation()
    if (instructions := body.get("instructions")) is not None:
        conversation.add({"role": "system", "content": instructions})
    for item in items:
        conversation.add(item)
    tools = body.get("tools")
    return ChatRequest(
        read_messages(conversation.messages, "input"),
        read_tools(
            [_tool(tool) for tool in tools] if isinstance(tools, list) else tools,
            body.get("tool_choice"),
        ),
        read_limit(body, "max_output_tokens"),
        str(body.get("model") or ""),
    )


class _Conversation:
    """Messages out of items, of which the text and the calls of one answer become one message."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._answers: dict[str, dict[str, Any]] = {}

    def add(self, item: object) -> None:
        """Add an item.

        Raises:
            Refused: It is neither a message nor of a call.
        """
        kind = item.get("type", "message") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or kind not in (
            "message", "function_call", "function_call_output", "reasoning",
        ):  # fmt: skip
            reason = f"expected messages, and calls of functions, as input, got {item!r:.80}"
            raise Refused(400, reason)
        if kind == "message":
            self._say(item.get("role"), item.get("content"), _number(item))
        elif kind == "function_call_output":
            self._say("tool", item.get("output"))
        elif kind == "function_call":
            message = self._calling(_number(item))
            message.setdefault("tool_calls", []).append({"function": item})

    def _say(self, role: object, content: object, number: str | None = None) -> dict[str, Any]:
        """Add a message, which may be of one of our answers."""
        message = {"role": role, "content": content, "answer": number}
        self.messages.append(message)
        if number is not None and role == "assistant":
            self._answers[number] = message
        return message

    def _calling(self, number: str | None) -> dict[str, Any]:
        """Return the message that a call belongs to: by its answer, or else by its neighbour."""
        if number is not None and number in self._answers:
            return self._answers[number]
        last = self.messages[-1] if self.messages else {"role": ""}
        if last["role"] != "assistant" or None not in (number, last["answer"]):
            return self._say("assistant", "", number)
        if number is not None:  # its text came back without an id
            last["answer"], self._answers[number] = number, last
        return last


def _number(item: Mapping[str, Any]) -> str | None:
    """Return the number of our answer that an item is of; None: its ids are others."""
    for name in ("call_id", "id"):
        if isinstance(item_id := item.get(name), str) and (match := OURS.fullmatch(item_id)):
            return match[1] or match[2]
    return None


def _tool(tool: object) -> object:
    """Return a tool in the form of chat completions; other types stay as they are."""
    if not isinstance(tool, Mapping) or tool.get("type") != "function":
        return tool
    return {"function": {name: value for name, value in tool.items() if name != "type"}}


def response(answer: GatewayAnswer, name: str, model: str) -> dict[str, Any]:
    """Return an answer as the body of a response."""
    is_complete, message = answer.finish_reason != "length", answer.message
    status = "completed" if is_complete else "incomplete"
    output: list[dict[str, Any]] = []
    if message.content or not message.calls:
        part = {"type": "output_text", "text": message.content, "annotations": []}
        entry = {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": status}
        output.append({**entry, "content": [part]})
    for number, call in enumerate(message.calls):
        called = {"type": "function_call", "id": f"fc_{name}_{number}", "status": "completed"}
        call_fields = {
            "call_id": f"call_{name}_{number}",
            "name": call.name,
            "arguments": call.arguments,
        }
        output.append({**called, **call_fields})
    return {
        # No clock: the same episode is answered in the same bytes.
        "id": f"resp_{name}", "object": "response", "created_at": 0, "model": model,
        "status": status, "output": output, "error": None,
        "incomplete_details": None if is_complete else {"reason": "max_output_tokens"},
        "instructions": None, "metadata": {}, "tools": [], "tool_choice": "auto",
        "parallel_tool_calls": True, "temperature": None, "top_p": None,
        "usage": {
            "input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip
