"""Rollouts: environments times engine times horizon gives trajectories.

All live episodes advance turn by turn in lockstep: one batched generation, then one step of the
environments that are still running. An environment that fails ends its own episode and no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from agentgym.errors import ConfigurationError
from agentgym.outcome import StopReason
from trainers.rollouts.budget import Limits, RolloutStats
from trainers.rollouts.chat import Message, TurnTokenizer
from trainers.rollouts.engines.base import GenerationEngine, Sampling
from trainers.rollouts.live import LiveEpisode, begin, required
from trainers.rollouts.trajectory import LENGTH, Trajectory

__all__ = ["Limits", "Opening", "RolloutRunner", "RolloutStats", "system_opening"]

Info = dict[str, Any]
Opening = Callable[[str, Info], Sequence[Message]]
"""Makes the first messages of an episode from its first observation and info."""


class Envs(Protocol):
    """What the runner needs of ``agentgym.vector.TextVectorEnv``."""

    num_envs: int

    def close(self) -> None:
        """Release what they hold."""
        ...

    def reset_slots(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None],
        options: Sequence[dict[str, Any] | None],
    ) -> list[tuple[str, Info]]:
        """Start episodes in some slots."""
        ...

    def step_slots(
        self, slots: Sequence[int], actions: Sequence[str]
    ) -> list[tuple[str, float, bool, bool, Info]]:
        """Take one turn in some slots."""
        ...


class RolloutRunner:
    """Plays episodes of a policy.

    Attributes:
        envs: The vector environment; its ``num_envs`` slots are the most episodes at a time.
        chat: The turn tokenizer.
        engine: What generates.
        limits: Token budgets.
        stats: Running totals since the runner was made.
    """

    def __init__(
        self,
        envs: Envs,
        chat: TurnTokenizer,
        engine: GenerationEngine,
        limits: Limits | None = None,
        *,
        opening: Opening | None = None,
        family: str = "",
    ) -> None:
        """Put the parts together.

        Args:
            envs: A ``TextVectorEnv``.
            chat: Turn tokenizer of the policy.
            engine: Generation engine of the policy.
            limits: Token budgets.
            opening: Makes the first messages; default: the first observation as a user message.
            family: Name of the task family, for normalisation over families.
        """
        self.envs = envs
        self.chat = chat
        self.engine = engine
        self.limits = limits or Limits()
        self.stats = RolloutStats()
        self._opening = opening or system_opening()
        self._family = family

    def run(
        self,
        tasks: Sequence[Mapping[str, Any]],
        *,
        horizon: int | None = None,
        group_size: int = 1,
        groups: Sequence[int] | None = None,
        seed: int = 0,
        seeds: Sequence[int | None] | None = None,
        sampling: Sampling | None = None,
        training_step: int | None = None,
    ) -> list[Trajectory]:
        """Play ``group_size`` episodes of each task.

        Args:
            tasks: Reset options that choose the tasks, e.g. ``{"task_id": ...}``; a ``"horizon"``
                in them goes before the argument.
            horizon: Turn budget of every episode; None leaves it to the environment.
            group_size: Episodes per task, G.
            groups: Group id of each task; default 0, 1, 2, ...
            seed: Seeds sampling; with ``seeds`` None also the environments (``seed + group``).
            seeds: Environment seed of each task.
            sampling: Temperature and the like; token limit and stop ids come from the runner.
            training_step: Passed to reward hooks with a schedule.

        Returns:
            ``len(tasks) * group_size`` trajectories, the members of a group next to each other.

        Raises:
            ConfigurationError: ``groups`` or ``seeds`` do not match the tasks.
        """
        began = time.perf_counter()
        ids = list(range(len(tasks))) if groups is None else list(groups)
        env_seeds = [seed + group for group in ids] if seeds is None else list(seeds)
        if not len(ids) == len(env_seeds) == len(tasks):
            raise ConfigurationError(
                f"expected one group and one seed per task, got {len(ids)} groups and "
                f"{len(env_seeds)} seeds for {len(tasks)} tasks"
            )
        extra = {"horizon": horizon, "training_step": training_step}
        shared = {key: value for key, value in extra.items() if value is not None}
        out = [
            Trajectory(group=g, seed=s, options={**shared, **task}, family=self._family)
            for task, g, s in zip(tasks, ids, env_seeds, strict=True)
            for _ in range(group_size)
        ]
        draw = sampling or Sampling()
        draw = replace(draw, max_tokens=self.limits.turn_tokens, stop_ids=self.chat.stop_ids)
        self._play(out, draw, seed)
        self._count(out, time.perf_counter() - began)
        return out

    def _play(self, episodes: list[Trajectory], sampling: Sampling, seed: int) -> None:
        """Play all episodes, keeping every slot busy."""
        queue = episodes[::-1]
        free = list(range(self.envs.num_envs))[::-1]
        live: list[LiveEpisode] = []
        call = 0
        while queue or live:
            if queue and free:
                count = min(len(queue), len(free))
                started = [queue.pop() for _ in range(count)]
                live += self._start(started, [free.pop() for _ in range(count)], free)
            live = self._within_budget(live, free)
            if live:
                call_seed = (seed * 1_000_003 + call) % 2**63
                live = self._turn(live, replace(sampling, seed=call_seed), free)
                call += 1

    def _start(
        self, episodes: list[Trajectory], slots: list[int], free: list[int]
    ) -> list[LiveEpisode]:
        """Reset environments and tokenise the opening prompts."""
        began = time.perf_counter()
        options: list[dict[str, Any] | None] = [dict(e.options) for e in episodes]
        results = self.envs.reset_slots(slots, [e.seed for e in episodes], options)
        self.stats.env_seconds += time.perf_counter() - began
        live = []
        for trajectory, slot, (text, info) in zip(episodes, slots, results, strict=True):
            begin(trajectory, text, info)
            if trajectory.stop_reason:
                free.append(slot)
                continue
            messages = list(self._opening(text, info))
            prompt = self.chat.start(messages)
            key = str(required(info, "state_key"))
            live.append(LiveEpisode(trajectory, slot, messages, prompt, text, key, len(prompt)))
        return live

    def _within_budget(self, live: list[LiveEpisode], free: list[int]) -> list[LiveEpisode]:
        """End the episodes whose next turn would not fit."""
        kept = []
        for episode in live:
            if episode.room(self.limits) >= self.limits.floor:
                kept.append(episode)
            else:
                episode.trajectory.stop_reason = LENGTH
                free.append(episode.slot)
        return kept

    def _turn(
        self, live: list[LiveEpisode], sampling: Sampling, free: list[int]
    ) -> list[LiveEpisode]:
        """One generation and one step of every live episode; returns those that go on."""
        room = [episode.room(self.limits) for episode in live]
        began = time.perf_counter()
        outs = self.engine.generate([episode.prompt for episode in live], sampling, room)
        self.stats.engine_seconds += time.perf_counter() - began
        actions = [self.chat.action_text(out.ids) for out in outs]
        began = time.perf_counter()
        results = self.envs.step_slots([episode.slot for episode in live], actions)
        self.stats.env_seconds += time.perf_counter() - began
        going = []
        for episode, out, action, result in zip(live, outs, actions, results, strict=True):
            turn = episode.record(out, action, self.engine.version, result)
            if episode.trajectory.stop_reason:
                free.append(episode.slot)
                continue
            episode.extend(turn, result[0], self.chat, self.limits)
            going.append(episode)
        return going

    def _count(self, episodes: list[Trajectory], seconds: float) -> None:
        """Add a run to the totals."""
        stats = self.stats
        stats.seconds += seconds
        stats.episodes += len(episodes)
        for trajectory in episodes:
            stats.turns += len(trajectory.turns)
            stats.errors += trajectory.stop_reason == StopReason.ERROR.value
            stats.action_tokens += trajectory.action_tokens
            stats.context_tokens += sum(len(turn.context) for turn in trajectory.turns)


def system_opening(system: str | None = None) -> Opening:
    """First messages of an episode: an optional system message and the observation.

    Args:
        system: Text of the system message.

    Returns:
        A function of the first observation and info.
    """
    head: list[Message] = [{"role": "system", "content": system}] if system else []
    return lambda observation, info: [*head, {"role": "user", "content": observation}]
