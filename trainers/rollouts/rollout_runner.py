"""Rollouts: play episodes in vector environments with a generation engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import (
    GenerationEngine,
    Sampling,
    require_idle,
)
from trainers.rollouts.rollout import Recovery, Rollout
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_stats import RolloutStats
from trainers.rollouts.slot_envs import Envs
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

__all__ = ["RolloutRunner"]


class RolloutRunner:
    """Play episodes of a policy.

    Attributes:
        envs: The vector environment; its ``num_envs`` slots are the most episodes at a time.
        chat: The turn tokenizer.
        engine: What generates.
        budget: Limits on tokens.
        stats: Its time by part since it was made.
        recovery: What brings an engine back that failed; None: the failure ends a rollout.
        on_tokens: Called with the number of tokens of each batch of sampled turns.
    """

    def __init__(
        self,
        envs: Envs,
        chat: TurnTokenizer,
        engine: GenerationEngine,
        budget: TokenBudget | None = None,
        *,
        prompt: Prompt | Mapping[str, Prompt] | None = None,
        families: str | Sequence[str] = "",
        end_after_invalid: int = 0,
    ) -> None:
        """Put the parts together.

        Args:
            envs: A ``TextVectorEnv``.
            chat: Turn tokenizer of the policy.
            engine: Generation engine of the policy.
            budget: Limits on tokens.
            prompt: Layout of the policy's input; a mapping has one for each family. Default:
                observations and actions only.
            families: Name of the task family, for normalisation over families; a sequence has that
                of each slot's environment, and every task then names its own.
            end_after_invalid: Number of consecutive invalid actions that ends an episode; 0: no
                limit.

        Raises:
            ConfigurationError: There are not as many families as slots.
        """
        self.envs = envs
        self.chat = chat
        self.engine = engine
        self.budget = budget or TokenBudget()
        self.stats = RolloutStats()
        self.recovery: Recovery | None = None
        self.on_tokens: Callable[[int], None] = lambda tokens: None
        self.prompt = Prompt(BARE) if prompt is None else prompt
        self.end_after_invalid = end_after_invalid
        self._family = families if isinstance(families, str) else None
        self.slot_families = [families] * envs.num_envs if isinstance(families, str) else families
        if len(self.slot_families) != envs.num_envs:
            raise ConfigurationError(
                f"expected a family for each of the {envs.num_envs} slots, got "
                f"{len(self.slot_families)}"
            )

    def prompt_of(self, family: str) -> Prompt:
        """Return the prompt of a family's episodes."""
        return self.prompt[family] if isinstance(self.prompt, Mapping) else self.prompt

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
        first_episode: int = 0,
        numbers: Sequence[int] | None = None,
        parts: Sequence[RolloutPart] = (),
        cancelled: Callable[[], bool] | None = None,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play ``group_size`` episodes of each task.

        Args:
            tasks: Reset options that choose the tasks, e.g. ``{"task_id": ...}``; a ``"horizon"``
                in them overrides the argument. If slots have several families, ``"family"`` names
                that of the task.
            horizon: Turn budget of every episode; None leaves it to the environment.
            group_size: Episodes per task, G.
            groups: Group id of each task; default 0, 1, 2, ...
            seed: Seeds sampling, together with each episode's number and turn; with ``seeds`` None
                also the environments (``seed + group``).
            seeds: Environment seed of each task.
            sampling: Temperature and the like; token limit and stop ids come from the runner.
            training_step: Passed to reward hooks with a schedule.
            first_episode: Number of the first episode, where several calls or processes share
                the episodes of one seed.
            numbers: Number of each episode, if not consecutive.
            parts: What methods do meanwhile.
            cancelled: Polled; the rollout ends when it returns True.
            on_episode: Called for each episode as it ends.

        Returns:
            ``len(tasks) * group_size`` trajectories, the members of a group next to each other, or
            those that ``parts`` choose. One that was never begun is ``unplayed``.

        Raises:
            ConfigurationError: ``groups`` or ``seeds`` do not match the tasks, or there are no
                environments of the family of one.
            NotSupported: The engine has requests of others in flight.
            RolloutCancelled: ``cancelled`` returned True.
        """
        require_idle(self.engine)
        # Cached prefixes of earlier episodes would change rounding, so that a run resumed after a
        # kill would differ from an uninterrupted one.
        self.engine.abort()
        start = time.perf_counter()
        out = self.episodes_of(
            tasks, horizon, group_size, groups, seed, seeds, training_step, first_episode, numbers
        )
        draw = self.limited(sampling, any(part.reads_entropy for part in parts))
        for part in parts:
            part.begin(out, seed, len(self.chat.tokenizer))
        out += self._play(out, draw, seed, parts, cancelled, on_episode)
        self.stats.turns += sum(len(trajectory.own_turns) for trajectory in out)
        self.stats.seconds += time.perf_counter() - start
        for part in parts:
            out = part.choose(out)
        return out

    def episodes_of(
        self,
        tasks: Sequence[Mapping[str, Any]],
        horizon: int | None = None,
        group_size: int = 1,
        groups: Sequence[int] | None = None,
        seed: int = 0,
        seeds: Sequence[int | None] | None = None,
        training_step: int | None = None,
        first_episode: int = 0,
        numbers: Sequence[int] | None = None,
    ) -> list[Trajectory]:
        """Return the episodes of tasks before they are played; see :meth:`run`.

        Raises:
            ConfigurationError: As in :meth:`run`.
        """
        ids = list(range(len(tasks))) if groups is None else list(groups)
        env_seeds = [seed + group for group in ids] if seeds is None else list(seeds)
        if not len(ids) == len(env_seeds) == len(tasks):
            raise ConfigurationError(
                f"expected one group and one seed per task, got {len(ids)} groups and "
                f"{len(env_seeds)} seeds for {len(tasks)} tasks"
            )
        extra = {"horizon": horizon, "training_step": training_step}
        shared = {key: value for key, value in extra.items() if value is not None}
        families = [self._family_of(task) for task in tasks]
        task_options = [{k: v for k, v in task.items() if k != FAMILY} for task in tasks]
        out = [
            Trajectory(group=g, seed=s, options={**shared, **task}, family=family)
            for task, family, g, s in zip(task_options, families, ids, env_seeds, strict=True)
            for _ in range(group_size)
        ]
        # Numbers seed the sampling, so they must not depend on the slot or process that plays.
        for number, trajectory in zip(numbers or count(first_episode), out, strict=False):
            trajectory.number = number
        return out

    def limited(self, sampling: Sampling | None, entropies: bool = False) -> Sampling:
        """Return how turns are sampled: with the limits of the budget and the stop ids."""
        return replace(
            sampling or Sampling(),
            max_tokens=self.budget.turn_tokens,
            stop_ids=self.chat.stop_ids,
            entropies=entropies,
        )

    def _play(
        self,
        episodes: list[Trajectory],
        sampling: Sampling,
        seed: int,
        parts: Sequence[RolloutPart],
        cancelled: Callable[[], bool] | None,
        on_episode: Callable[[], None],
    ) -> list[Trajectory]:
        """Play the episodes, and return those that were added on the way."""
        rollout = Rollout(self, episodes, sampling, seed, parts, cancelled, on_episode)
        rollout.play()
        return rollout.added

    def _family_of(self, task: Mapping[str, Any]) -> str:
        """Return the family of a task, and check that there is an environment for it."""
        family = task.get(FAMILY, self._family)
        if family not in self.slot_families:
            raise ConfigurationError(
                "expected tasks that name one of the families "
                f"{', '.join(dict.fromkeys(self.slot_families))} as {FAMILY!r}, got {family!r}"
            )
        return str(family)
