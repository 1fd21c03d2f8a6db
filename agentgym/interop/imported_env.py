"""A world of another project as an agentgym environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.attribution import (
    NEUTRAL_TEXTS,
    ActionFailed,
    Trials,
    action_error,
    attribute_failure,
)
from agentgym.core.env import TextEnv
from agentgym.core.guard import as_env_failure
from agentgym.core.hooks import finite
from agentgym.core.options import arguments, integer
from agentgym.core.outcome import SUCCESS_UNKNOWN, Outcome, StopReason
from agentgym.core.tasks import Task, TaskSet
from agentgym.errors import ConfigurationError
from agentgym.interop.seeded_tasks import UNSEEDED
from agentgym.interop.world import World, WorldTurn

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
ASSUMED_SUCCESS = (
    "success is assumed where rewards add up to 1, and cannot be told where one is negative: the "
    "other project names no such sum; give it as solved_at=NUMBER (--env-kwargs solved_at=NUMBER)"
)
"""Limit of worlds that do not say what solves a task."""
MOST_TRIALS = 64
"""Most actions that are tried after a failure."""
MOST_REPLAYED = 2000
"""Most actions that are repeated for these trials, but for a few trials of a long episode."""
FEWEST_TRIALS = 4


class ImportedEnv(TextEnv[World]):
    """Play a world of another project.

    Args:
        world: The world.
        tasks: Its tasks.
        specs: Its actions.
        horizon: Turn budget of an episode.
        solved_at: Sum of rewards at which a task counts as solved, if the world does not say. Above
            0 it counts however the episode ends, else only where the task ends. None: 1, where the
            task ends.
        states_success: Whether the project says what solves a task, or pays 1 for it.
        limits: Unsupported features and differences from our families, one sentence each.
        has_expert: Whether the world may have an expert.
        **kwargs: Arguments of :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is out of range.

    Attributes:
        limits: Unsupported features of the environment, in sentences.
        has_expert: Whether the world may have an expert.

    If a world raises on an action, or returns a reward that is not finite, the episode ends there
    with the stop reason ``action_error`` and counts, unless the world fails on other actions in the
    same state, too (`agentgym.core.attribution`). Then the episode is broken: ``EnvFailure`` says
    why, records and reports show it, and no reward is substituted.
    """

    def __init__(
        self,
        world: World,
        tasks: TaskSet,
        *,
        specs: Sequence[ActionSpec] = FREE_TEXT,
        horizon: int = 50,
        solved_at: float | None = None,
        states_success: bool = True,
        limits: Sequence[str] = (),
        has_expert: bool = False,
        **kwargs: Any,
    ) -> None:
        if not (solved_at is None or finite(solved_at)):
            raise ConfigurationError(
                f"expected solved_at to be a finite number, the sum of rewards that solves a task, "
                f"got {solved_at!r}"
            )
        # Other environments of this class have other actions.
        self.action_specs = tuple(specs)  # type: ignore[misc]  # of the class in families
        self.world = world
        self.solved_at = 1.0 if solved_at is None else float(solved_at)
        self._earned = solved_at is not None and solved_at > 0
        self._assumed = solved_at is None and not states_success
        self.has_expert = has_expert
        expert = () if has_expert else ("there is no expert: the other project has none",)
        assumed = (ASSUMED_SUCCESS,) if self._assumed else ()
        self.limits: tuple[str, ...] = (*limits, *assumed, *expert, NO_FORKS)
        self._return, self._unknown = 0.0, False
        self._seed = 0
        self._actions: list[str] = []
        self._valid_actions: dict[str, None] = {}
        super().__init__(tasks, horizon=integer(horizon, "horizon", 1), **kwargs)

    def release(self) -> None:
        """Leave the episode, and give back what the world holds until the next one."""
        self._running = False
        self.world.release()

    def close(self) -> None:
        """Free the world; may be called twice."""
        self._running = False
        self.world.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = self.world
        self._return, self._unknown = 0.0, False
        self._seed, self._actions, self._valid_actions = int(rng.integers(2**31)), [], {}
        with as_env_failure():
            return self._checked(self.world.reset(task, self._seed))

    def _act(self, action: str) -> Outcome:
        try:
            turn = self._step(action)
        except BaseException as failure:
            return self._failed(action, failure)
        self._actions.append(action)
        if turn.valid:
            self._valid_actions[action] = None
        self._return += float(turn.reward)
        self._unknown |= self._assumed and turn.reward < 0
        success = self._solved(turn)
        details, reason = {**turn.details, "reason": turn.reason}, turn.stop_reason
        if self._unknown and turn.success is None:
            success, details[SUCCESS_UNKNOWN] = False, True
            reason = reason or StopReason.ANSWER  # which says nothing of right and wrong
        return Outcome(
            turn.observation,
            reward=float(turn.reward),
            terminated=turn.done,
            truncated=turn.truncated,
            valid=turn.valid,
            success=success,
            score=1.0 if success else self._score_of(turn),
            stop_reason=reason,
            details=details,
        )

    def reported_details(self) -> tuple[str, ...]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason",)

    def _misread(self, action: str, problem: str) -> Outcome:
        return self._idle(problem, False)

    def _idle(self, observation: str, valid: bool) -> Outcome:
        return Outcome(observation, valid=valid, details={"reason": "" if valid else observation})

    def _admissible(self) -> Sequence[str]:
        with as_env_failure():
            return self.world.admissible()

    def _state(self) -> str:
        with as_env_failure():
            state = self.world.state()
        return f"{self.task.id}\n{super()._state() if state is None else state}"

    def _oracle_action(self) -> str | None:
        with as_env_failure():
            return self.world.expert() if self.has_expert else None

    # -- parts ----------------------------------------------------------------------------------

    def _step(self, action: str) -> WorldTurn:
        """Execute an action, and validate what the world returns."""
        turn = self.world.step(action)
        self._checked(turn.observation)
        for name, number in (("reward", turn.reward), ("score", turn.score)):
            if not (finite(number) or (name == "score" and number is None)):
                raise ActionFailed(
                    f"expected a finite number as the {name} of {self.task.id}, got {number!r:.80}"
                )
        return turn

    def _checked(self, observation: object) -> str:
        """Return an observation that is text."""
        if not isinstance(observation, str):
            raise ActionFailed(
                f"expected text as an observation of {self.task.id}, got "
                f"{type(observation).__name__}"
            )
        return observation

    def _failed(self, action: str, failure: BaseException) -> Outcome:
        """End the episode after a failure that is the policy's doing; raise any other."""
        if self.world.attributes_failures:
            with as_env_failure():
                raise failure
        reason = attribute_failure(failure, self._trials, partial(self._repeat, action))
        return action_error(reason)

    def _repeat(self, action: str) -> None:
        """Return to the state of the last action that worked, and execute another."""
        self._return_to_state()
        self._step(action)

    def _trials(self) -> Trials:
        """Return to the state of the last action that worked; say what to try there."""
        self._return_to_state()
        expert = self.world.expert() if self.has_expert else None
        admissible = [*islice(self.world.admissible(), MOST_TRIALS)]
        guesses = [*self.world.neutral()]
        if self.action_specs in (FREE_TEXT, SINGLE_ANSWER):
            guesses += NEUTRAL_TEXTS
        good_actions = [*([] if expert is None else [expert]), *admissible]
        earlier = [*reversed(self._valid_actions)][:FEWEST_TRIALS]
        trial_count = min(
            MOST_TRIALS, max(FEWEST_TRIALS, MOST_REPLAYED // (len(self._actions) + 1))
        )
        actions = [*dict.fromkeys([*good_actions[:1], *earlier, *good_actions, *guesses])][
            :trial_count
        ]
        return Trials([partial(self._step, action) for action in actions], bool(good_actions))

    def _return_to_state(self) -> None:
        """Begin the task again, and repeat the actions that worked."""
        self.world.reset(self.task, self._seed)
        try:
            for action in self._actions:
                self.world.step(action)
        except Exception:
            if UNSEEDED not in self.limits:
                raise
            self.world.reset(self.task, self._seed)  # its own state cannot be reached again

    def _solved(self, turn: WorldTurn) -> bool:
        """Return whether the task is solved."""
        if turn.success is not None:
            return turn.success
        is_over = turn.done or (self._earned and (turn.truncated or self.turns_left <= 1))
        return is_over and self._return >= self.solved_at

    def _score_of(self, turn: WorldTurn) -> float:
        """Return the progress in [0, 1] of a task that is not solved."""
        score = turn.score
        if score is None:  # the way to a sum of 0 or less has no parts
            score = self._return / self.solved_at if self.solved_at > 0 else 0.0
        return min(1.0, max(0.0, float(score)))


GIVEN = ("world", "tasks", "specs", "limits", "has_expert", "states_success")
"""Arguments of `ImportedEnv` that a kind gives, not the caller."""


def share(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the options of `ImportedEnv` from those that are the peer's."""
    names = [name for name in arguments(ImportedEnv) if name not in GIVEN]
    env_options = {name: value for name, value in options.items() if name in names}
    return env_options, {name: value for name, value in options.items() if name not in names}
