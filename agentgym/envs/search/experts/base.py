"""What experts have in common: they look at a session and say what to do next."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentgym.envs.search.engine.commands import SearchCommand
from agentgym.envs.search.engine.session import SearchSession


class Expert(ABC):
    """Knows what to do in every state of an episode that is not over."""

    @abstractmethod
    def step(self, session: SearchSession, turns_left: int) -> SearchCommand:
        """Return what to do next.

        Args:
            session: The running episode.
            turns_left: Turns after this one; in the last turn only an answer is accepted.
        """
