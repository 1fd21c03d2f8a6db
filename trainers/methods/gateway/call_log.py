"""The calls of one episode, token by token, and the training turns built from them.

A conversation that extends an answered one, answer included, continues from the sampled tokens;
answers are never encoded again. The prompt of a call is that of a chat server: where the template
writes earlier answers otherwise, or the agent changed its history, the prompt is rendered anew.
Where the tokens of a call begin with all tokens of the call before it, it continues that training
row; else it begins one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from agentgym.support.http_server import Refused
from trainers.methods.gateway.chat_request import ChatMessage, ChatRequest
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.template import Message
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["CallLog", "LoggedCall", "NoRoom"]

TOOLS_TEXT = (
    "You may call functions, which are described here in JSON, a line each:\n{tools}\nTo call one, "
    'write <tool_call>{{"name": <name>, "arguments": <object>}}</tool_call>.'
)
"""The prompt about tools for a model whose chat template has no place for them."""


class NoRoom(Exception):
    """The token budgets leave no room for another call."""


@dataclass(eq=False, slots=True)
class LoggedCall:
    """A request and the policy's answer."""

    asked_at: int
    """Moments of the episode when it was asked."""
    prompt: list[int]
    """Tokens that the policy read."""
    seed: int
    """Seed of the sample."""
    max_tokens: int
    """Most tokens of the answer."""
    main: bool
    """Whether it continues the first conversation of the episode."""
    text: str
    """The prompt as text, where the template may rewrite earlier turns."""
    messages: list[Message]
    """The prompt as the template reads it."""
    digest: Any = field(repr=False)
    """Running hash of tools and messages."""
    out: Completion | None = None
    """The sample; None: not answered yet, or never."""
    version: int = 0
    """Version of the weights that answered."""
    answered_at: int = 0
    """Moments of the episode when it was answered."""
    continued: bool = False
    """Whether a later call continues its conversation."""


