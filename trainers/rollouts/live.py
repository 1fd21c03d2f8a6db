"""An episode under way: its prompt, its budget, and what becomes of its history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.episodes import State
from agentgym.episodes.recorder import FACTS, state_of
from agentgym.errors import ConfigurationError
from agentgym.outcome import StopReason
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import Message, TurnTokenizer
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.trajectory import Trajectory, Turn

__all__ = ["LiveEpisode", "begin", "close"]

Info = Mapping[str, Any]
Answer = tuple[str, float, bool, bool, dict[str, Any]]
"""What an environment's step returns."""


@dataclass(slots=True)
class LiveEpisode:
    """State of a running episode between two generations."""

    trajectory: Trajectory
    """The record being written."""
    slot: int
    """Its slot in the vector environment."""
    messages: list[Message]
    """The conversation as text, kept for forked histories."""
    prompt: list[int]
    """Everything the model is given next."""
    observation: str
    """The observation the next action answers."""
    state_key: str
    """Hash of the present state."""
    opening: int
    """Tokens of the opening prompt."""
    new_from: int = 0
    """Where the part of ``prompt`` begins that the training row does not hold; 0: a new row."""
    spent: int = 0
    """Tokens used after the opening."""
    segments: list[list[int]] = field(default_factory=list)
    """Action and observation tokens of each turn, for windows."""

    def room(self, limits: Limits) -> int:
        """New tokens the budgets allow the next turn."""
        return min(
            limits.turn_tokens,
            limits.episode_tokens - self.spent,
            limits.context - len(self.prompt),
        )

    def record(self, out: Completion, action: str, version: int, answer: Answer) -> Turn:
        """Write down a turn.

        Args:
            out: What the engine sampled for ``prompt``.
            action: Its text.
            version: Version of the weights.
            answer: What the environment made of it.

        Returns:
            The new turn, already in the trajectory.
        """
        observation, reward, terminated, truncated, info = answer
        facts = info.get(FACTS, {})
        turn = Turn(
            context=self.prompt[self.new_from :],
            ids=out.ids,
            logprobs=out.logprobs,
            fresh=self.new_from == 0,
            stopped=out.stopped,
            text=action,
            observation=self.observation,
            state_key=self.state_key,
            reward=float(reward),
            reward_terms=dict(required(info, "reward_terms")),
            valid=bool(required(info, "action_valid")),
            version=version,
            prompt_tokens=len(self.prompt),
            executed=facts.get("executed", ""),
            after=_state(observation, info),
            success=bool(required(info, "success")),
            terminated=bool(terminated),
            truncated=bool(truncated),
        )
        trajectory = self.trajectory
        trajectory.turns.append(turn)
        trajectory.observation = observation
        trajectory.score = float(required(info, "score"))
        self.state_key = str(required(info, "state_key"))
        if terminated or truncated:
            close(trajectory, info, truncated)
        return turn

    def extend(self, turn: Turn, observation: str, chat: TurnTokenizer, limits: Limits) -> None:
        """Build the next prompt: append, or rewrite the history where that is asked for.

        Args:
            turn: The turn just recorded.
            observation: What the environment answered.
            chat: The turn tokenizer.
            limits: The budgets, for their window.
        """
        suffix = chat.observe(observation, turn.stopped)
        self.observation = observation
        self.spent += len(turn.ids) + len(suffix)
        if not chat.append_only and chat.history == "fork":
            self.messages.append({"role": "assistant", "content": turn.text})
            self.messages.append({"role": "user", "content": observation})
            self._rewrite(chat.rerender(self.messages), turn.ids)
        elif limits.window is not None:
            self.segments.append(turn.ids + suffix)
            kept = self.segments[-limits.window :]
            head = self.prompt[: self.opening]
            self._rewrite(head + [token for segment in kept for token in segment], turn.ids)
        else:
            self.prompt += turn.ids
            self.new_from = len(self.prompt)
            self.prompt += suffix

    def _rewrite(self, prompt: list[int], sampled: list[int]) -> None:
        """Take a new prompt; it continues the row only if it begins with all the row holds."""
        row = self.prompt + sampled
        self.new_from = len(row) if prompt[: len(row)] == row else 0
        self.prompt = prompt


def begin(trajectory: Trajectory, observation: str, info: Info) -> None:
    """Take down what a reset returned.

    Args:
        trajectory: The record; closed if the environment failed to start.
        observation: The first observation.
        info: The first info dict.

    Raises:
        ConfigurationError: The info lacks a key of the contract.
    """
    trajectory.observation = observation
    trajectory.task_id, trajectory.split, trajectory.goal = (
        str(required(info, name)) for name in ("task_id", "split", "goal")
    )
    trajectory.horizon = int(required(info, "horizon"))
    trajectory.oracle_turns = required(info, "oracle_turns")
    rng = info.get(FACTS, {}).get("rng")
    trajectory.rng = None if rng is None else json.loads(rng)
    trajectory.start = _state(observation, info)
    if required(info, "stop_reason") == StopReason.ERROR.value:
        close(trajectory, info)


def close(trajectory: Trajectory, info: Info, truncated: bool = False) -> None:
    """End a trajectory with what the environment said last.

    Args:
        trajectory: The record.
        info: The last info dict.
        truncated: Whether a turn budget ended it. A wrapper such as Gymnasium's ``TimeLimit`` has
            one of its own, of which the environment knows nothing.

    Raises:
        ConfigurationError: The info lacks a key of the contract, or does not say why it ended.
    """
    reason = required(info, "stop_reason") or (StopReason.HORIZON.value if truncated else "")
    if not reason:
        raise ConfigurationError(
            "expected info['stop_reason'] to say why an episode ended, got ''; an environment "
            "whose step returns terminated=True names one of agentgym.outcome.StopReason"
        )
    trajectory.stop_reason = str(reason)
    trajectory.success = bool(required(info, "success"))
    trajectory.score = float(required(info, "score"))
    trajectory.details = dict(required(info, "details"))
    # Only an episode that failed has this key.
    trajectory.error = str(info.get("error", ""))


def required(info: Info, name: str) -> Any:
    """Return an entry of info that the contract promises.

    Raises:
        ConfigurationError: It is not there.
    """
    try:
        return info[name]
    except KeyError:
        raise ConfigurationError(
            f"expected info[{name!r}], which every agentgym.core.TextEnv gives at every turn, got "
            f"only {', '.join(sorted(info))}; make the environment one, or let it give the same"
        ) from None


def _state(observation: str, info: Info) -> State | None:
    """Return what a record holds of a state; None if the environment does not tell all of it."""
    if required(info, "stop_reason") == StopReason.ERROR.value:
        return State(observation, float(required(info, "score")), 0.0, info["state_key"])
    return state_of(observation, info, info[FACTS]["potential"]) if FACTS in info else None
