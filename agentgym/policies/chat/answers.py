"""Model responses, in the forms for the environment and for the next request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgym.actions import strip_think
from agentgym.endpoints.completions import (
    REASONING_FIELDS,
    ChatCompletion,
    arguments_text,
    as_mapping,
    as_mappings,
    as_text,
    content_text,
    thinking_text,
    tokens,
)
from agentgym.endpoints.extra_fields import (
    CALL_FIELDS,
    FUNCTION_FIELDS,
    MESSAGE_FIELDS,
    bounded_fields,
    extra_fields,
)
from agentgym.policies.base import ModelOutput
from agentgym.support.strict_json import parse_json

MOST_CALLS = 32
"""Maximum number of tool calls of one response that are sent back to the model."""
LONGEST_ID = 128
"""Maximum length of a call's id that is sent back."""
LONGEST_NAME = 64
"""Maximum length of a function's name."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


class ToolCall(NamedTuple):
    """A tool call of an action."""

    id: str
    """Identifies the call in its result."""
    name: str
    """The action."""
    arguments: str
    """Arguments, as the model wrote them."""
    extra: Mapping[str, Any] = {}
    """Non-standard fields that the endpoint added to the call; they are sent back."""
    function_extra: Mapping[str, Any] = {}
    """Non-standard fields that the endpoint added to the called function; they are sent back."""

    def text(self) -> str:
        """Return the call as text for an environment."""
        payload = {"name": self.name, "arguments": self.arguments}
        return f"<tool_call>{json.dumps(payload)}</tool_call>"

    def message(self) -> dict[str, Any]:
        """Return the call in the format of endpoints."""
        # Endpoints reject messages with names outside of this pattern, even if a model made it up.
        name = _ODD.sub("_", self.name)[:LONGEST_NAME] or "_"
        valid = {"name": name, "arguments": _valid_arguments(self.arguments)}
        function = {**self.function_extra, **valid}
        return {**self.extra, "id": self.id, "type": "function", "function": function}


@dataclass(frozen=True)
class ChatAnswer:
    """Response of a model in one turn."""

    content: str
    """Text, without tool calls and without separately returned thinking."""
    calls: tuple[ToolCall, ...] = ()
    """Its tool calls."""
    reasoning: str = ""
    """Thinking that was returned separately."""
    reasoning_field: str = REASONING_FIELDS[0]
    """Field of the response that contained it."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The original content, if it was a list of parts that includes thinking."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Non-standard fields that the endpoint added to the message; they are sent back."""

    @property
    def text(self) -> str:
        """The model's text, including thinking in it, followed by its first call."""
        return self.content + "".join(call.text() for call in self.calls[:1])

    def action(self, native: bool) -> str:
        """Return the action: text before a call from ``tool_calls`` cannot change the call.

        Args:
            native: Whether tool calls are the only actions; otherwise the text before them may
                contain an action, too.
        """
        if not self.calls:
            return self.content
        return ("" if native else strip_think(self.content)) + self.calls[0].text()

    def message(self, native: bool, reasoning: bool) -> dict[str, Any]:
        """Return the response as a message in the format of endpoints.

        Args:
            native: Whether calls are sent back as ``tool_calls`` instead of text.
            reasoning: Whether separately returned thinking is sent back.
        """
        message: dict[str, Any] = {**self.extra, "role": "assistant", "content": self.text}
        if native and self.calls:
            message["content"] = self.content or None
            message["tool_calls"] = [call.message() for call in self.calls]
        if self.parts and reasoning:
            message["content"] = [dict(part) for part in self.parts]
        elif self.reasoning and reasoning:
            message[self.reasoning_field] = self.reasoning
        return message


def read_answer(completion: ChatCompletion, turn: int) -> ChatAnswer:
    """Read the response of a model.

    Args:
        completion: The endpoint's response.
        turn: Number of the turn, used to generate missing call ids.
    """
    message = completion.message
    name = next((name for name in REASONING_FIELDS if as_text(message.get(name))), "")
    content, thinking = message.get("content"), thinking_text(message.get("content"))
    calls: list[ToolCall] = []
    for number, call in enumerate(as_mappings(message.get("tool_calls"))[:MOST_CALLS]):
        id_ = call.get("id")
        is_valid = isinstance(id_, str) and 0 < len(id_) <= LONGEST_ID
        if not is_valid or any(id_ == call.id for call in calls):
            id_ = f"call{turn:03d}{number:02d}"  # nine alphanumerics: Mistral accepts nothing else
        calls.append(_read_call(call, as_text(id_)))
    # The user decides whether thinking in words is sent back; any other value always is.
    reasoning_fields = {name for name in REASONING_FIELDS if isinstance(message.get(name), str)}
    return ChatAnswer(
        content_text(content) or as_text(message.get("refusal")),
        tuple(calls),
        as_text(message.get(name)) or thinking,
        name or REASONING_FIELDS[0],
        tuple(as_mappings(content)) if thinking else (),
        bounded_fields(extra_fields(message, MESSAGE_FIELDS | reasoning_fields)),
    )


def _read_call(call: Mapping[str, Any], id_: str) -> ToolCall:
    function = as_mapping(call.get("function"))
    return ToolCall(
        id_,
        as_text(function.get("name")),
        arguments_text(function.get("arguments")),
        bounded_fields(extra_fields(call, CALL_FIELDS)),
        bounded_fields(extra_fields(function, FUNCTION_FIELDS)),
    )


def model_output(completion: ChatCompletion, answer: ChatAnswer) -> ModelOutput:
    """Return the part of a response that records store."""
    usage = completion.usage
    prompt = as_mapping(usage.get("prompt_tokens_details"))
    details = as_mapping(usage.get("completion_tokens_details"))
    return ModelOutput(
        answer.text,
        completion.prompt_tokens,
        completion.completion_tokens,
        tokens(prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
        tokens(details.get("reasoning_tokens") or usage.get("reasoning_tokens")),
        answer.reasoning,
        completion.finish_reason,
        sampled=completion.sampled,
    )


def _valid_arguments(arguments: str) -> str:
    """Return arguments that are a JSON object; text that is not is wrapped in one.

    Many endpoints parse the arguments of earlier turns, and would reject the whole request because
    of one malformed call.
    """
    try:
        if isinstance(parse_json(arguments or "{}"), dict):
            return arguments or "{}"
    except ValueError:
        pass
    return json.dumps({"invalid": arguments})
