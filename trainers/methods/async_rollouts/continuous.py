"""Groups of episodes that are played without end, while weights change between their turns.

One thread plays and another trains. The weights of an engine change while it generates nothing: new
turns wait for the short time until those under way have been sampled, environments go on. So every
turn is sampled by one policy, and an episode by as many as were sent during its life.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainers.rollouts.engines.base import Request, Sampling, require_idle
from trainers.rollouts.engines.engine_weights import Weights
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.live_episode import LiveEpisode
from trainers.rollouts.rollout import Rollout
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import ENV_SEEDS
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["ContinuousRollout", "PlannedGroup"]

ENV_SECONDS = 0.02
"""Longest wait for environments before the other thread is heard."""


@dataclass(eq=False)
class PlannedGroup:
    """A group of episodes, from its plan to its training."""

    place: int
    """Place in the order in which groups start."""
    horizon: int
    """Turn budget of the step that it was planned for."""
    seed: int
    """Seed of that step."""
    members: list[Trajectory]
    """Its episodes; their numbers are those of the step that it was planned for."""
    left: int = field(init=False)
    """Episodes that have not ended."""

    def __post_init__(self) -> None:
        """Count the episodes."""
        self.left = len(self.members)

    def state(self) -> dict[str, Any]:
        """Return what determines its episodes but the weights, JSON-safe."""
        names = ("number", "seed", "family", "options")
        episodes = [{name: getattr(member, name) for name in names} for member in self.members]
        return {"horizon": self.horizon, "seed": self.seed, "episodes": episodes}

    @classmethod
    def of(cls, place: int, state: Mapping[str, Any], reseeded: int = 0) -> PlannedGroup:
        """Return the group of a state, with nothing played yet.

        Args:
            place: Place in the order in which groups start.
            state: A result of :meth:`state`.
            reseeded: What is added to the seed of its step.
        """
        members = [
            Trajectory(group=place, **{**episode, "seed": (episode["seed"] + reseeded) % ENV_SEEDS})
            for episode in state["episodes"]
        ]
        return cls(place, state["horizon"], state["seed"] + reseeded, members)


class ContinuousRollout(Rollout):
    """Play groups in the order in which they are added, until the rollout is dropped.

    ``play`` runs in the thread that plays; the public methods below are for the other one.

    Args:
        runner: Its engine and environments are used by that thread alone, except between
            :meth:`pause` and :meth:`go_on`.
        sampling: How tokens are drawn.
    """

    _patience = ENV_SECONDS

    def __init__(self, runner: RolloutRunner, sampling: Sampling) -> None:
        super().__init__(
            runner, [], runner.limited(sampling), 0, (), lambda: self._over, lambda: None
        )
        self._changed = threading.Condition()
        self._over = False
        self._problem: BaseException | None = None
        self._new: list[PlannedGroup] = []
        self._complete: list[PlannedGroup] = []
        self._failure: EngineFailure | None = None
        self._weights: tuple[Weights, int] | None = None
        self._pausing = self._paused = self._closing = self._idle = False
        # Only the thread that plays uses these: the group of each episode, and waiting requests.
        self._groups: dict[int, PlannedGroup] = {}
        self._held: list[Request] = []
        self._holding = False

    # -- for the thread that trains ----------------------------------------------------------------

    def add(self, groups: Sequence[PlannedGroup]) -> None:
        """Play further groups after those added before."""
        self._change(lambda: self._new.extend(groups))

    def load(self, weights: Weights, version: int) -> None:
        """Generate with other weights as soon as the turns under way are sampled."""

        def replace() -> None:
            self._weights, self._failure = (weights, version), None

        self._change(replace)

    @property
    def failure(self) -> EngineFailure | None:
        """Why the engine waits for weights, if it failed."""
        return self._failure

    def take(self, count: int) -> list[PlannedGroup] | None:
        """Wait for ``count`` complete groups, and return those of them that started first.

        A slow group that is complete comes before all that overtook it. None: the engine failed,
        and needs its weights again.

        Raises:
            Exception: The error that occurred while the episodes were played.
        """
        self._wait(lambda: len(self._complete) >= count)
        with self._changed:
            if self._problem is not None:
                raise self._problem
            if len(self._complete) < count:
                return None
            self._complete.sort(key=lambda group: group.place)
            taken, self._complete = self._complete[:count], self._complete[count:]
        return taken

    def pause(self) -> None:
        """Wait until the engine is idle and has the weights that were loaded."""

        def ask() -> None:
            self._pausing = True

        self._change(ask)
        self._wait(lambda: self._paused and self._weights is None, despite_failure=True)

    def finish_episodes(self) -> bool:
        """Begin no further episode, and wait until none is under way.

        Returns:
            False if the engine failed, so that they cannot end before it has weights again.
        """

        def ask() -> None:
            # A pause may hold episodes in the middle.
            self._closing, self._pausing = True, False

        self._change(ask)
        self._wait(lambda: self._idle)
        return self._failure is None

    def go_on(self) -> None:
        """End a pause, and begin episodes again."""

        def ask() -> None:
            self._pausing = self._closing = False

        self._change(ask)

    def drop(self) -> None:
        """End the rollout and give up its episodes."""

        def ask() -> None:
            self._over = True

        self._change(ask)

    def _change(self, change: Callable[[], None]) -> None:
        """Change what both threads see, and wake the other one."""
        with self._changed:
            change()
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], despite_failure: bool = False) -> None:
        """Wait for the thread that plays; it, or its engine, may have failed."""

        def ends() -> bool:
            failed = self._failure is not None and not despite_failure
            return ready() or failed or self._problem is not None or self._over

        with self._changed:
            self._changed.wait_for(ends)

    # -- the thread that plays ---------------------------------------------------------------------

    def play(self) -> None:
        """Play until the rollout is dropped; an error is raised where groups are taken."""
        start = time.perf_counter()
        try:
            require_idle(self._engine)
            self._engine.abort()
            while not self._over:
                self._listen()
                self._start()
                self._act()
                self._hear()
                self._generate()
        except BaseException as error:
            self._problem = error
        finally:
            self._stats.seconds += time.perf_counter() - start
            try:
                # The next rollout must not receive answers of this one.
                self._engine.abort()
                self._envs.abandon_slots()
            except BaseException as error:
                self._problem = self._problem or error
            self._change(lambda: None)

    def _listen(self) -> None:
        """Take new groups, load weights, and pause, as the other thread asks."""
        with self._changed:
            new, self._new = self._new, []
            for group in new:
                self._groups.update((id(member), group) for member in group.members)
                self._queue(group.members)
            if not self._playing and not self._waiting:
                self._idle = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._over or self._waiting)
                self._idle = False
            if not self._pausing and self._weights is None:
                if self._failure is not None and not self._unanswered:
                    self._changed.wait(ENV_SECONDS)  # All turns wait for weights.
                return
            if self._engine.running:
                self._holding = True
                return
        while (loaded := self._next_weights()) is not None:
            weights, version = loaded
            try:
                self._engine.sync(weights, version)
            except EngineFailure as error:
                return self._lose(error)
            weights.clear()  # The engine has them: no need for two copies.
        if self._failure is not None:
            return None
        held, self._held, self._holding = self._held, [], False
        if held and not self._over:
            super()._submit(held)

    def _next_weights(self) -> tuple[Weights, int] | None:
        """Return the weights to load, if any; with none, pause as long as is asked for."""
        with self._changed:
            if self._weights is None and self._pausing:
                self._paused = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._over or not self._pausing or self._weights)
                self._paused = False
            loaded, self._weights = self._weights, None
        return loaded

    def _recover(self, error: EngineFailure, requests: Sequence[Request]) -> None:
        """Let turns wait for the weights that the other thread sends again."""

        def ask() -> None:
            self._failure = error

        self._holding, self._held = True, [*requests, *self._held]
        self._change(ask)

    @property
    def _waiting(self) -> bool:
        """Whether something waits for the thread that plays besides running episodes."""
        queued = any(self._queues.values()) and not self._closing
        return bool(self._new or queued or self._pausing or self._weights)

    def _start(self) -> None:
        """Give free slots to the next episodes, unless running ones are to end first."""
        if not self._closing:
            super()._start()

    def _submit(self, requests: Sequence[Request]) -> None:
        """Let the engine generate turns, after the change of weights that is due."""
        if self._holding:
            self._held += requests
        else:
            super()._submit(requests)

    def _end(self, slot: int) -> None:
        """Free a slot, and note its group if that is complete."""
        episode = self._playing[slot]
        super()._end(slot)
        group = self._groups.pop(id(episode))
        self._stats.turns += len(episode.turns)
        group.left -= 1
        if not group.left:
            self._change(lambda: self._complete.append(group))

    def _turn_seed(self, episode: LiveEpisode, turn: int) -> int:
        """Return the seed that the turn has where its step is played alone."""
        group = self._groups[id(episode.trajectory)]
        return turn_seed(group.seed, episode.number, turn)
