"""The messages of one agent during an episode."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentgym.conversation.prompt import Past, Prompt, SeenTurn


class _Exchange(NamedTuple):
    """An observation and its answer, in the form in which later prompts contain them."""

    text: str
    """Text of the user message."""
    answer: Mapping[str, Any]
    """Message of the assistant."""
    results: Sequence[Mapping[str, Any]]
    """Fields of the tool-result messages besides their content."""


class Conversation:
    """The messages of an episode so far, and the next request to the model.

    Args:
        prompt: Lays out the messages.
        task: The task in words, ``info["goal"]`` of the reset.
    """

    def __init__(self, prompt: Prompt, task: str = "") -> None:
        self.prompt = prompt
        self._task = task
        self._turns: list[Past] = []
        self._exchanges: list[_Exchange] = []
        self._newest: tuple[SeenTurn, str] | None = None
        # Turns that the last summary has replaced.
        self._replaced = 0

    def __len__(self) -> int:
        """Return the number of turns that were played."""
        return len(self._turns)

    def forked(self) -> Conversation:
        """Return an independent copy that continues from here."""
        twin = copy.copy(self)
        twin._turns, twin._exchanges = list(self._turns), list(self._exchanges)
        return twin

    def text(self, turn: SeenTurn) -> str:
        """Return the next user message: the content of the last message."""
        # Laid out once: it is asked for before the answer, and again when the turn is added.
        if self._newest is None or self._newest[0] is not turn:
            text = self.prompt.text(self._task, self._turns, turn, self.replaced_before(turn))
            self._newest = turn, text
        return self._newest[1]

    def replaced_before(self, turn: SeenTurn) -> int:
        """Return the number of turns that a summary has replaced; the summary itself stays."""
        return len(self._turns) - 1 if turn.forgets else self._replaced

    def messages(self, turn: SeenTurn) -> list[dict[str, Any]]:
        """Return all messages of the next request.

        Args:
            turn: The current turn, as the policy sees it.
        """
        opening, newest_text = self.prompt.opening(self._task), self.text(turn)
        if self.prompt.layout.kind == "step" or not self._exchanges:
            return [*opening, {"role": "user", "content": newest_text}]
        messages = [*opening, {"role": "user", "content": self._exchanges[0].text}]
        recent = self.prompt.recent(self._exchanges[self.replaced_before(turn) :])
        later_texts = [exchange.text for exchange in recent[1:]]
        # Each answer is followed by its result: the next exchange's text, or the current one.
        for exchange, reply in zip(recent, [*later_texts, newest_text], strict=False):
            messages += [dict(exchange.answer), *_write_replies(reply, exchange.results)]
        return messages

    def add(
        self,
        turn: SeenTurn,
        text: str,
        answer: Mapping[str, Any] | None = None,
        results: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Append a turn.

        Args:
            turn: The turn, as the policy saw it.
            text: The complete response, as passed to the environment.
            answer: The assistant's message, if it contains more than this text.
            results: For a response with tool calls, the fields of the tool-result messages besides
                their content; the first of these messages carries the environment's answer.
        """
        message = {"role": "assistant", "content": text} if answer is None else answer
        text_seen, self._replaced = self.text(turn), self.replaced_before(turn)
        self._exchanges.append(_Exchange(text_seen, message, results))
        self._turns.append(Past(turn, text))
        self._newest = None  # the same may be seen again, in another turn


NOT_CARRIED_OUT = "Not carried out: only the first call of an answer is."
"""Result sent to the model for every further call of a response."""


def _write_replies(text: str, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return an observation as a user message, or as the results of the preceding tool calls."""
    if not results:
        return [{"role": "user", "content": text}]
    contents = [text, *[NOT_CARRIED_OUT] * (len(results) - 1)]
    return [
        {"role": "tool", **result, "content": content}
        for result, content in zip(results, contents, strict=True)
    ]
