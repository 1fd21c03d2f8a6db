"""Rollouts: play episodes in vector environments with a generation engine.

No episode waits for another: its next turn is submitted to the engine as soon as its environment
has answered, its environment steps as soon as the turn is generated, and its slot is reused as soon
as it ends. An environment that fails ends its own episode and no other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from agentgym.conversation import BARE, Prompt, SeenTurn
from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from agentgym.policies.invalid_streak import InvalidStreak
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import (
    Completion,
    GenerationEngine,
    PoolEngine,
    Request,
    Sampling,
    require_idle,
)
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.live_episode import Answer, LiveEpisode, begin, required
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_stats import RolloutStats
from trainers.rollouts.slot_envs import Envs, Fork, Start
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["RolloutCancelled", "RolloutRunner"]

_POLL_SECONDS = 0.01
"""Maximum wait for a remote engine while environments may answer."""
_TOGETHER = 0.5
"""Environments of this thread step once this many turns are ready per generating episode, or none
is generating."""
_CANCEL_SECONDS = 1.0
"""Maximum wait for environments before a cancellable rollout polls ``cancelled``."""


class RolloutCancelled(Exception):
    """A rollout was cancelled by its caller."""


class RolloutRunner:
    """Play episodes of a policy.

    Attributes:
        envs: The vector environment; its ``num_envs`` slots are the most episodes at a time.
        chat: The turn tokenizer.
        engine: What generates.
        budget: Limits on tokens.
        stats: Its time by part since it was made.
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
        draw = sampling or Sampling()
        draw = replace(
            draw,
            max_tokens=self.budget.turn_tokens,
            stop_ids=self.chat.stop_ids,
            entropies=any(part.reads_entropy for part in parts),
        )
        for part in parts:
            part.begin(out, seed, len(self.chat.tokenizer))
        out += self._play(out, draw, seed, parts, cancelled, on_episode)
        self.stats.turns += sum(len(trajectory.own_turns) for trajectory in out)
        self.stats.seconds += time.perf_counter() - start
        for part in parts:
            out = part.choose(out)
        return out

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
        rollout = _Rollout(self, episodes, sampling, seed, parts, cancelled, on_episode)
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


@dataclass(frozen=True)
class _Fork:
    """A fork of an episode that waits for a slot."""

    episode: LiveEpisode
    """The episode."""
    snapshot: Fork
    """Snapshot of its environment."""

    def begun(self, slot: int, info: Mapping[str, Any]) -> LiveEpisode | None:
        """Put the episode into a slot; None if its environment failed."""
        self.episode.slot = slot
        failed = info.get("stop_reason") == StopReason.ERROR.value
        if failed:
            self.episode.fail(info)
        return None if failed else self.episode


