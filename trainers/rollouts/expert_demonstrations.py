"""Expert demonstrations: played once as text, then encoded for a policy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

import gymnasium

from agentgym.conversation import Prompt, SeenTurn
from agentgym.errors import EnvFailure
from agentgym.policies import play as playing
from agentgym.policies.base import Policy
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["Demonstration", "ShownTurn", "encode", "play", "watch"]

AHEAD = 2
"""Episodes started per environment before the first of them must have ended, so that a long one
does not block the other environments."""

PlayOne = Callable[
    [gymnasium.Env[str, str], Mapping[str, Any], Policy, int | None], "Demonstration"
]
"""Plays one episode, given environment, reset options, player and seed."""
MakePlayer = Callable[[gymnasium.Env[str, str], int], Policy]
"""Makes the player of one episode from its environment and seed."""


class ShownTurn(NamedTuple):
    """One turn of a demonstration."""

    action: str
    """The player's action."""
    seen_turn: SeenTurn
    """The environment's answer."""
    reward: float
    """Reward of the turn."""
    valid: bool
    """Whether the environment could execute the action."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One episode as text; nothing in it depends on a tokenizer."""

    observation: str
    """The first observation."""
    info: Mapping[str, Any]
    """The info that came with it."""
    turns: Sequence[ShownTurn]
    """The turns, at least one."""
    last: Mapping[str, Any]
    """The last info."""

    @property
    def texts(self) -> Iterator[str]:
        """Every text of the episode: observations and actions in turn."""
        yield self.observation
        for turn in self.turns:
            yield turn.action
            yield turn.seen_turn.observation


def play(
    env: gymnasium.Env[str, str],
    options: Mapping[str, Any],
    player: Policy,
    seed: int | None = None,
) -> Demonstration:
    """Play one episode.

    Raises:
        EnvFailure: The environment failed.
    """
    first, *moments = playing.play(player, env, seed=seed, options=dict(options))
    last = moments[-1] if moments else first
    if last.failure is not None:  # for an expert, the environment's failure as well
        raise EnvFailure(str(last.failure)) from last.failure
    turns = [
        ShownTurn(
            str(moment.action),
            SeenTurn.of(moment.observation, moment.info),
            moment.reward,
            moment.info["action_valid"],
        )
        for moment in moments
    ]
    return Demonstration(first.observation, first.info, turns, last.info)


def watch(
    envs: Sequence[gymnasium.Env[str, str]],
    tasks: Sequence[Mapping[str, Any]],
    make_player: MakePlayer,
    seed: int = 0,
    on_episode: Callable[[], None] = lambda: None,
    play_one: PlayOne = play,
) -> Iterator[Demonstration]:
    """Play tasks; episodes whose environment fails are left out.

    The episodes and their order are the same however many environments there are.

    Args:
        envs: Equal environments; one task at a time is played in each, in threads if there are
            several.
        tasks: Reset options.
        make_player: Makes the player of an episode from its environment and seed.
        seed: Seed of the first episode; each following one adds 1.
        on_episode: Called for each episode in turn, also for one that failed.
        play_one: Plays an episode.

    Raises:
        EnvFailure: The environment failed in every one.
    """
    count, first = 0, ""
    for demonstration in _play_tasks(envs, tasks, make_player, seed, play_one):
        on_episode()
        if isinstance(demonstration, EnvFailure):
            first = first or str(demonstration)
            continue
        count += 1
        yield demonstration
    if not count:
        raise EnvFailure(f"expected demonstrations, but all {len(tasks)} failed; first: {first}")


def _play_tasks(
    envs: Sequence[gymnasium.Env[str, str]],
    tasks: Sequence[Mapping[str, Any]],
    make_player: MakePlayer,
    seed: int,
    play_one: PlayOne,
) -> Iterator[Demonstration | EnvFailure]:
    """Yield the result of each task, in order."""
    free: SimpleQueue[gymnasium.Env[str, str]] = SimpleQueue()
    for env in envs:
        free.put(env)

    def attempt(options: Mapping[str, Any], number: int) -> Demonstration | EnvFailure:
        env = free.get()
        try:
            return play_one(env, options, make_player(env, number), number)
        except EnvFailure as failure:
            return failure
        finally:
            free.put(env)

    numbers = range(seed, seed + len(tasks))
    if len(envs) == 1:
        yield from map(attempt, tasks, numbers)
        return
    pool = ThreadPoolExecutor(len(envs), thread_name_prefix="watch")
    futures: deque[Future[Demonstration | EnvFailure]] = deque()
    try:
        for options, number in zip(tasks, numbers, strict=True):
            futures.append(pool.submit(attempt, options, number))
            # In the order of the tasks, so that results do not depend on the number of
            # environments.
            if len(futures) >= AHEAD * len(envs):
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)  # Also if the caller stops early.


def encode(
    demonstrations: Iterable[Demonstration], chat: TurnTokenizer, prompt: Prompt
) -> Iterator[Trajectory]:
    """Encode episodes in a policy's tokens, with log-probabilities 0.

    Args:
        demonstrations: The episodes.
        chat: Turns texts into tokens.
        prompt: The policy's prompt, as when it acts itself.
    """
    for episode in demonstrations:
        observation = episode.observation
        trajectory = Trajectory(
            task_id=episode.info["task_id"],
            horizon=episode.info["horizon"],
            stop_reason=episode.last["stop_reason"],
            success=episode.last["success"],
            score=float(episode.last["score"]),
        )
        first = SeenTurn.of(observation, episode.info)
        context = EpisodeContext(chat, prompt, first, str(episode.info["goal"]))
        for turn in episode.turns:
            ids = chat.encode_action(turn.action)
            trajectory.turns.append(
                SampledTurn(
                    context.new,
                    ids,
                    [0.0] * len(ids),
                    fresh=context.fresh,
                    text=turn.action,
                    observation=observation,
                    reward=turn.reward,
                    valid=turn.valid,
                )
            )
            observation = turn.seen_turn.observation
            context.extend(ids, True, turn.seen_turn)
        trajectory.observation = observation
        yield trajectory
