"""The loop of a rollout: episodes in the slots of vector environments, each at its own turn.

No episode waits for another: its next turn is submitted to the engine as soon as its environment
has answered, its environment steps as soon as the turn is generated, and its slot is reused as soon
as it ends. An environment that fails ends its own episode and no other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from agentgym.conversation import Prompt, SeenTurn
from agentgym.core.outcome import StopReason
from agentgym.policies.invalid_streak import InvalidStreak
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import (
    Completion,
    GenerationEngine,
    PoolEngine,
    Request,
    Sampling,
)
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.episode_context import EpisodeContext
from trainers.rollouts.live_episode import Answer, LiveEpisode, begin, required
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_stats import RolloutStats
from trainers.rollouts.slot_envs import Envs, Fork, Start
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["Player", "Recovery", "Rollout", "RolloutCancelled"]

_POLL_SECONDS = 0.01
"""Maximum wait for a remote engine while environments may answer."""
_TOGETHER = 0.5
"""Environments of this thread step once this many turns are ready per generating episode, or none
is generating."""
_CANCEL_SECONDS = 1.0
"""Maximum wait for environments before a cancellable rollout polls ``cancelled``."""


class RolloutCancelled(Exception):
    """A rollout was cancelled by its caller."""


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


class Recovery(Protocol):
    """Brings an engine that failed back, with its weights."""

    def recover(self, error: EngineFailure) -> None:
        """Bring it back; raises an error if it cannot."""

    def note_turn(self) -> None:
        """Note that the engine has generated a turn."""


class Player(Protocol):
    """The part of a ``RolloutRunner`` that a rollout uses."""

    envs: Envs
    chat: TurnTokenizer
    engine: GenerationEngine
    budget: TokenBudget
    stats: RolloutStats
    end_after_invalid: int

    @property
    def slot_families(self) -> Sequence[str]:
        """Family of each slot's environment."""
        ...

    @property
    def on_tokens(self) -> Callable[[int], None]:
        """Is called with the number of tokens of each batch of sampled turns."""
        ...

    def prompt_of(self, family: str) -> Prompt:
        """Return the prompt of a family's episodes."""
        ...

    @property
    def recovery(self) -> Recovery | None:
        """What helps an engine that failed; None: its failure ends the rollout."""
        ...


class Rollout:
    """The episodes of one call, each in its slot and each at its own turn."""

    _patience = _CANCEL_SECONDS

    def __init__(
        self,
        runner: Player,
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
        self._asked: dict[int, Request] = {}  # Turns that are being generated, by slot.
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
        try:
            completions = self._engine.advance(_POLL_SECONDS if self._unanswered else None)
        except EngineFailure as error:
            self._lose(error)
            return
        self._stats.engine_seconds += time.perf_counter() - start
        if completions:
            if self._runner.recovery is not None:
                self._runner.recovery.note_turn()
            for slot, out in completions:
                del self._asked[slot]
                # Noted now: the engine may have other weights when the environment answers.
                self._live[slot].version = self._version(self._live[slot])
                self._generated.append((slot, out))
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
        patience = None if self._cancelled is None else self._patience
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
            self._submit(ready)

    def _submit(self, requests: Sequence[Request]) -> None:
        """Let the engine generate turns."""
        start = time.perf_counter()
        self._asked.update((request.key, request) for request in requests)
        try:
            self._engine.submit(requests, self._sampling)
        except EngineFailure as error:
            self._lose(error)
        self._stats.engine_seconds += time.perf_counter() - start

    def _lose(self, error: EngineFailure) -> None:
        """Ask for the turns again that were being generated when the engine failed.

        Raises:
            EngineFailure: Nothing brings it back.
        """
        if self._runner.recovery is None:
            raise error
        self._engine.abort()
        requests, self._asked = [*self._asked.values()], {}
        self._recover(error, requests)

    def _recover(self, error: EngineFailure, requests: Sequence[Request]) -> None:
        """Bring the engine back, and submit requests to it: the same samples, by their seeds."""
        assert self._runner.recovery is not None
        self._runner.recovery.recover(error)
        self._submit(requests)

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
        turn = episode.record(out, action, answer, self._plays_stale(episode))
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
            seed=self._turn_seed(episode, turn),
            group=episode.trajectory.group,
            stale=self._plays_stale(episode),
        )

    def _plays_stale(self, episode: LiveEpisode) -> bool:
        """Whether the stale policy plays an episode's next turn."""
        return any(part.plays_stale(episode) for part in self._parts)

    def _version(self, episode: LiveEpisode) -> int:
        """Return the version of the weights that sampled an episode's turn."""
        engine = self._engine
        if isinstance(engine, PoolEngine) and self._plays_stale(episode):
            return engine.stale_version
        return engine.version

    def _turn_seed(self, episode: LiveEpisode, turn: int) -> int:
        """Return the sampling seed of a turn of an episode."""
        return turn_seed(self._seed, episode.number, turn)
