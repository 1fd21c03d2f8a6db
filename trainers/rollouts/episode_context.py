"""The tokens of an episode with several agents, each with its own conversation.

A change of agent begins a new training row, because the model's prompt changes; all rows of an
episode belong to one trajectory.
"""

from __future__ import annotations

import copy

from agentgym.conversation import Prompt, SeenTurn
from agentgym.core.delegation import PLANNER
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.context import TokenContext

__all__ = ["EpisodeContext"]


class EpisodeContext:
    """The next prompt of the acting agent; most episodes have one agent.

    Args:
        chat: The turn tokenizer, which knows how earlier turns are rewritten.
        prompt: Layout of each agent's messages.
        seen_turn: The first observation.
        task: The task in words.
    """

    def __init__(
        self, chat: TurnTokenizer, prompt: Prompt, seen_turn: SeenTurn, task: str = ""
    ) -> None:
        self._chat, self._prompt = chat, prompt
        self._now, self._agent = TokenContext(chat, prompt, seen_turn, task), seen_turn.agent
        # The planner while a worker acts, and its order, which the worker's report answers.
        self._waiting: tuple[TokenContext, list[int], bool] | None = None
        self._past = 0

    @property
    def prompt(self) -> list[int]:
        """All tokens of the next prompt."""
        return self._now.prompt

    @property
    def new(self) -> list[int]:
        """The tokens of the prompt that are new to the training row."""
        return self._now.new

    @property
    def fresh(self) -> bool:
        """Whether the next turn begins a training row."""
        return self._now.fresh

    @property
    def spent(self) -> int:
        """Tokens used after the opening, by the turns and observations of all agents."""
        waiting = 0 if self._waiting is None else self._waiting[0].spent + len(self._waiting[1])
        return self._past + waiting + self._now.spent

    def forked(self) -> EpisodeContext:
        """Return an independent copy that continues from here."""
        twin = copy.copy(self)
        twin._now = self._now.forked()
        if self._waiting is not None:
            planner, ids, stopped = self._waiting
            twin._waiting = planner.forked(), ids, stopped
        return twin

    def extend(self, ids: list[int], stopped: bool, seen_turn: SeenTurn) -> None:
        """Continue after a turn, with the agent that sees the result.

        Args:
            ids: The sampled tokens.
            stopped: Whether a stop token ended them.
            seen_turn: The environment's answer.
        """
        if seen_turn.agent == self._agent:
            self._now.extend(ids, stopped, seen_turn)
            return
        self._agent = seen_turn.agent
        if seen_turn.agent == PLANNER and self._waiting is not None:
            planner, order, order_stopped = self._waiting
            self._past += self._now.spent + len(ids)  # of the worker, which is finished
            self._waiting, self._now = None, planner
            planner.extend(order, order_stopped, seen_turn)
            planner.new_from = 0
        else:
            self._waiting = self._now, ids, stopped
            self._now = TokenContext(self._chat, self._prompt, seen_turn, seen_turn.agent_task)
            self._past += len(self._now.prompt)
