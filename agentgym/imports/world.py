"""What a world of another project has to do, so that `ImportedEnv` can play it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.core.tasks import Task


@dataclass(frozen=True, slots=True)
class Turn:
    """What one action did in a world."""

    observation: str
    """Text of the next observation."""
    reward: float = 0.0
    """What the world pays for this turn; what is no finite number breaks the episode."""
    done: bool = False
    """Whether the world's episode is over."""
    truncated: bool = False
    """Whether a limit of the world ended it, rather than the task."""
    reason: str = ""
    """Why the episode ended or the action did nothing, in the world's words."""
    valid: bool = True
    """Whether the world understood the action."""
    success: bool | None = None
    """Whether the task is solved; None: it is if the rewards reach what solves the task."""
    score: float | None = None
    """Progress in [0, 1]; None: the rewards so far, in parts of what solves the task."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON-safe facts about the turn."""


class World(ABC):
    """One game of another project: it is begun again and again, each time for a task.

    Whatever a method raises costs the episode, with the exception as its reason. What a world
    cannot do it leaves as it is here; `ImportedEnv` then says so.
    """

    @abstractmethod
    def reset(self, task: Task, seed: int) -> str:
        """Begin a task and return the first observation.

        Args:
            task: The task.
            seed: Number below 2**31 for what the task leaves open.
        """

    @abstractmethod
    def step(self, text: str) -> Turn:
        """Carry out an action, whatever the text is."""

    def expert(self) -> str | None:
        """Return the peer's own next action; None where it has none."""
        return None

    def admissible(self) -> Sequence[str]:
        """Return the actions that do something in this state, where the peer lists them."""
        return ()

    def state(self) -> str | None:
        """Return a text that is equal for equal states; None: the observation has to do."""
        return None

    def close(self) -> None:  # noqa: B027  # most worlds hold nothing
        """Free what the world holds; may be called twice."""
