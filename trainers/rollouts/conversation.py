"""A conversation as it goes on: what the model reads next, and where its training rows begin.

What the model reads is what a chat server would feed it: the template's rendering of all messages
so far. Where that rendering begins with everything the present row holds, the row goes on and the
sampled tokens stay as they were sampled, whatever the tokenizer would make of their text. Where the
template writes earlier turns otherwise (without their thinking, say), a new row begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.template import Message

__all__ = ["Conversation"]


class Conversation:
    """One episode's messages and tokens.

    Attributes:
        prompt: Everything the model is given next.
        new_from: Where the part of ``prompt`` begins that the training row does not hold; 0: a new
            row.
        spent: Tokens used after the opening, by turns and observations.
    """

    def __init__(
        self, chat: TurnTokenizer, opening: Sequence[Message], window: int | None = None
    ) -> None:
        """Begin with the messages before the first action.

        Args:
            chat: The turn tokenizer, which knows what becomes of earlier turns.
            opening: The messages.
            window: Turns that stay in the prompt besides the opening; None: all.
        """
        self.prompt = chat.start(opening)
        self.new_from = 0
        self.spent = 0
        self._chat = chat
        self._window = window
        self._opening = list(opening)
        self._text = chat.text(opening) if chat.follows else ""
        self._messages: list[Message] = []
        self._head = [] if window is None else list(self.prompt)
        self._segments: list[list[int]] = []

    @property
    def context(self) -> list[int]:
        """The tokens of the prompt that are new to the training row."""
        return self.prompt[self.new_from :]

    @property
    def fresh(self) -> bool:
        """Whether the next turn begins a training row."""
        return self.new_from == 0

    def extend(self, ids: list[int], stopped: bool, observation: str) -> None:
        """Go on after a turn: append, or rewrite the history where the template does.

        Args:
            ids: The sampled tokens.
            stopped: Whether a stop token ended them.
            observation: What the environment answered.
        """
        if self._chat.follows:
            self._follow(ids, stopped, observation)
            return
        suffix = self._chat.observe(observation, stopped)
        self.spent += len(ids) + len(suffix)
        turn = self._chat.closed(ids, stopped)
        if self._window is None and turn is ids:
            self._append(ids, suffix)
            return
        row = self.prompt + ids
        self._segments.append(turn + suffix)
        if self._window is None:
            self.prompt = self.prompt + self._segments.pop()
        else:
            kept = self._segments[-self._window :]
            self.prompt = self._head + [token for segment in kept for token in segment]
        self.new_from = len(row) if self.prompt[: len(row)] == row else 0

    def _append(self, ids: Sequence[int], suffix: Sequence[int]) -> None:
        """Go on with the row."""
        self.prompt += ids
        self.new_from = len(self.prompt)
        self.prompt += suffix

    def _follow(self, ids: list[int], stopped: bool, observation: str) -> None:
        """Render all messages anew; go on with the row only where that extends it."""
        chat = self._chat
        self._messages += [chat.message(ids), {"role": "user", "content": observation}]
        kept = self._messages if self._window is None else self._messages[-2 * self._window :]
        row = self._text + chat.as_prompted(ids, stopped)
        self._text = chat.text([*self._opening, *kept])
        self.spent += len(ids) + len(chat.encode(chat.neutral(observation)))
        if self._text.startswith(row) and row.endswith(chat.end_text):
            closing = [] if stopped else [chat.end_of_turn]
            self._append(ids, [*closing, *chat.encode_after_end(self._text[len(row) :])])
        else:
            self.prompt, self.new_from = chat.encode(self._text), 0
