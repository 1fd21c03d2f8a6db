"""Requests of agents: chat completions, restricted to what a policy in training supports.

Sampling is the run's: temperature, top_p, seed, stop sequences and penalties of a request are not
taken, because the policy that is trained must be the one that acts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.support.http_server import Refused

__all__ = [
    "ChatMessage", "ChatRequest", "MessageToolCall", "read_limit", "read_messages", "read_request",
    "read_tools",
]  # fmt: skip

ROLES = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
"""Roles of messages, and what becomes of them."""
MOST_MESSAGES = 4096
"""Messages of a request."""
MOST_TOOLS = 256
"""Tools of a request."""


@dataclass(frozen=True)
class MessageToolCall:
    """A call of a tool, as a message holds it."""

    name: str
    """Name of the tool."""
    arguments: str
    """Its arguments as JSON text, faulty or not."""

    @property
    def key(self) -> str:
        """What two equal calls share, however their arguments are spaced and ordered."""
        try:
            return f"{self.name} {json.dumps(json.loads(self.arguments), sort_keys=True)}"
        except (ValueError, RecursionError):
            return f"{self.name} {self.arguments}"


@dataclass(frozen=True)
class ChatMessage:
    """A message of a conversation; ids of calls, which no model reads, are left out."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    content: str
    """Its text."""
    calls: tuple[MessageToolCall, ...] = ()
    """Calls of an answer."""

    @property
    def key(self) -> str:
        """What two equal messages share."""
        return json.dumps([self.role, self.content, *(call.key for call in self.calls)])


@dataclass(frozen=True)
class ChatRequest:
    """A request for an answer."""

    messages: tuple[ChatMessage, ...]
    """The conversation."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools that the answer may call, as OpenAI describes them."""
    max_tokens: int | None = None
    """Most tokens of the answer; None: as many as a turn may have."""
    model: str = ""
    """Name of the model that is asked."""

    @property
    def depth(self) -> int:
        """Answers that the conversation holds."""
        return sum(message.role == "assistant" for message in self.messages)


def read_request(body: Mapping[str, Any]) -> ChatRequest:
    """Read the body of a request.

    Raises:
        Refused: It is no such request, or asks for what a policy in training cannot give.
    """
    messages = read_messages(body.get("messages"), "messages")
    if (n_choices := body.get("n")) not in (None, 1):
        raise Refused(400, f"expected n to be 1: each answer is an action; got {n_choices!r:.80}")
    return ChatRequest(
        messages,
        read_tools(body.get("tools"), body.get("tool_choice")),
        read_limit(body, "max_completion_tokens", "max_tokens"),
        str(body.get("model") or ""),
    )


def read_messages(messages: object, name: str) -> tuple[ChatMessage, ...]:
    """Read a conversation.

    Args:
        messages: Its messages.
        name: Name of the field that they come from.

    Raises:
        Refused: It is none.
    """
    if not isinstance(messages, list) or not 1 <= len(messages) <= MOST_MESSAGES:
        raise Refused(400, f"expected {name} to be a list of 1 to {MOST_MESSAGES:,} messages")
    return tuple(_message(message) for message in messages)


def read_limit(body: Mapping[str, Any], *names: str) -> int | None:
    """Read the most tokens of an answer; None if there is no such limit.

    Args:
        body: Body of a request.
        names: Names of the field, of which the first that is given counts.

    Raises:
        Refused: It is no whole number above 0.
    """
    for name in names:
        if (limit := body.get(name)) is None:
            continue
        if type(limit) is not int or limit < 1:
            raise Refused(400, f"expected {name} to be a whole number above 0, got {limit!r:.80}")
        return limit
    return None


def _message(message: object) -> ChatMessage:
    """Read a message."""
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(role, str) or role not in ROLES:
        raise Refused(400, f"expected a role among {', '.join(ROLES)}, got {role!r:.80}")
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise Refused(400, f"expected tool_calls to be a list, got {calls!r:.80}")
    return ChatMessage(ROLES[role], _text(message.get("content")), tuple(map(_call, calls)))


def _text(content: object) -> str:
    """Return the text of a message, which may be in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise Refused(400, "expected messages of text alone: the policy reads nothing else")
    return "".join(map(str, texts))


def _call(call: object) -> MessageToolCall:
    """Read a call of an earlier answer."""
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str):
        raise Refused(400, f"expected calls of functions with a name, got {call!r:.80}")
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return MessageToolCall(name, text)


def read_tools(tools: object, choice: object) -> tuple[Mapping[str, Any], ...]:
    """Read the tools that an answer may call.

    Args:
        tools: The tools.
        choice: Which of them it is to call; of this only ``none`` is heeded.

    Raises:
        Refused: They are no functions with a name.
    """
    if tools is None or choice == "none":
        return ()
    if not isinstance(tools, list) or len(tools) > MOST_TOOLS:
        raise Refused(400, f"expected tools to be a list of at most {MOST_TOOLS} functions")
    functions = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise Refused(400, f"expected tools that are functions with a name, got {tool!r:.80}")
        parameters = function.get("parameters")
        schema = dict(parameters) if isinstance(parameters, Mapping) else {"type": "object"}
        if not isinstance(schema.setdefault("properties", {}), Mapping):
            raise Refused(400, f"expected properties to be an object, got {schema!r:.80}")
        described = {"description": "", **function, "parameters": schema}
        functions.append({"type": "function", "function": described})
    return tuple(functions)
