"""The messages of an episode with several agents, each of which has its own conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.conversation.conversation import Conversation
from agentgym.conversation.prompt import Prompt, SeenTurn
from agentgym.core.delegation import PLANNER


class EpisodeConversation:
    """The conversations of all agents of an episode; messages are built for the acting agent.

    Most episodes have one agent and one conversation. A worker starts with an empty conversation;
    the planner continues its own, in which the worker's report answers the planner's order.

    Args:
        prompt: Lays out the messages of each agent.
        task: The task in words, ``info["goal"]`` of the reset.
    """

    def __init__(self, prompt: Prompt, task: str = "") -> None:
        self.prompt = prompt
        self._planner = Conversation(prompt, task)
        self._worker: tuple[str, Conversation] = "", self._planner
        self._count = 0

    def __len__(self) -> int:
        """Return the number of turns that were played, by all agents."""
        return self._count

    def text(self, turn: SeenTurn) -> str:
        """Return the next user message: the content of the last message."""
        return self._of(turn).text(turn)

    def messages(self, turn: SeenTurn) -> list[dict[str, Any]]:
        """Return all messages for the acting agent.

        Args:
            turn: The turn that this agent sees.
        """
        return self._of(turn).messages(turn)

    def add(
        self,
        turn: SeenTurn,
        text: str,
        answer: Mapping[str, Any] | None = None,
        results: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Append a turn; see `Conversation.add`."""
        self._of(turn).add(turn, text, answer, results)
        self._count += 1

    def _of(self, turn: SeenTurn) -> Conversation:
        """Return the conversation of the agent that sees this."""
        if turn.agent in ("", PLANNER):
            return self._planner
        if turn.agent != self._worker[0]:
            self._worker = turn.agent, Conversation(self.prompt, turn.agent_task)
        return self._worker[1]
