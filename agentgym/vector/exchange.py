"""Requests to the environments in the slots, and the effect of their answers on the episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.core.guard import Reset, Step
from agentgym.core.options import check_seed
from agentgym.core.snapshots import Snapshot
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.vector.backends import Backend, Received, run
from agentgym.vector.episode import SlotEpisode, SlotSnapshot
from agentgym.vector.requests import (
    Began,
    CallResult,
    EnvCall,
    EnvCalls,
    Mistake,
    ResetArgs,
    Resets,
    SetAttribute,
    SlotFailure,
    SlotRequest,
    Steps,
)

SNAPSHOT, RESTORE = "snapshot", "restore"
"""Methods of an environment that can be called asynchronously."""
Snap = SlotSnapshot | None
"""A forked episode; None if its environment failed during the fork."""
Answer = Reset | Step | Snap
"""The answer to an asynchronous request."""


class Exchange:
    """Validates requests, sends them to a back end, and applies the answers to the episodes.

    A request either waits for all of its slots (:meth:`reset`, :meth:`step`, :meth:`call`), or is
    sent without waiting (:meth:`send`), and :meth:`receive` returns the answers as they arrive.
    Both ways check the same things and end a failed episode in the same way.

    Attributes:
        backend: The back end.
        episodes: The episode of each slot, as the policy sees it.
    """

    def __init__(self, backend: Backend, num_envs: int) -> None:
        self.backend = backend
        self.episodes = [SlotEpisode() for _ in range(num_envs)]
        self._is_open = True
        self._unanswered: dict[int, ResetArgs | str | EnvCall | SetAttribute] = {}
        self._restoring: dict[int, SlotSnapshot] = {}
        self._arrived: list[Received] = []

    # -- building requests -----------------------------------------------------------------------

    def resets(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None] | None,
        options: Sequence[Mapping[str, Any] | None] | None,
    ) -> Resets:
        """Make a request that starts episodes; running episodes in these slots are over.

        Raises:
            ConfigurationError: An argument is invalid.
        """
        seeds = [None] * len(slots) if seeds is None else seeds
        options = [None] * len(slots) if options is None else options
        self.check(slots, seeds=seeds, options=options)
        seeds = [check_seed(seed) for seed in seeds]
        for option in options:
            if option is not None and not isinstance(option, Mapping):
                raise ConfigurationError(f"expected reset options as a dict, got {option!r:.80}")
        lost_slots, episodes = self.backend.lost_slots, [self.episodes[slot] for slot in slots]
        args = [
            ResetArgs(episode.next_seed(seed, slot in lost_slots), option)
            for slot, episode, seed, option in zip(slots, episodes, seeds, options, strict=True)
        ]
        # next_seed has just chosen seeds for these slots, so they have a random stream again.
        lost_slots.difference_update(slots)
        for episode in episodes:
            episode.active = False
        return Resets(slots, args)

    def steps(self, slots: Sequence[int], actions: Sequence[str]) -> Steps:
        """Make a request that takes a turn in slots with running episodes.

        Raises:
            ConfigurationError: An argument is invalid.
        """
        self.check(slots, actions=actions)
        for slot, action in zip(slots, actions, strict=True):
            if not self.episodes[slot].active:
                raise ConfigurationError(
                    f"expected slots with a running episode, but the episode of slot {slot} has "
                    "ended or never began; step only the others, or reset it first"
                )
            if not isinstance(action, str):
                raise ConfigurationError(
                    f"expected actions of type str, got {type(action).__name__} for slot {slot}"
                )
        return Steps(slots, actions)

    def check(self, slots: Sequence[int], **columns: Sequence[Any]) -> None:
        """Check that slots exist, are free and distinct, and that arguments have one entry each.

        Raises:
            ConfigurationError: They do not.
        """
        if not self._is_open:
            raise ConfigurationError("expected an open vector environment, but it has been closed")
        if len(set(slots)) != len(slots) or (
            slots and not 0 <= min(slots) <= max(slots) < len(self.episodes)
        ):
            raise ConfigurationError(
                f"expected different slots from 0 to {len(self.episodes) - 1}, got {list(slots)}"
            )
        if not self._unanswered.keys().isdisjoint(slots):
            raise ConfigurationError(
                f"expected slots that have answered, but an answer of {list(slots)} is still "
                "pending: call receive() until it arrives"
            )
        for name, column in columns.items():
            if len(column) != len(slots):
                raise ConfigurationError(
                    f"expected {name} to have one entry for each of {len(slots)} slots, "
                    f"got {len(column)}"
                )

    # -- blocking requests -----------------------------------------------------------------------

    def reset(self, request: Resets) -> list[Reset]:
        """Start episodes and wait for all of them."""
        results = self._run(request)
        for result in results:  # check all of them before any episode is marked as started
            if isinstance(result, Mistake):
                raise result.error
        return [
            self.episodes[slot].begin(result, arg.options)
            for slot, arg, result in zip(request.slots, request.args, results, strict=True)
        ]

    def step(self, request: Steps) -> list[Step]:
        """Take turns and wait for all of them."""
        results = self._run(request)
        return [
            self._stepped(self.episodes[slot], result)
            for slot, result in zip(request.slots, results, strict=True)
        ]

    def call(
        self, slots: Sequence[int], calls: Sequence[EnvCall | SetAttribute]
    ) -> list[CallResult | SlotFailure | Mistake]:
        """Call methods, read or set attributes, and wait for all of them."""
        return self._run(EnvCalls(slots, calls))

    def values(self, slots: Sequence[int], calls: Sequence[EnvCall | SetAttribute]) -> list[Any]:
        """Call methods, read or set attributes; return the values."""
        return called_values(slots, self.call(slots, calls))

    def restore(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> list[Reset]:
        """Continue from snapshots and wait for all of them; see ``TextVectorEnv.restore_slots``."""
        self.check(slots, snapshots=snapshots)
        self._check_snapshots(slots, snapshots)
        tasks = {
            slot: {"task_id": snapshot.info["task_id"]}
            for slot, snapshot in zip(slots, snapshots, strict=True)
            if self.episodes[slot].broken
        }
        if tasks:  # only a reset replaces a failed environment, and it needs a task that exists
            self.reset(self.resets(list(tasks), None, list(tasks.values())))
        results = self.call(slots, [EnvCall(RESTORE, (snap.state,)) for snap in snapshots])
        for slot, snapshot, result in zip(slots, snapshots, results, strict=True):
            if isinstance(result, CallResult):
                self.episodes[slot].restore(snapshot)
        called_values(slots, results)
        return [(snapshot.observation, dict(snapshot.info)) for snapshot in snapshots]

    def _check_snapshots(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> None:
        """Check that snapshots fit their slots, before any slot is touched."""
        for snapshot in snapshots:
            if not isinstance(snapshot, SlotSnapshot):
                raise ConfigurationError(
                    "expected a snapshot of snapshot_slots(), got "
                    f"{type(snapshot).__name__}: {snapshot!r:.80}"
                )
        states = {
            slot: snapshot.state
            for slot, snapshot in zip(slots, snapshots, strict=True)
            if isinstance(snapshot.state, Snapshot)
        }
        unknown = [slot for slot in states if self.episodes[slot].configuration is None]
        configurations = self.values(unknown, [EnvCall("configuration")] * len(unknown))
        for slot, configuration in zip(unknown, configurations, strict=True):
            self.episodes[slot].configuration = configuration
        for slot, state in states.items():
            if state.configuration != self.episodes[slot].configuration:
                raise ConfigurationError(
                    f"expected a snapshot of an environment like slot {slot}'s, got one of "
                    "another class or with other arguments or reward hooks"
                )

    def _run(self, request: SlotRequest[Any, Any]) -> list[Any]:
        """Run a request, if no other is pending."""
        if self._unanswered:
            raise ConfigurationError(
                f"expected no pending request, but slots {sorted(self._unanswered)} have not "
                "answered: call receive() until they have, or abandon_slots()"
            )
        return run(self.backend, request)

    # -- requests without waiting ----------------------------------------------------------------

    def send(self, request: Resets | Steps | EnvCalls) -> None:
        """Send a request without waiting."""
        # Send first: if this raises, no answer is pending.
        self.backend.send(request)
        self._unanswered.update(zip(request.slots, request.args, strict=True))

    def send_restores(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> None:
        """Send a request to continue from snapshots, without waiting."""
        self.check(slots, snapshots=snapshots)
        self._restoring.update(zip(slots, snapshots, strict=True))
        # A failed environment is first replaced by a reset, which needs a task that exists.
        fresh = [slot for slot in slots if self.episodes[slot].broken]
        tasks = [{"task_id": self._restoring[slot].info["task_id"]} for slot in fresh]
        if fresh:
            self.send(self.resets(fresh, None, tasks))
        self._send_snapshots([slot for slot in slots if slot not in fresh])

    def _send_snapshots(self, slots: Sequence[int]) -> None:
        """Send the snapshots to restore to slots with a working environment."""
        if slots:
            calls = [EnvCall(RESTORE, (self._restoring[slot].state,)) for slot in slots]
            self.send(EnvCalls(slots, calls))

    def receive(self, timeout: float | None) -> list[tuple[int, Answer]]:
        """Return the available answers; see ``TextVectorEnv.receive``."""
        if self._unanswered and not self._arrived:
            self._arrived = self.backend.receive(timeout)
        for index, (slot, result) in enumerate(self._arrived):
            if isinstance(result, Mistake):
                # Remove only this answer: the next call returns the others.
                del self._arrived[index], self._unanswered[slot]
                self._restoring.pop(slot, None)
                raise result.error
        arrived, self._arrived = self._arrived, []
        answers: list[tuple[int, Answer]] = []
        ready: list[int] = []
        for slot, result in arrived:
            request, episode = self._unanswered.pop(slot), self.episodes[slot]
            if isinstance(request, EnvCall | SetAttribute):
                answers.append((slot, self._called(slot, request, result)))
            elif isinstance(request, str):
                answers.append((slot, self._stepped(episode, result)))
            else:
                beginning = episode.begin(result, request.options)
                if slot in self._restoring and isinstance(result, Began):
                    ready.append(slot)
                else:
                    self._restoring.pop(slot, None)
                    answers.append((slot, beginning))
        self._send_snapshots(ready)
        if ready and (not self.backend.concurrent or (not answers and timeout is None)):
            # A synchronous back end has already answered: return these answers, too, in the order
            # in which the slots were requested.
            answers += self.receive(timeout)
            places = {slot: place for place, (slot, _) in enumerate(arrived)}
            answers.sort(key=lambda answer: places.get(answer[0], len(places)))
        return answers

    def _called(
        self, slot: int, request: EnvCall | SetAttribute, result: CallResult | SlotFailure
    ) -> Reset | Snap:
        """Apply the answer to a snapshot or restore request to the slot's episode."""
        episode = self.episodes[slot]
        if request.name == SNAPSHOT:
            return None if isinstance(result, SlotFailure) else episode.snapshot(result.value)
        snapshot = self._restoring.pop(slot)
        if isinstance(result, SlotFailure):
            return episode.begin(result, snapshot.info)
        episode.restore(snapshot)
        return snapshot.observation, dict(snapshot.info)

    def abandon(self) -> None:
        """Abandon pending requests; the episodes of their slots are over."""
        if self._unanswered:
            self.backend.abandon()
        for slot in self._unanswered:
            self.episodes[slot].active = False
        self._unanswered.clear()
        self._restoring.clear()
        self._arrived.clear()

    def close(self) -> None:
        """Close the environments and stop the workers."""
        self._is_open = False
        self.backend.close()

    @staticmethod
    def _stepped(episode: SlotEpisode, result: Step | SlotFailure) -> Step:
        """Apply the result of a turn to its episode."""
        step = episode.fail(result) if isinstance(result, SlotFailure) else result
        episode.observation, episode.info = step[0], step[4]
        if step[2] or step[3]:
            episode.active = False
        return step


def called_values(
    slots: Sequence[int], results: Sequence[CallResult | SlotFailure | Mistake]
) -> list[Any]:
    """Return the values of calls; a call cannot end an episode, so failures are raised.

    Raises:
        EnvFailure: An environment hung or died in the call.
        Exception: An exception of the method.
    """
    values = []
    for slot, result in zip(slots, results, strict=True):
        if isinstance(result, Mistake):
            raise result.error
        if isinstance(result, SlotFailure):
            raise EnvFailure(f"slot {slot} failed in a call: {result.text}")
        values.append(result.value)
    return values
