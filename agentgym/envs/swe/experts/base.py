"""What experts have in common: they look at a repository and say what is left to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agentgym.envs.swe.engine.commands import SWECommand
from agentgym.envs.swe.engine.session import SWEState
from agentgym.envs.swe.instance import Instance


class Expert(ABC):
    """Knows what to do in every state of an episode that is not over."""

    @abstractmethod
    def plan(self, instance: Instance, state: SWEState) -> Sequence[SWECommand] | None:
        """Return what is left to do, the submission included.

        Args:
            instance: The instance.
            state: The state of the running episode.

        Returns:
            The commands in order; None if the repository was changed so that nothing helps.
        """
