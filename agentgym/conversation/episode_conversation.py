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

    def text(self, seen: SeenTurn) -> str:
        """Return the next user message: the content of the last message."""
        return self._of(seen).text(seen)

    def messages(self, seen: SeenTurn) -> list[dict[str, Any]]:
        """Return all messages for the acting agent.

        Args:
            seen: The turn that this agent sees.
        """
        return self._of(seen).messages(seen)

    def add(
        self,
        seen: SeenTurn,
        said: str,
        answer: Mapping[str, Any] | None = None,
        results: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Append a turn; see `Conversation.add`."""
        self._of(seen).add(seen, said, answer, results)
        self._count += 1

    def _of(self, seen: SeenTurn) -> Conversation:
        """Return the conversation of the agent that sees this."""
        if seen.agent in ("", PLANNER):
            return self._planner
        if seen.agent != self._worker[0]:
            self._worker = seen.agent, Conversation(self.prompt, seen.agent_task)
        return self._worker[1]
