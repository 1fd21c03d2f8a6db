"""Episodes of an expert: played once, as text, and then written in the tokens of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium

from agentgym import playing
from agentgym.errors import EnvFailure
from agentgym.policies.base import Policy
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.conversation import Conversation
from trainers.rollouts.runner import InitialMessages
from trainers.rollouts.trajectory import Trajectory, Turn

__all__ = ["Demonstration", "encode", "play", "watch"]


class Shown(NamedTuple):
    """One turn of a demonstration."""

    action: str
    """What the player did."""
    observation: str
    """What the environment answered."""
    reward: float
    """Reward of the turn."""
    valid: bool
    """Whether the environment could carry the action out."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One episode as text; nothing in it depends on a tokenizer."""

    observation: str
    """The first observation."""
    info: Mapping[str, Any]
    """The info that came with it."""
    turns: Sequence[Shown]
    """The turns, at least one."""
    last: Mapping[str, Any]
    """The last info."""

    @property
    def texts(self) -> Iterator[str]:
        """Every text of the episode: observations and actions in turn."""
        yield self.observation
        for turn in self.turns:
            yield turn.action
            yield turn.observation


def play(env: gymnasium.Env[str, str], options: Mapping[str, Any], player: Policy) -> Demonstration:
    """Play one episode.

    Raises:
        EnvFailure: The environment failed.
    """
    first, *moments = playing.play(player, env, options=dict(options))
    last = moments[-1] if moments else first
    if last.failure is not None:
        raise last.failure
    turns = [
        Shown(str(moment.action), moment.observation, moment.reward, moment.info["action_valid"])
        for moment in moments
    ]
    return Demonstration(first.observation, first.info, turns, last.info)


def watch(
    env: gymnasium.Env[str, str], tasks: Sequence[Mapping[str, Any]], player: Policy
) -> Iterator[Demonstration]:
    """Play tasks one after the other; episodes whose environment fails are left out.

    Raises:
        EnvFailure: The environment failed in every one.
    """
    count, first = 0, ""
    for options in tasks:
        try:
            shown = play(env, options, player)
        except EnvFailure as error:
            first = first or str(error)
            continue
        count += 1
        yield shown
    if not count:
        raise EnvFailure(f"expected demonstrations, but all {len(tasks)} failed; first: {first}")


def encode(
    shown: Iterable[Demonstration],
    chat: TurnTokenizer,
    initial_messages: InitialMessages,
    window: int | None = None,
) -> Iterator[Trajectory]:
    """Write episodes in a policy's tokens, with log-probabilities 0.

    Args:
        shown: The episodes.
        chat: Turns texts into tokens.
        initial_messages: As where the policy acts itself.
        window: Turns that the policy reads besides the opening, as there; None: all.
    """
    for episode in shown:
        observation = episode.observation
        trajectory = Trajectory(
            task_id=episode.info["task_id"],
            horizon=episode.info["horizon"],
            stop_reason=episode.last["stop_reason"],
            success=episode.last["success"],
            score=float(episode.last["score"]),
        )
        opening = initial_messages(observation, dict(episode.info))
        conversation = Conversation(chat, opening, window)
        for turn in episode.turns:
            ids = chat.encode_action(turn.action)
            trajectory.turns.append(
                Turn(
                    conversation.context,
                    ids,
                    [0.0] * len(ids),
                    fresh=conversation.fresh,
                    text=turn.action,
                    observation=observation,
                    reward=turn.reward,
                    valid=turn.valid,
                )
            )
            observation = turn.observation
            conversation.extend(ids, True, observation)
        trajectory.observation = observation
        yield trajectory
