"""The next prompt of a model in tokens, and the division of an episode into training rows.

The messages come from `agentgym.conversation`, as for every policy; here they become tokens. The
prompt is what a chat server would feed the model: the template's rendering of all messages so far.
If that rendering starts with everything in the current row, the row continues and the sampled
tokens stay as they were sampled, whichever tokens the tokenizer would choose for their text. If the
template rewrites earlier turns (without their thinking, say), the window is full, a summary
replaces earlier turns, or the prompt is one new message per turn, a new row begins.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from agentgym.conversation import Conversation, Prompt, SeenTurn
from trainers.rollouts.chat import TurnTokenizer

__all__ = ["TokenContext"]


class TokenContext:
    """The tokens of one episode's conversation.

    Attributes:
        prompt: All tokens of the next prompt.
        new_from: Position from which ``prompt`` is new to the training row; 0: a new row.
        spent: Tokens used after the opening, by turns and observations.
    """

    def __init__(
        self, chat: TurnTokenizer, prompt: Prompt, seen_turn: SeenTurn, task: str = ""
    ) -> None:
        """Start with the messages before the first action.

        Args:
            chat: The turn tokenizer, which knows how earlier turns are rewritten.
            prompt: Layout of the messages.
            seen_turn: The first observation.
            task: The task in words.
        """
        self._chat, self._seen_turn = chat, seen_turn
        self._conversation = Conversation(prompt, task)
        opening = self._conversation.messages(seen_turn)
        self.prompt = chat.start(opening)
        self.new_from = 0
        self.spent = 0
        self._step, self._grows = prompt.layout.kind == "step", prompt.layout.grows
        self._text = chat.text(opening) if chat.follows else ""
        self._head = list(self.prompt)
        self._segments: list[list[int]] = []

    @property
    def new(self) -> list[int]:
        """The tokens of the prompt that are new to the training row."""
        return self.prompt[self.new_from :]

    @property
    def fresh(self) -> bool:
        """Whether the next turn begins a training row."""
        return self.new_from == 0

    def forked(self) -> TokenContext:
        """Return an independent copy that continues from here."""
        twin = copy.copy(self)
        twin._conversation = self._conversation.forked()
        twin.prompt, twin._segments = list(self.prompt), list(self._segments)
        return twin

    def extend(self, ids: list[int], stopped: bool, seen_turn: SeenTurn) -> None:
        """Continue after a turn: append, or rewrite the history if prompt or template does.

        Args:
            ids: The sampled tokens.
            stopped: Whether a stop token ended them.
            seen_turn: The environment's answer.
        """
        message = self._chat.message(ids)
        self._conversation.add(self._seen_turn, message["content"], message)
        self._seen_turn = seen_turn
        if self._step:
            self._spend(ids, seen_turn.observation)
            self.prompt, self.new_from = self._chat.rerender(self._messages()), 0
        elif self._chat.follows:
            self._follow(ids, stopped)
        else:
            self._go_on(ids, stopped)

    def _messages(self) -> list[dict[str, str]]:
        """Return the messages of the next prompt."""
        return self._conversation.messages(self._seen_turn)

    def _spend(self, ids: Sequence[int], text: str) -> None:
        """Count a turn and the text that followed it."""
        chat = self._chat
        self.spent += len(ids) + len(chat.encode(chat.neutral(text)))

    def _go_on(self, ids: list[int], stopped: bool) -> None:
        """Append the user's message, with templates that keep all earlier text."""
        suffix = self._chat.observe(self._conversation.text(self._seen_turn), stopped)
        self.spent += len(ids) + len(suffix)
        turn = self._chat.closed(ids, stopped)
        forgets = self._seen_turn.forgets
        # The identical list: the turn ended with the template's token, so nothing was replaced.
        if self._grows and turn is ids and not forgets:
            self.prompt += ids
            self.new_from = len(self.prompt)
            self.prompt += suffix
            return
        row = self.prompt + ids
        if forgets:
            self._segments = []
        self._segments.append(turn + suffix)
        if self._grows:
            self.prompt = (self._head if forgets else self.prompt) + self._segments.pop()
        else:
            segments = self._conversation.prompt.recent(self._segments)
            self.prompt = self._head + [token for segment in segments for token in segment]
        # A full window, a summary, or a turn closed by another token ends the row.
        self.new_from = len(row) if self.prompt[: len(row)] == row else 0

    def _follow(self, ids: list[int], stopped: bool) -> None:
        """Render all messages again; continue the row only if the rendering extends it."""
        old_text, self._text = self._text, self._chat.text(self._messages())
        self._spend(ids, self._conversation.text(self._seen_turn))
        self.prompt, self.new_from = self._chat.follow(
            old_text, self.prompt, ids, stopped, self._text
        )
