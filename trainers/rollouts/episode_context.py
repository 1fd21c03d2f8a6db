"""The tokens of an episode with several agents, each with its own conversation.

A change of the agent begins a new training row, as the model then reads something else; all rows
of an episode belong to one trajectory.
"""

from __future__ import annotations

import copy

from agentgym.conversation import Prompt, SeenTurn
from agentgym.core.delegation import PLANNER
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.context import TokenContext

__all__ = ["EpisodeContext"]


class EpisodeContext:
    """What the agent that acts now is given next; of most episodes there is one.

    Args:
        chat: The turn tokenizer, which knows what becomes of earlier turns.
        prompt: Lays out the messages of each agent.
        seen_turn: The first observation.
        task: The task in words.
    """

    def __init__(
        self, chat: TurnTokenizer, prompt: Prompt, seen_turn: SeenTurn, task: str = ""
    ) -> None:
        self._chat, self._prompt = chat, prompt
        self._now, self._agent = TokenContext(chat, prompt, seen_turn, task), seen_turn.agent
        # The planner while a worker acts, and its order, which the worker's report will answer.
        self._waiting: tuple[TokenContext, list[int], bool] | None = None
        self._past = 0

    @property
    def prompt(self) -> list[int]:
        """Everything the model is given next."""
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
        """Return another context that goes on from here by itself."""
        twin = copy.copy(self)
        twin._now = self._now.forked()
        if self._waiting is not None:
            planner, ids, stopped = self._waiting
            twin._waiting = planner.forked(), ids, stopped
        return twin

    def extend(self, ids: list[int], stopped: bool, seen_turn: SeenTurn) -> None:
        """Go on after a turn, with the agent that sees what came of it.

        Args:
            ids: The sampled tokens.
            stopped: Whether a stop token ended them.
            seen_turn: What the environment answered.
        """
        if seen_turn.agent == self._agent:
            self._now.extend(ids, stopped, seen_turn)
            return
        self._agent = seen_turn.agent
        if seen_turn.agent == PLANNER and self._waiting is not None:
            planner, order, order_stopped = self._waiting
            self._past += self._now.spent + len(ids)  # of the worker, who is done
            self._waiting, self._now = None, planner
            planner.extend(order, order_stopped, seen_turn)
            planner.new_from = 0
        else:
            self._waiting = self._now, ids, stopped
            self._now = TokenContext(self._chat, self._prompt, seen_turn, seen_turn.agent_task)
            self._past += len(self._now.prompt)
