"""The messages of one episode, as it goes on."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentgym.conversation.prompt import Past, Prompt, SeenTurn


class _Exchange(NamedTuple):
    """An observation and its answer, as they are shown again."""

    text: str
    """What the user said."""
    answer: Mapping[str, Any]
    """The message of the assistant."""
    results: Sequence[Mapping[str, Any]]
    """What the messages with the results of its calls hold besides the content."""


class Conversation:
    """What was said in an episode, and what the model reads next.

    Args:
        prompt: Lays it out.
        task: The task in words, ``info["goal"]`` of the reset.
    """

    def __init__(self, prompt: Prompt, task: str = "") -> None:
        self.prompt = prompt
        self._task = task
        self._turns: list[Past] = []
        self._said: list[_Exchange] = []
        self._now: tuple[SeenTurn, str] | None = None

    def __len__(self) -> int:
        """Return the number of turns that were played."""
        return len(self._turns)

    def forked(self) -> Conversation:
        """Return another conversation that goes on from here by itself."""
        twin = copy.copy(self)
        twin._turns, twin._said = list(self._turns), list(self._said)
        return twin

    def text(self, seen: SeenTurn) -> str:
        """Return what the user says now: the content of the last message."""
        # Laid out once: it is asked for before the answer, and again when the turn is added.
        if self._now is None or self._now[0] is not seen:
            self._now = seen, self.prompt.text(self._task, self._turns, seen)
        return self._now[1]

    def messages(self, seen: SeenTurn) -> list[dict[str, Any]]:
        """Return all that the model reads.

        Args:
            seen: What the policy sees now.
        """
        opening, now = self.prompt.opening(self._task), self.text(seen)
        if self.prompt.layout.kind == "step" or not self._said:
            return [*opening, {"role": "user", "content": now}]
        messages = [*opening, {"role": "user", "content": self._said[0].text}]
        recent = self.prompt.recent(self._said)
        after = [exchange.text for exchange in recent[1:]]
        # Behind each answer stands what it led to: the next exchange's text, or what is said now.
        for exchange, heard in zip(recent, [*after, now], strict=False):
            messages += [dict(exchange.answer), *_heard(heard, exchange.results)]
        return messages

    def add(
        self,
        seen: SeenTurn,
        said: str,
        answer: Mapping[str, Any] | None = None,
        results: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Go on after a turn.

        Args:
            seen: What the policy saw.
            said: Its whole answer, as the environment was given it.
            answer: The message of the assistant, where it holds more than this text.
            results: Where the answer held calls, what the messages with their results hold besides
                the content: the first of them is what the environment answers.
        """
        message = {"role": "assistant", "content": said} if answer is None else answer
        self._said.append(_Exchange(self.text(seen), message, results))
        self._turns.append(Past(seen, said))
        self._now = None  # the same may be seen again, in another turn


NOT_CARRIED_OUT = "Not carried out: only the first call of an answer is."
"""What the model is told about further calls."""


def _heard(text: str, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the user says, as the results of the calls before it if there were any."""
    if not results:
        return [{"role": "user", "content": text}]
    said = [text, *[NOT_CARRIED_OUT] * (len(results) - 1)]
    return [
        {"role": "tool", **result, "content": content}
        for result, content in zip(results, said, strict=True)
    ]
