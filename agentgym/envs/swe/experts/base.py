"""The interface of experts: plan the remaining commands of an episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agentgym.envs.swe.engine.commands import SWECommand
from agentgym.envs.swe.engine.session import SWEState
from agentgym.envs.swe.instance import Instance


class Expert(ABC):
    """Plans the rest of an episode from any state in which it is not over."""

    @abstractmethod
    def plan(self, instance: Instance, state: SWEState) -> Sequence[SWECommand] | None:
        """Return the remaining commands, including the submission.

        Args:
            instance: The instance.
            state: The state of the running episode.

        Returns:
            The commands in order; None if the changes so far cannot be repaired.
        """
