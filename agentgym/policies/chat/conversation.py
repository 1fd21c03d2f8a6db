"""The messages of an episode, as the model said them and as it is shown them again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.policies.base import ModelOutput
from agentgym.policies.chat.completions import (
    REASONING_FIELDS,
    Completion,
    arguments_text,
    as_mapping,
    as_mappings,
    as_text,
    content_text,
)
from agentgym.policies.chat.config import ChatConfig
from agentgym.policies.chat.layout import Past, Prompt, Seen

MOST_CALLS = 32
"""Most tool calls of one answer that are shown to the model again."""
LONGEST_ID = 128
"""Most characters of a call's id that is sent back."""
LONGEST_NAME = 64
"""Most characters of a function's name."""
NOT_CARRIED_OUT = "Not carried out: only the first call of an answer is."
"""What the model is told about further calls."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


class ToolCall(NamedTuple):
    """A call of one of the actions."""

    id: str
    """Pairs the call with its result."""
    name: str
    """The action."""
    arguments: str
    """Its arguments, as the model wrote them."""

    def text(self) -> str:
        """Return the call as environments read it."""
        payload = {"name": self.name, "arguments": self.arguments}
        return f"<tool_call>{json.dumps(payload)}</tool_call>"

    def message(self) -> dict[str, Any]:
        """Return the call as endpoints read it."""
        # Names are held against a pattern, also those that a model made up.
        name = _ODD.sub("_", self.name)[:LONGEST_NAME] or "_"
        function = {"name": name, "arguments": _sound_arguments(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True)
class Answer:
    """What a model said in one turn."""

    content: str
    """Its text, without calls and without thinking that came apart."""
    calls: tuple[ToolCall, ...] = ()
    """Its tool calls."""
    reasoning: str = ""
    """Thinking that came apart."""
    reasoning_field: str = REASONING_FIELDS[0]
    """The field in which it came."""

    @property
    def text(self) -> str:
        """The action: the text, with the first call in it."""
        return self.content + "".join(call.text() for call in self.calls[:1])


def read_answer(completion: Completion, turn: int) -> Answer:
    """Read what a model said.

    Args:
        completion: The endpoint's answer.
        turn: Number of the turn, from which missing ids of calls are made.
    """
    message = completion.message
    field = next((name for name in REASONING_FIELDS if as_text(message.get(name))), "")
    calls: list[ToolCall] = []
    for number, call in enumerate(as_mappings(message.get("tool_calls"))[:MOST_CALLS]):
        function, id_ = as_mapping(call.get("function")), call.get("id")
        known = isinstance(id_, str) and 0 < len(id_) <= LONGEST_ID
        if not known or any(id_ == other.id for other in calls):
            id_ = f"call{turn:03d}{number:02d}"  # nine letters and digits, which all accept
        arguments = arguments_text(function.get("arguments"))
        calls.append(ToolCall(as_text(id_), as_text(function.get("name")), arguments))
    return Answer(
        content_text(message.get("content")) or as_text(message.get("refusal")),
        tuple(calls),
        as_text(message.get(field)),
        field or REASONING_FIELDS[0],
    )


def model_output(completion: Completion, answer: Answer) -> ModelOutput:
    """Return what records keep of an answer."""
    usage = completion.usage
    prompt = as_mapping(usage.get("prompt_tokens_details"))
    details = as_mapping(usage.get("completion_tokens_details"))
    return ModelOutput(
        answer.text,
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
        _count(details.get("reasoning_tokens") or usage.get("reasoning_tokens")),
        answer.reasoning,
        completion.finish_reason,
    )


class Conversation:
    """The turns of an episode, and the messages that are made of them.

    Args:
        config: The window, and whether calls go back as calls.
        system: The system message; with a prompt, only what stands before all it lays out.
        prompt: Lays the turns out in its own way; None: a message for each observation and answer.
        task: The task in words.
    """

    def __init__(
        self, config: ChatConfig, system: str, prompt: Prompt | None = None, task: str = ""
    ) -> None:
        self._config = config
        self._system = system
        self._prompt, self._task = prompt, task
        self._turns: list[tuple[Seen, Answer]] = []

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self._turns)

    def add(self, seen: Seen, answer: Answer) -> None:
        """Add a turn."""
        self._turns.append((seen, answer))

    def messages(self, seen: Seen, native: bool = False) -> list[dict[str, Any]]:
        """Return what the prompt lays out.

        Without one: system message, first observation, the window of recent turns, and this one.

        Args:
            seen: What the policy sees now.
            native: Whether calls go back as ``tool_calls`` with messages of the role ``tool``, and
                not as text. An observation whose call is before the window is the user's.
        """
        if self._prompt is not None:
            system = [{"role": "system", "content": self._system}] if self._system else []
            turns = [Past(before, answer.text) for before, answer in self._turns]
            return [*system, *self._prompt.messages(self._task, turns, seen)]
        recent = self._turns[-self._config.window :]
        cut = len(self._turns) - len(recent)
        messages: list[dict[str, Any]] = [{"role": "system", "content": self._system}]
        calls: Sequence[ToolCall] = ()
        for index, (before, answer) in enumerate(recent):
            text = before.explained
            if index == 0 and cut:
                first = self._turns[0][0].explained
                text = f"{first}\n[... {cut} earlier turns ...]\n{text}"
            messages.extend(_seen(text, calls))
            calls = answer.calls if native else ()
            messages.append(self._said(answer, calls))
        messages.extend(_seen(seen.explained, calls))
        return messages

    def _said(self, answer: Answer, calls: Sequence[ToolCall]) -> dict[str, Any]:
        """Return the message of the assistant."""
        said: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if calls:
            said["content"] = answer.content or None
            said["tool_calls"] = [call.message() for call in calls]
        if answer.reasoning and self._config.send_reasoning:
            said[answer.reasoning_field] = answer.reasoning
        return said


def _seen(observation: str, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return an observation as what the user says, or as the result of the first call."""
    if not calls:
        return [{"role": "user", "content": observation}]
    results = [observation, *[NOT_CARRIED_OUT] * (len(calls) - 1)]
    return [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(calls, results, strict=True)
    ]


def _sound_arguments(arguments: str) -> str:
    """Return arguments that endpoints can parse, as many do with those of earlier turns.

    What the model wrote without being JSON stands in an object, so that its own mistake does not
    end the episode.
    """
    try:
        if isinstance(json.loads(arguments or "{}"), dict):
            return arguments or "{}"
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid": arguments})


def sendable(value: Any) -> Any:
    """Return JSON data whose texts can be written in UTF-8; lone surrogates become ``?``."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(key): sendable(entry) for key, entry in value.items()}
    return [sendable(entry) for entry in value] if isinstance(value, list | tuple) else value


def _count(value: Any) -> int:
    """Return a number of tokens; 0 if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
