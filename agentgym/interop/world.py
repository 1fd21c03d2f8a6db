"""The interface of a world of another project, for `ImportedEnv`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentgym.core.hooks import finite
from agentgym.core.outcome import StopReason
from agentgym.core.tasks import Task


@dataclass(frozen=True, slots=True)
class WorldTurn:
    """The result of an action in a world."""

    observation: str
    """Text of the next observation."""
    reward: float = 0.0
    """What the world pays for this turn; what is no finite number breaks the episode."""
    done: bool = False
    """Whether the task has ended."""
    truncated: bool = False
    """Whether a limit of the world ended the episode; ignored if ``done``."""
    reason: str = ""
    """Why the episode ended or the action did nothing, in the world's words."""
    valid: bool = True
    """Whether the world understood the action."""
    success: bool | None = None
    """Whether the task is solved; None: it is if the rewards reach what solves the task."""
    score: float | None = None
    """Progress in [0, 1]; None: the rewards so far, in parts of what solves the task, and 1 if it
    is solved."""
    stop_reason: StopReason = StopReason.NONE
    """Why the task has ended, if the world says so in our words."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON-safe facts about the turn."""


STATED = frozenset({StopReason.ANSWER, StopReason.SANDBOX, StopReason.ACTION_ERROR})
"""Ends of a task that only the environment knows of; others follow from its success."""


def stated_turn(
    observation: str, reward: Any, done: bool, info: Mapping[str, Any], *, valid: bool = True
) -> WorldTurn:
    """Return a turn of another process, with the facts that this project's servers state.

    Args:
        observation: What the agent sees.
        reward: What the server pays.
        done: Whether its episode is over, by the task or by a limit.
        info: Those facts, unchecked; of another project's server, empty.
        valid: Whether the action did something, if ``info`` does not say.
    """
    action_valid, success, score = map(info.get, ("action_valid", "success", "score"))
    reason = info.get("stop_reason")
    limited = done and reason == StopReason.HORIZON.value
    return WorldTurn(
        observation,
        reward,
        done and not limited,
        limited,
        valid=action_valid if isinstance(action_valid, bool) else valid,
        success=success if isinstance(success, bool) else None,
        score=score if finite(score) else None,
        stop_reason=next((member for member in STATED if member.value == reason), StopReason.NONE),
    )


class World(ABC):
    """One game of another project, restarted for each task.

    If `step` raises, `agentgym.core.attribution` tells whether that is the policy's doing, which
    counts, or the world's. If another method raises, the episode is broken, with the exception as
    the reason. Optional methods that a world does not support keep these defaults; `ImportedEnv`
    then reports it.
    """

    attributes_failures: ClassVar[bool] = False
    """Whether `step` itself tells the policy's failures from the world's, and raises the latter."""

    @abstractmethod
    def reset(self, task: Task, seed: int) -> str:
        """Begin a task and return the first observation.

        Args:
            task: The task.
            seed: Number below 2**31 for what the task leaves open.
        """

    @abstractmethod
    def step(self, text: str) -> WorldTurn:
        """Execute an action; any text is accepted."""

    def expert(self) -> str | None:
        """Return the expert's next action; None if there is no expert."""
        return None

    def admissible(self) -> Sequence[str]:
        """Return the actions that have an effect in this state, if the project lists them."""
        return ()

    def neutral(self) -> Sequence[str]:
        """Return actions to try after a failure where none is known to be good."""
        return ()

    def state(self) -> str | None:
        """Return a text that identifies the state; None: use the observation."""
        return None

    def release(self) -> None:  # noqa: B027  # most worlds hold nothing that others need
        """Give back what others may need, such as a session; the next reset takes it again."""

    def close(self) -> None:  # noqa: B027  # most worlds hold nothing
        """Release all resources; may be called twice."""
