"""A world of another project as an agentgym environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.guard import as_env_failure
from agentgym.core.hooks import finite
from agentgym.core.options import arguments, integer
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task, TaskSet
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.imports.world import Turn, World

FREE_TEXT = (
    ActionSpec(
        "act",
        "Answer with any text.",
        (Param("text", description="The whole answer.", verbatim=True),),
        native="{text}",
    ),
)
"""Actions of a world that takes any text."""
SINGLE_ANSWER = (
    ActionSpec(
        "answer",
        "Give the answer, which ends the episode.",
        (Param("text", description="The whole answer.", verbatim=True),),
        terminal=True,
        native="{text}",
    ),
)
"""Actions of a world that asks one question."""
NO_FORKS = "an episode cannot be forked: the other project's worlds have no snapshots"
"""What no imported environment can do."""


class ImportedEnv(TextEnv[World]):
    """Play a world of another project.

    Args:
        world: The world.
        tasks: Its tasks.
        specs: Its actions.
        horizon: Turn budget of an episode.
        solved_at: Sum of rewards at which a task counts as solved, if the world does not say.
        limits: Unsupported features and differences from our families, one sentence each.
        has_expert: Whether the world may have an expert.
        **kwargs: Arguments of :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is out of range.

    Attributes:
        limits: Unsupported features of the environment, in sentences.
        has_expert: Whether the world may have an expert.

    If a world raises or returns a reward that is not finite, the episode is broken: ``EnvFailure``
    says why, records and reports show it, and no reward is substituted.
    """

    def __init__(
        self,
        world: World,
        tasks: TaskSet,
        *,
        specs: Sequence[ActionSpec] = FREE_TEXT,
        horizon: int = 50,
        solved_at: float = 1.0,
        limits: Sequence[str] = (),
        has_expert: bool = False,
        **kwargs: Any,
    ) -> None:
        if not (finite(solved_at) and solved_at > 0):
            raise ConfigurationError(
                f"expected solved_at to be a finite number above 0, got {solved_at!r}"
            )
        # Other environments of this class have other actions.
        self.action_specs = tuple(specs)  # type: ignore[misc]  # of the class in families
        self.world = world
        self.solved_at = float(solved_at)
        self.has_expert = has_expert
        expert = () if has_expert else ("there is no expert: the other project has none",)
        self.limits: tuple[str, ...] = (*limits, *expert, NO_FORKS)
        self._return = 0.0
        super().__init__(tasks, horizon=integer(horizon, "horizon", 1), **kwargs)

    def close(self) -> None:
        """Free the world; may be called twice."""
        self._running = False
        self.world.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = self.world
        self._return = 0.0
        with as_env_failure():
            return self._checked(self.world.reset(task, int(rng.integers(2**31))))

    def _act(self, action: str) -> Outcome:
        with as_env_failure():
            turn = self.world.step(action)
            observation = self._checked(turn.observation)
        if not finite(turn.reward):
            raise EnvFailure(
                f"expected a finite number as the reward of {self.task.id}, got {turn.reward!r:.80}"
            )
        self._return += float(turn.reward)
        success = turn.success
        if success is None:
            success = turn.done and self._return >= self.solved_at
        return Outcome(
            observation,
            reward=float(turn.reward),
            terminated=turn.done or turn.truncated,
            valid=turn.valid,
            success=success,
            score=self._score_of(turn),
            stop_reason=StopReason.HORIZON if turn.truncated else StopReason.NONE,
            details={**turn.details, "reason": turn.reason},
        )

    def reported_details(self) -> tuple[str, ...]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason",)

    def _misread(self, action: str, problem: str) -> Outcome:
        return self._idle(problem, False)

    def _idle(self, said: str, valid: bool) -> Outcome:
        return Outcome(said, valid=valid, details={"reason": "" if valid else said})

    def _admissible(self) -> Sequence[str]:
        with as_env_failure():
            return self.world.admissible()

    def _state(self) -> str:
        with as_env_failure():
            known = self.world.state()
        return f"{self.task.id}\n{super()._state() if known is None else known}"

    def _oracle_action(self) -> str | None:
        with as_env_failure():
            return self.world.expert() if self.has_expert else None

    # -- parts ----------------------------------------------------------------------------------

    def _checked(self, observation: object) -> str:
        """Return an observation that is text."""
        if not isinstance(observation, str):
            raise EnvFailure(
                f"expected text as an observation of {self.task.id}, got "
                f"{type(observation).__name__}"
            )
        return observation

    def _score_of(self, turn: Turn) -> float:
        """Return progress in [0, 1]."""
        score = self._return / self.solved_at if turn.score is None else turn.score
        if not finite(score):
            raise EnvFailure(
                f"expected a finite number as the score of {self.task.id}, got {score!r:.80}"
            )
        return min(1.0, max(0.0, float(score)))


GIVEN = ("world", "tasks", "specs", "limits", "has_expert")
"""Arguments of `ImportedEnv` that a kind gives, not the caller."""


def share(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the options of `ImportedEnv` from those that are the peer's."""
    known = [name for name in arguments(ImportedEnv) if name not in GIVEN]
    ours = {name: value for name, value in options.items() if name in known}
    return ours, {name: value for name, value in options.items() if name not in known}