class _Rollout:
    """The episodes of one call, each in its slot and each at its own turn."""

    def __init__(
        self,
        runner: RolloutRunner,
        episodes: Sequence[Trajectory],
        sampling: Sampling,
        seed: int,
        parts: Sequence[RolloutPart],
        cancelled: Callable[[], bool] | None,
        on_episode: Callable[[], None],
    ) -> None:
        self._on_episode, self._parts = on_episode, parts
        self._planned = {episode.number for episode in episodes}
        self.added: list[Trajectory] = []
        self._runner, self._stats = runner, runner.stats
        self._envs, self._engine = runner.envs, runner.engine
        self._sampling, self._seed, self._cancelled = sampling, seed, cancelled
        # Per family, because an episode needs an environment of its family.
        self._queues: dict[str, deque[Trajectory | _Fork]] = {}
        self._queue(episode for episode in episodes if not episode.unplayed)
        self._free: dict[str, list[int]] = {family: [] for family in runner.slot_families}
        for slot in reversed(range(runner.envs.num_envs)):  # `pop` begins with slot 0.
            self._free[runner.slot_families[slot]].append(slot)
        self._starting: dict[int, Trajectory | _Fork] = {}
        self._live: dict[int, LiveEpisode] = {}
        self._playing: dict[int, Trajectory] = {}
        self._forking: dict[int, list[LiveEpisode]] = {}
        self._generated: list[tuple[int, Completion]] = []
        self._unanswered = 0
        self._asked_at = 0.0

    def play(self) -> None:
        """Play all episodes, keeping every slot busy."""
        try:
            while any(self._queues.values()) or self._starting or self._live:
                if self._cancelled is not None and self._cancelled():
                    raise RolloutCancelled
                # In this order, environments step while the engine generates.
                self._start()
                self._act()
                self._hear()
                self._generate()
        except BaseException:
            # The next rollout must not receive answers of this one.
            self._engine.abort()
            self._envs.abandon_slots()
            raise

    def _queue(self, episodes: Iterable[Trajectory]) -> None:
        """Queue episodes for a slot."""
        for episode in episodes:
            self._queues.setdefault(episode.family, deque()).append(episode)

    def _start(self) -> None:
        """Give free slots to the next episodes."""
        slots = []
        for family, queue in self._queues.items():
            free = self._free[family]
            for _ in range(min(len(queue), len(free))):
                slots.append(free.pop())
                start = self._starting[slots[-1]] = queue.popleft()
                self._playing[slots[-1]] = (
                    start.episode.trajectory if isinstance(start, _Fork) else start
                )
        if not slots:
            return
        started = self._ask(len(slots))
        starts = {slot: self._starting[slot] for slot in slots}
        tasks = {slot: start for slot, start in starts.items() if isinstance(start, Trajectory)}
        forks = {slot: start.snapshot for slot, start in starts.items() if isinstance(start, _Fork)}
        if tasks:
            options = [dict(trajectory.options) for trajectory in tasks.values()]
            self._envs.send_resets(
                [*tasks], [trajectory.seed for trajectory in tasks.values()], options
            )
        if forks:
            self._envs.send_restores([*forks], [*forks.values()])
        self._stats.env_seconds += time.perf_counter() - started

    def _generate(self) -> None:
        """Advance the engine, only briefly if an environment may answer meanwhile."""
        if not self._engine.running:
            return
        start = time.perf_counter()
        completions = self._engine.advance(_POLL_SECONDS if self._unanswered else None)
        self._stats.engine_seconds += time.perf_counter() - start
        if completions:
            self._generated += completions
            self._runner.on_tokens(sum(len(out.ids) for _, out in completions))

    def _act(self) -> None:
        """Send generated turns to their environments.

        Environments in this thread block the engine, and some batch their look-ups
        (``TextEnv.prepare``), so they step when enough turns are ready.
        """
        turns, running = self._generated, self._engine.running
        if not turns or (running > len(turns) / _TOGETHER and not self._envs.concurrent):
            return
        self._generated = []
        slots = [slot for slot, _ in turns]
        for slot, out in turns:
            episode = self._live[slot]
            episode.turn = out, self._runner.chat.action_text(out.ids)
            episode.trajectory.times.append(time.time_ns())
        start = self._ask(len(turns))
        self._envs.send_slots(slots, [self._live[slot].turn[1] for slot in slots])
        self._stats.env_seconds += time.perf_counter() - start

    def _ask(self, count: int) -> float:
        """Record that environments start to step; return the time."""
        now = time.perf_counter()
        if not self._unanswered:
            self._asked_at = now
        self._unanswered += count
        return now

    def _hear(self) -> None:
        """Receive answers and submit the next turns."""
        if not self._unanswered:
            return
        start = time.perf_counter()
        # With nothing to generate, wait for the environments.
        patience = None if self._cancelled is None else _CANCEL_SECONDS
        answers = self._envs.receive(0.0 if self._engine.running else patience)
        now = time.perf_counter()
        self._stats.env_seconds += now - start
        self._unanswered -= len(answers)
        if answers and not self._unanswered:
            self._stats.env_busy_seconds += now - self._asked_at
        ready: list[Request] = []
        forked: list[int] = []
        for slot, answer in answers:
            # Neither a reset nor a step: the snapshot that forks asked for.
            if not isinstance(answer, tuple):
                self._branch_off(slot, answer)
                ready.append(self._request(self._live[slot]))
                continue
            # A reset answers with two values, a step with five.
            episode = self._begun(slot, answer) if len(answer) == 2 else self._went_on(slot, answer)
            if episode is None or not self._fits(episode):
                self._end(slot)
                continue
            self._live[slot] = episode
            # An episode that has only begun has nothing that forks could share.
            added = [] if len(answer) == 2 else [*chain(*(p.fork(episode) for p in self._parts))]
            if added:
                self._forking[slot] = added
                forked.append(slot)
            else:
                ready.append(self._request(episode))
        if forked:
            start = self._ask(len(forked))
            self._envs.send_snapshots(forked)
            self._stats.env_seconds += time.perf_counter() - start
        if ready:
            start = time.perf_counter()
            self._engine.submit(ready, self._sampling)
            self._stats.engine_seconds += time.perf_counter() - start

    def _branch_off(self, slot: int, snapshot: Fork) -> None:
        """Queue the forks of a slot, ahead of episodes that have not started."""
        for copy in reversed(self._forking.pop(slot)):
            trajectory = copy.trajectory
            if snapshot is not None:
                self._queues[trajectory.family].appendleft(_Fork(copy, snapshot))
            else:  # The environment failed: the episode ends with that error at its next turn.
                trajectory.stop_reason = StopReason.ERROR.value
                trajectory.error = "the environment failed in being forked"
                self._on_episode()

    def _end(self, slot: int) -> None:
        """Free a slot whose episode is over, and queue the episodes that follow from it."""
        episode = self._playing.pop(slot)
        self._live.pop(slot, None)
        self._on_episode()
        self._free[self._runner.slot_families[slot]].append(slot)
        for part in self._parts:
            new_trajectories = part.end(episode)
            self.added += [added for added in new_trajectories if added.number not in self._planned]
            self._queue(new_trajectories)

    def _fits(self, episode: LiveEpisode) -> bool:
        """Whether the budget allows the next turn; ends the episode if not."""
        if episode.room(self._runner.budget) >= self._runner.budget.floor:
            return True
        episode.trajectory.stop_reason = StopReason.TOKEN_LIMIT.value
        return False

    def _begun(self, slot: int, start: Start) -> LiveEpisode | None:
        """Tokenise the opening prompt of an episode; None if its environment did not start."""
        trajectory = self._starting.pop(slot)
        if isinstance(trajectory, _Fork):
            return trajectory.begun(slot, start[1])
        text, info = start
        begin(trajectory, text, info)
        if trajectory.stop_reason:
            return None
        runner = self._runner
        prompt = runner.prompt_of(trajectory.family)
        context = EpisodeContext(runner.chat, prompt, SeenTurn.of(text, info), trajectory.goal)
        key = str(required(info, "state_key"))
        streak = InvalidStreak(runner.end_after_invalid)
        return LiveEpisode(trajectory, trajectory.number, slot, context, text, key, streak)

    def _went_on(self, slot: int, answer: Answer) -> LiveEpisode | None:
        """Record a turn and build the next prompt; None if the episode is over."""
        episode = self._live[slot]
        out, action = episode.turn
        engine, stale = self._engine, self._plays_stale(episode)
        version = engine.version
        if stale and isinstance(engine, PoolEngine):
            version = engine.stale_version
        turn = episode.record(out, action, version, answer, stale)
        if episode.trajectory.stop_reason:
            return None
        episode.extend(turn, answer[0], answer[4])
        return episode

    def _request(self, episode: LiveEpisode) -> Request:
        """Return the request for an episode's next turn."""
        turn = len(episode.trajectory.turns)
        return Request(
            # By slot, not by number: the engine keeps the cache of one conversation per key.
            key=episode.slot,
            prompt=tuple(episode.context.prompt),
            max_tokens=episode.room(self._runner.budget),
            seed=turn_seed(self._seed, episode.number, turn),
            group=episode.trajectory.group,
            stale=self._plays_stale(episode),
        )

    def _plays_stale(self, episode: LiveEpisode) -> bool:
        """Whether the stale policy plays an episode's next turn."""
        return any(part.plays_stale(episode) for part in self._parts)
