"""Parse responses of endpoints, complete or streamed, with untrusted content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.endpoints.extra_fields import (
    CALL_FIELDS,
    FUNCTION_FIELDS,
    MESSAGE_FIELDS,
    extra_fields,
    merge,
)
from agentgym.endpoints.faults import Cause, EndpointFault, status_fault
from agentgym.endpoints.returned_tokens import ReturnedTokens, read_tokens
from agentgym.support.strict_json import parse_json

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Fields in which endpoints return thinking apart from the answer, in plain words."""
LARGEST = 1 << 22
"""Most characters of a streamed answer, each piece counted as one more, and most bytes of any
answer: none is endless."""

LONGEST_REASON = 60
"""Most characters of a finish reason: it is a word, and reports count those that there are."""


@dataclass(frozen=True)
class ChatCompletion:
    """A response of an endpoint, of which only the types are validated."""

    message: Mapping[str, Any]
    """The assistant's message: its ``content``, ``tool_calls`` and thinking."""
    finish_reason: str
    """Why the model stopped."""
    usage: Mapping[str, Any]
    """Token counts."""
    sampled: ReturnedTokens | None = None
    """Token ids and log-probabilities, if the endpoint returned them."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens that the model read; 0 if the endpoint does not report them."""
        return tokens(self.usage.get("prompt_tokens"))

    @property
    def completion_tokens(self) -> int:
        """Tokens that it wrote; 0 where the endpoint does not say it."""
        return tokens(self.usage.get("completion_tokens"))


def read_complete(body: bytes) -> ChatCompletion | EndpointFault:
    """Parse a complete response."""
    try:
        parsed = parse_json(body)
    except ValueError:
        text = body.decode("utf-8", "replace").strip()
        if text.startswith(("data:", "event:", ":")):
            return EndpointFault(Cause.STREAMED, f"a stream of events: {text}")
        kind = "an HTML page" if text.startswith("<") else "a body that is no whole JSON"
        return EndpointFault(Cause.BROKEN, f"{kind}: {text}" if text else "an empty body")
    answer = as_mapping(parsed[0] if isinstance(parsed, list) and parsed else parsed)
    error = answer.get("error")
    choices = answer.get("choices")
    if error and not choices:
        return status_fault(None, error, {}, str(error))
    choice = as_mapping(choices[0]) if isinstance(choices, list) and choices else {}
    if not isinstance(choice.get("message"), Mapping):
        problem = f"no chat completion with choices: {body.decode('utf-8', 'replace')}"
        return EndpointFault(Cause.BROKEN, problem, status=200)
    usage = as_mapping(answer.get("usage"))
    sampled = read_tokens(answer, choice)
    return _answered(ChatCompletion(choice["message"], _finish_reason(choice), usage, sampled))


def streamed(chunks: Iterable[Any]) -> ChatCompletion | EndpointFault:
    """Assemble a streamed response.

    Args:
        chunks: The pieces as parsed JSON; a `EndpointFault` where no more came.
    """
    gathered = _Gathered()
    for chunk in chunks:
        if isinstance(chunk, EndpointFault):
            return chunk
        gathered.add(as_mapping(chunk))
        if gathered.size > LARGEST:
            problem = (
                f"more than {LARGEST:,} characters of one streamed answer: {gathered.beginning}"
            )
            return EndpointFault(Cause.UNREADABLE, problem, status=200)
    if not gathered.finish_reason:
        problem = f"a stream that broke off after {gathered.size} characters: {gathered.beginning}"
        return EndpointFault(Cause.CONNECTION, problem)
    return _answered(gathered.completion())


