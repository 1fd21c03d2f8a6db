"""A running episode, recorded as turns of a trajectory."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agentgym.conversation import SeenTurn
from agentgym.core.info import known_turns
from agentgym.core.outcome import StopReason
from agentgym.episodes import RecordedState
from agentgym.episodes.recorder import FACTS, costs_of, state_of, verdicts_of
from agentgym.errors import ConfigurationError
from agentgym.policies.invalid_streak import InvalidStreak
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["Answer", "Info", "LiveEpisode", "begin", "required"]

Info = Mapping[str, Any]
Answer = tuple[str, float, bool, bool, dict[str, Any]]
"""The return values of a step: observation, reward, terminated, truncated, info."""


@dataclass(slots=True)
class LiveEpisode:
    """State of a running episode between two generations."""

    trajectory: Trajectory
    """The trajectory so far."""
    number: int
    """Its number among the episodes of the seed."""
    slot: int
    """Its slot in the vector environment."""
    context: EpisodeContext
    """The conversation so far, and the next prompt."""
    observation: str
    """The observation the next action answers."""
    state_key: str
    """Hash of the present state."""
    streak: InvalidStreak = field(default_factory=partial(InvalidStreak, 0))
    """Counts consecutive invalid actions, which may end the episode."""
    turn: tuple[Completion, str] = field(init=False)
    """The last completion, and its text."""
    version: int = field(init=False)
    """Version of the weights that sampled it."""

    def room(self, budget: TokenBudget) -> int:
        """Return the maximum new tokens of the next turn within the budget."""
        return budget.room(self.context.spent, len(self.context.prompt))

    def record(
        self, out: Completion, action: str, answer: Answer, stale: bool = False
    ) -> SampledTurn:
        """Record the tokens sampled for ``prompt``, the policy, and the environment's answer."""
        observation, reward, terminated, truncated, info = answer
        facts = info.get(FACTS, {})
        turn = SampledTurn(
            context=self.context.new,
            ids=out.ids,
            logprobs=out.logprobs,
            entropies=out.entropies,
            fresh=self.context.fresh,
            stopped=out.stopped,
            text=action,
            observation=self.observation,
            state_key=self.state_key,
            reward=float(reward),
            reward_terms=dict(required(info, "reward_terms")),
            valid=bool(required(info, "action_valid")),
            version=self.version,
            stale=stale,
            prompt_tokens=len(self.context.prompt),
            executed=facts.get("executed", ""),
            reason=facts.get("reason"),
            after=_state(observation, info),
            success=bool(required(info, "success")),
            terminated=bool(terminated),
            truncated=bool(truncated),
            verdicts=verdicts_of(info),
            costs=costs_of(info),
        )
        trajectory = self.trajectory
        trajectory.turns.append(turn)
        trajectory.times.append(time.time_ns())
        trajectory.observation = observation
        trajectory.score = float(required(info, "score"))
        self.state_key = str(required(info, "state_key"))
        if terminated or truncated:
            _finish(trajectory, info, truncated)
        else:
            trajectory.stop_reason = self.streak.add(turn.valid)
        return turn

    def forked(self, number: int) -> LiveEpisode:
        """Return an independent copy that continues from here, without a slot yet."""
        old = self.trajectory
        trajectory = replace(
            old, turns=list(old.turns), times=list(old.times), number=number, parent=old.number,
            shared=len(old.turns), chances=0,
        )  # fmt: skip
        context = self.context.forked()
        return LiveEpisode(
            trajectory, number, -1, context, self.observation, self.state_key, replace(self.streak)
        )

    def fail(self, info: Info) -> None:
        """End the episode: its environment failed to restore the snapshot."""
        _finish(self.trajectory, info)

    def extend(self, turn: SampledTurn, observation: str, info: Info) -> None:
        """Continue after a turn."""
        self.context.extend(turn.ids, turn.stopped, SeenTurn.of(observation, info))
        self.observation = observation


def begin(trajectory: Trajectory, observation: str, info: Info) -> None:
    """Record the result of a reset; the episode ends if the environment did not start."""
    trajectory.times = [time.time_ns()] * 2
    trajectory.observation = observation
    trajectory.task_id, trajectory.split, trajectory.goal = (
        str(required(info, name)) for name in ("task_id", "split", "goal")
    )
    trajectory.horizon = int(required(info, "horizon"))
    required(info, "oracle_turns")
    trajectory.oracle_turns = known_turns(info)
    facts = info.get(FACTS, {})
    rng = facts.get("rng")
    trajectory.rng = None if rng is None else json.loads(rng)
    trajectory.rng_key = facts.get("rng_key")
    trajectory.start = _state(observation, info)
    if required(info, "stop_reason") == StopReason.ERROR.value:
        _finish(trajectory, info)


def _finish(trajectory: Trajectory, info: Info, truncated: bool = False) -> None:
    """End a trajectory with the environment's last answer."""
    # If a wrapper such as Gymnasium's TimeLimit truncates, the environment does not know: its info
    # has no reason.
    reason = required(info, "stop_reason") or (StopReason.HORIZON.value if truncated else "")
    if not reason:
        raise ConfigurationError(
            "expected info['stop_reason'] to say why an episode ended, got ''; an environment "
            "whose step returns terminated=True names one of agentgym.core.outcome.StopReason"
        )
    trajectory.stop_reason = str(reason)
    trajectory.success = bool(required(info, "success"))
    trajectory.score = float(required(info, "score"))
    trajectory.details = dict(required(info, "details"))
    # Only a failed episode has this key.
    trajectory.error = str(info.get("error", ""))


def required(info: Info, name: str) -> Any:
    """Return an entry of info that the contract requires."""
    try:
        return info[name]
    except KeyError:
        raise ConfigurationError(
            f"expected info[{name!r}], which every agentgym.core.TextEnv gives at every turn, got "
            f"only {', '.join(sorted(info))}; make the environment one, or let it give the same"
        ) from None


def _state(observation: str, info: Info) -> RecordedState | None:
    """Return a state as records store it; None if the environment does not report all of it."""
    if required(info, "stop_reason") == StopReason.ERROR.value:
        return RecordedState(observation, float(required(info, "score")), 0.0, info["state_key"])
    return state_of(observation, info, info[FACTS]["potential"]) if FACTS in info else None