class CallLog:
    """The calls of an episode; thread-safe.

    Args:
        chat: Turn tokenizer of the policy.
        budget: Limits on tokens.
        seed: Seed of the rollout.
        number: Number of the episode, which with the seed determines the samples.

    Attributes:
        calls: The calls in the order in which they were asked.
    """

    def __init__(self, chat: TurnTokenizer, budget: TokenBudget, seed: int, number: int) -> None:
        self.calls: list[LoggedCall] = []
        self._chat, self._budget, self._seed, self._number = chat, budget, seed, number
        self._lock = threading.Lock()
        self._spent = 0
        self._ends: dict[bytes, LoggedCall] = {}
        self._prompt_counts: dict[bytes, int] = {}

    @property
    def answered(self) -> list[LoggedCall]:
        """A new list of the calls answered so far."""
        with self._lock:
            return [call for call in self.calls if call.out is not None]

    def ask(self, request: ChatRequest, asked_at: int) -> LoggedCall:
        """Take in a request.

        Args:
            request: The request.
            asked_at: Moments of the episode so far.

        Raises:
            NoRoom: The budgets have no room for its answer.
            Refused: The chat template cannot render its messages.
        """
        with self._lock:
            covered_call, covered, digest = self._longest_covered(request)
            try:
                prompt, text, messages, added = self._prompt(request, covered_call, covered)
            except Exception as error:  # whatever a template raises, or runs into
                reason = f"expected messages that the chat template renders, but: {error!s:.400}"
                raise Refused(400, reason) from error
            spent = self._spent + added
            room = self._budget.room(spent, len(prompt))
            if room < self._budget.floor:
                raise NoRoom
            self._spent = spent  # Only now: what is refused costs the episode nothing.
            main = not self.calls
            if covered_call is not None:
                main, covered_call.continued = (
                    covered_call.main and not covered_call.continued,
                    True,
                )
            seed = self._draw(request, prompt, main)
            limit = min(room, request.max_tokens or room)
            call = LoggedCall(asked_at, prompt, seed, limit, main, text, messages, digest)
            self.calls.append(call)
            return call

    def answer(
        self,
        call: LoggedCall,
        out: Completion,
        version: int,
        message: ChatMessage,
        answered_at: int,
    ) -> None:
        """Record the sample for a call, and the agent's answer.

        Args:
            call: The call.
            out: The sample.
            version: Version of the weights that sampled it.
            message: The message that the agent gets.
            answered_at: Moments of the episode so far.
        """
        with self._lock:
            call.out, call.version, call.answered_at = out, version, answered_at
            self._spent += len(out.ids)
            # The hash of this conversation with its answer, by which a request that goes on with
            # them finds this call.
            end = call.digest.copy()
            end.update(_line(message))
            self._ends[end.digest()] = call

    def _draw(self, request: ChatRequest, prompt: Sequence[int], main: bool) -> int:
        """Return the seed of an answer.

        The first conversation uses the seeds of the trainer's own loop; another one those of its
        text and the number of times it was asked. So among concurrent calls the order of arrival
        matters only where they begin or fork the first conversation.
        """
        if main:
            return turn_seed(self._seed, self._number, request.depth)
        digest = blake2b(json.dumps(list(prompt)).encode(), digest_size=8).digest()
        times = self._prompt_counts[digest] = self._prompt_counts.get(digest, 0) + 1
        return turn_seed(self._seed, self._number, times, f"call/{digest.hex()}")

    def _longest_covered(self, request: ChatRequest) -> tuple[LoggedCall | None, int, Any]:
        """Find the answered conversation that a request begins with, the longest of several.

        Returns:
            Its call, the messages that it covers, answer included, and the hash of all messages.
        """
        digest = blake2b(json.dumps(request.tools, sort_keys=True, default=str).encode())
        match: tuple[LoggedCall | None, int] = (None, 0)
        for number, message in enumerate(request.messages, 1):
            digest.update(_line(message))
            if message.role == "assistant" and (call := self._ends.get(digest.digest())):
                match = call, number
        return *match, digest

    def _prompt(
        self, request: ChatRequest, covered_call: LoggedCall | None, covered: int
    ) -> tuple[list[int], str, list[Message], int]:
        """Return a prompt as tokens, text and messages, and how many tokens it adds.

        The opening of a conversation is free, as that of an episode is.
        """
        chat = self._chat
        new = [self._message(message) for message in request.messages[covered:]]
        if covered_call is None or covered_call.out is None:
            messages, text = self._rendered(new, request.tools)
            return chat.encode(text), text, messages, 0
        out = covered_call.out
        messages = [*covered_call.messages, chat.message(out.ids), *new]
        if not chat.follows:
            suffix = chat.follow_up(new, out.stopped)
            if suffix is not None:
                closed = chat.closed(out.ids, out.stopped)
                return [*covered_call.prompt, *closed, *suffix], "", messages, len(suffix)
        _, text = self._rendered(messages, request.tools, has_tools=True)
        prompt, n_shared = chat.follow(
            covered_call.text, covered_call.prompt, out.ids, out.stopped, text
        )
        if n_shared:
            return prompt, text, messages, len(prompt) - n_shared
        added = sum(len(chat.encode(chat.neutral(message["content"]))) for message in new)
        return prompt, text, messages, added

    def _rendered(
        self, messages: list[Message], tools: Sequence[Mapping[str, Any]], has_tools: bool = False
    ) -> tuple[list[Message], str]:
        """Return messages with what the template has no place for, and their text."""
        if tools and not self._chat.template.shows_tools(tools):
            if not has_tools:  # they are in the system message already
                messages = _with_tools(messages, tools)
            tools = ()
        return messages, self._chat.text(messages, tools)

    def _message(self, message: ChatMessage) -> Message:
        """Return a message as the template reads it."""
        if message.role == "assistant":
            calls = (
                f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'
                "</tool_call>"
                for call in message.calls
            )
            return {
                "role": "assistant",
                "content": "\n".join(filter(None, (message.content, *calls))),
            }
        role = message.role
        if role == "tool" and not self._chat.template.shows_role(role):
            role = "user"
        return {"role": role, "content": message.content}


def _line(message: ChatMessage) -> bytes:
    """Return what is hashed of a message."""
    return message.key.encode("utf-8", "surrogatepass") + b"\n"


def _with_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Tell of tools in the system message."""
    listed = "\n".join(json.dumps(tool["function"]) for tool in tools)
    text = TOOLS_TEXT.format(tools=listed)
    if messages and messages[0]["role"] == "system":
        head = {"role": "system", "content": f"{messages[0]['content']}\n\n{text}"}
        return [head, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