class _Gathered:
    """The pieces so far."""

    def __init__(self) -> None:
        self.size = 0
        self.finish_reason = ""
        self._usage: Mapping[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._thinking: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._extra: dict[str, Any] = {}

    @property
    def beginning(self) -> str:
        return "".join(self._texts.get("content", []))[:1000]

    def add(self, chunk: Mapping[str, Any]) -> None:
        self.size += 1
        self._usage = as_mapping(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        choice = as_mapping(choices[0]) if isinstance(choices, list) and choices else {}
        self.finish_reason = _finish_reason(choice) or self.finish_reason
        delta = as_mapping(choice.get("delta"))
        for field in ("content", "refusal", *REASONING_FIELDS):
            if text := content_text(delta.get(field)):
                self._texts.setdefault(field, []).append(text)
                self.size += len(text)
        if thinking := thinking_text(delta.get("content")):
            self._thinking.append(thinking)
            self.size += len(thinking)
        self.size += merge(self._extra, extra_fields(delta, MESSAGE_FIELDS))
        calls = delta.get("tool_calls")
        for piece in as_mappings(calls):
            self._add_call(piece)

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        function = as_mapping(piece.get("function"))
        call = self._call(piece)
        arguments = arguments_text(function.get("arguments"))
        # Some endpoints repeat the name in each piece.
        call["name"] = call["name"] or as_text(function.get("name"))
        call["arguments"].append(arguments)
        self.size += 1 + len(arguments)
        self.size += merge(call["extra"], extra_fields(piece, CALL_FIELDS))
        self.size += merge(call["function"], extra_fields(function, FUNCTION_FIELDS))

    def _call(self, piece: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call that a piece belongs to.

        Some endpoints give no index, or the same one to every call; then a new id begins a new one.
        """
        index, id_ = piece.get("index"), as_text(piece.get("id"))
        matches = [call for call in self._calls if index is None or call["index"] == index]
        if matches and (not id_ or matches[-1]["id"] in ("", id_)):
            matches[-1]["id"] = matches[-1]["id"] or id_
            return matches[-1]
        call: dict[str, Any] = {"index": index, "id": id_, "name": "", "arguments": []}
        self._calls.append({**call, "extra": {}, "function": {}})
        return self._calls[-1]

    def completion(self) -> ChatCompletion:
        texts = {field: "".join(texts) for field, texts in self._texts.items()}
        message: dict[str, Any] = {**self._extra, **texts}
        if self._thinking:
            words = [{"type": "text", "text": "".join(self._thinking)}]
            answer = {"type": "text", "text": texts.get("content", "")}
            message["content"] = [{"type": "thinking", "thinking": words}, answer]
        message["tool_calls"] = [
            {
                **call["extra"],
                "id": call["id"],
                "function": {
                    **call["function"],
                    "name": call["name"],
                    "arguments": "".join(call["arguments"]),
                },
            }
            for call in self._calls
        ]
        return ChatCompletion(message, self.finish_reason, self._usage)


def _finish_reason(choice: Mapping[str, Any]) -> str:
    return as_text(choice.get("finish_reason"))[:LONGEST_REASON]


def _answered(completion: ChatCompletion) -> ChatCompletion | EndpointFault:
    """Return a completion if it has content (thinking counts); otherwise the fault."""
    message, reason = completion.message, completion.finish_reason
    text = content_text(message.get("content"))
    if reason == "content_filter":
        return EndpointFault(
            Cause.FILTERED, f"finish_reason content_filter after {text!r}", status=200
        )
    other_texts = (content_text(message.get(name)) for name in ("refusal", *REASONING_FIELDS))
    if (
        text
        or any(other_texts)
        or thinking_text(message.get("content"))
        or as_mappings(message.get("tool_calls"))
    ):
        return completion
    problem = f"a completion without text and without a call, finish_reason {reason or 'unknown'}"
    return EndpointFault(Cause.UNREADABLE, problem)


def content_text(content: object) -> str:
    """Return the text of a message's content, which may come in parts."""
    if isinstance(content, list):
        parts = [part for part in as_mappings(content) if part.get("type") == "text"]
        return "".join(as_text(part.get("text")) for part in parts)
    return as_text(content)


def thinking_text(content: object) -> str:
    """Return the thinking in a message's content, as Mistral's endpoint returns it in parts."""
    if not isinstance(content, list):
        return ""
    parts = [part for part in as_mappings(content) if part.get("type") == "thinking"]
    return "".join(content_text(part.get("thinking")) for part in parts)


def arguments_text(arguments: object) -> str:
    """Return the arguments of a call as JSON text; some endpoints return them parsed."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, default=str)


def tokens(value: object) -> int:
    """Return a number of tokens; 0 if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def as_mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list, none if it is no list."""
    return (
        [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
    )


def as_text(value: object) -> str:
    """Return a text, empty if it is none."""
    return value if isinstance(value, str) else ""
