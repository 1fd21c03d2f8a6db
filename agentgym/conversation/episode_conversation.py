"""The messages of an episode in which several agents act, each with a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.conversation.conversation import Conversation
from agentgym.conversation.prompt import Prompt, SeenTurn
from agentgym.core.delegation import PLANNER


class EpisodeConversation:
    """What the agents of an episode said, and what the one that acts now reads.

    Of most episodes there is one, and this is its conversation. A worker begins with an empty one;
    the planner goes on with its own, in which the worker's report is the answer to its order.

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
        """Return what the user says now: the content of the last message."""
        return self._of(seen).text(seen)

    def messages(self, seen: SeenTurn) -> list[dict[str, Any]]:
        """Return all that the agent reads that acts now.

        Args:
            seen: What it sees.
        """
        return self._of(seen).messages(seen)

    def add(
        self,
        seen: SeenTurn,
        said: str,
        answer: Mapping[str, Any] | None = None,
        results: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Go on after a turn; see `Conversation.add`."""
        self._of(seen).add(seen, said, answer, results)
        self._count += 1

    def _of(self, seen: SeenTurn) -> Conversation:
        """Return the conversation of the agent that sees this."""
        if seen.agent in ("", PLANNER):
            return self._planner
        if seen.agent != self._worker[0]:
            self._worker = seen.agent, Conversation(self.prompt, seen.agent_task)
        return self._worker[1]
