"""The rollout face: episodes in chosen slots, one info dict for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.options import check_seed, integer
from agentgym.outcome import Snapshot
from agentgym.vector import infos as _infos
from agentgym.vector.backends import Backend, derive_seed
from agentgym.vector.env_slots import Failure, Mistake
from agentgym.vector.members import Reset, Step


@dataclass(frozen=True, slots=True)
class SlotSnapshot:
    """A forked episode of one slot, with the last thing the policy saw."""

    state: Any
    """What the environment's ``snapshot()`` returned."""
    observation: str
    """Last observation."""
    info: dict[str, Any]
    """Last info."""
    active: bool
    """Whether the episode was running."""


class RolloutFace(ABC):
    """Starts, steps, forks and groups episodes in the slots of a back end.

    Args:
        backend: Where the environments run.
        num_envs: Number of slots.
    """

    num_envs: int

    def __init__(self, backend: Backend, num_envs: int) -> None:
        self.num_envs = num_envs
        self._backend = backend
        self._open = True
        self._active = [False] * num_envs
        self._observations = [""] * num_envs
        self._last: list[dict[str, Any] | None] = [None] * num_envs
        self._unbegun: dict[int, Failure] = {}
        self._seeds: list[int | None] = [None] * num_envs
        self._losses = [0] * num_envs
        self._configurations: dict[int, str] = {}

    @property
    def restarts(self) -> int:
        """How many workers (threads, processes) have been replaced so far."""
        return self._backend.restarts

    @property
    def active(self) -> tuple[bool, ...]:
        """For each slot whether its episode is running."""
        return tuple(self._active)

    def reset_slots(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Reset]:
        """Start an episode in some slots.

        Args:
            slots: Slot numbers, each at most once.
            seeds: For each slot a seed, or None to go on with its random stream.
            options: For each slot its reset options, or None.

        Returns:
            For each slot the observation and the info dict.

        Raises:
            ConfigurationError: An argument does not fit, or a reset option is not known.
            TaskNotFound: A task that was asked for does not exist.
        """
        seeds = [None] * len(slots) if seeds is None else seeds
        options = [None] * len(slots) if options is None else options
        self._check(slots, seeds=seeds, options=options)
        seeds = [check_seed(seed) for seed in seeds]
        for option in options:
            if option is not None and not isinstance(option, Mapping):
                raise ConfigurationError(f"expected reset options as a dict, got {option!r:.80}")
        args = [
            (self._seed(slot, seed), option)
            for slot, seed, option in zip(slots, seeds, options, strict=True)
        ]
        for slot in slots:
            self._active[slot] = False
        results = self._run("reset", slots, args)
        return [
            self._began(slot, result, option)
            for slot, result, option in zip(slots, results, options, strict=True)
        ]

    def step_slots(self, slots: Sequence[int], actions: Sequence[str]) -> list[Step]:
        """Take one turn in some slots whose episodes run.

        Args:
            slots: Slot numbers, each at most once.
            actions: For each slot the policy's text.

        Returns:
            For each slot observation, reward, terminated, truncated and the info dict.

        Raises:
            ConfigurationError: An episode is not running, an action is not text, or the lengths
                differ.
        """
        self._check(slots, actions=actions)
        active = self._active
        for slot, action in zip(slots, actions, strict=True):
            if not active[slot]:
                raise ConfigurationError(
                    f"expected slots with a running episode, but that of slot {slot} has ended or "
                    "never began; step the others only, or reset it first"
                )
            if not isinstance(action, str):
                raise ConfigurationError(
                    f"expected actions of type str, got {type(action).__name__} for slot {slot}"
                )
        results = self._run("step", slots, actions)
        for position, slot in enumerate(slots):
            result = results[position]
            if type(result) is Failure:
                result = results[position] = self._failed(slot, result)
            self._observations[slot] = result[0]
            self._last[slot] = result[4]
            if result[2] or result[3]:
                active[slot] = False
        return results

    def reset_groups(
        self,
        tasks: Sequence[Mapping[str, Any]],
        group_size: int,
        seed: int | None = None,
    ) -> list[Reset]:
        """Start groups of episodes that share one task and one seed.

        Group ``g`` takes the slots ``g * group_size`` to ``(g + 1) * group_size - 1``.

        Args:
            tasks: For each group its reset options; ``{}`` draws one task for the whole group.
            group_size: Members of each group.
            seed: Root of the groups' seeds; None draws one from ``np_random``.

        Returns:
            Observation and info of each slot in use, in the order of the slots.

        Raises:
            ConfigurationError: There are not enough slots, or an argument is of the wrong type.
            TaskNotFound: A task that was asked for does not exist.
        """
        group_size, seed = integer(group_size, "group_size", 1), check_seed(seed)
        needed = len(tasks) * group_size
        if not 1 <= needed <= self.num_envs:
            raise ConfigurationError(
                f"expected groups that fill 1 to {self.num_envs} slots, got {len(tasks)} groups of "
                f"{group_size}; make the vector environment with num_envs={max(needed, 1)}"
            )
        if seed is None:
            seed = self._draw_seed()
        seeds = [derive_seed(seed, group) for group in range(len(tasks)) for _ in range(group_size)]
        options = [task for task in tasks for _ in range(group_size)]
        return self.reset_slots(range(needed), seeds, options)

    def snapshot_slots(self, slots: Sequence[int]) -> list[SlotSnapshot]:
        """Fork the episodes of some slots.

        Args:
            slots: Slot numbers.

        Returns:
            Snapshots, which any slot can restore.

        Raises:
            NotSupported: The family's engine has no snapshots.
        """
        states = self.call_slots(slots, "snapshot")
        return [
            SlotSnapshot(state, self._observations[s], dict(self._last[s] or {}), self._active[s])
            for s, state in zip(slots, states, strict=True)
        ]

    def restore_slots(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> list[Reset]:
        """Continue forked episodes in some slots.

        Args:
            slots: Slot numbers.
            snapshots: For each slot what to continue from.

        Returns:
            For each slot the last observation and info of the fork.

        Raises:
            ConfigurationError: A snapshot is none, or of an environment that was made with other
                arguments; nothing is restored then.
            NotSupported: The family's engine has no snapshots.
            EnvFailure: An environment failed. Its slot is as it was; those that did not fail have
                been restored.
        """
        self._check(slots, snapshots=snapshots)
        self._check_forks(slots, snapshots)
        broken = [
            (slot, {"task_id": snapshot.info["task_id"]})
            for slot, snapshot in zip(slots, snapshots, strict=True)
            if (last := self._last[slot]) is None or last.get("stop_reason") == "error"
        ]
        if broken:
            self.reset_slots([s for s, _ in broken], options=[o for _, o in broken])
        calls: list[Any] = [("restore", (snapshot.state,), {}) for snapshot in snapshots]
        results = self._backend.run("call", slots, calls)
        for slot, snapshot, result in zip(slots, snapshots, results, strict=True):
            if type(result) not in (Mistake, Failure):
                self._active[slot] = snapshot.active
                self._observations[slot], self._last[slot] = snapshot.observation, snapshot.info
                self._unbegun.pop(slot, None)
        _raise_first(slots, results)
        return [(snapshot.observation, dict(snapshot.info)) for snapshot in snapshots]

    def call_slots(self, slots: Sequence[int], name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method of some environments, or read an attribute.

        Args:
            slots: Slot numbers.
            name: Name of the method or attribute, found through wrappers.
            *args: Arguments of the method.
            **kwargs: Keyword arguments of the method.

        Returns:
            For each slot what it returned.

        Raises:
            EnvFailure: An environment hung or died in the call.
            Exception: What the method raised.
        """
        self._check(slots)
        return self._run_calls(slots, [(name, args, kwargs)] * len(slots))

    @abstractmethod
    def _draw_seed(self) -> int:
        """Draw the root seed of groups for which none was given."""

    def _check(self, slots: Sequence[int], **columns: Sequence[Any]) -> None:
        """Check that slots exist, are given once, and that every argument has one entry each."""
        if not self._open:
            raise ConfigurationError("expected an open vector environment, but it has been closed")
        if len(set(slots)) != len(slots) or (
            slots and not 0 <= min(slots) <= max(slots) < self.num_envs
        ):
            raise ConfigurationError(
                f"expected different slots from 0 to {self.num_envs - 1}, got {list(slots)}"
            )
        for name, column in columns.items():
            if len(column) != len(slots):
                raise ConfigurationError(
                    f"expected {name} to have one entry for each of {len(slots)} slots, "
                    f"got {len(column)}"
                )

    def _run(self, kind: str, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Let the back end work; raise what the caller did wrong."""
        results = self._backend.run(kind, slots, args)
        for result in results:
            if type(result) is Mistake:
                raise result.error
        return results

    def _run_calls(self, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Call methods; a call has no episode that could end, so a failure is raised."""
        results = self._backend.run("call", slots, args)
        _raise_first(slots, results)
        return results

    def _check_forks(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> None:
        """Check that snapshots fit their slots, before any slot is touched."""
        for snapshot in snapshots:
            if not isinstance(snapshot, SlotSnapshot):
                raise ConfigurationError(
                    "expected what snapshot_slots() returned, got "
                    f"{type(snapshot).__name__}: {snapshot!r:.80}"
                )
        states = {
            slot: snapshot.state
            for slot, snapshot in zip(slots, snapshots, strict=True)
            if isinstance(snapshot.state, Snapshot)
        }
        unknown = [slot for slot in states if slot not in self._configurations]
        found = self._run_calls(unknown, [("configuration", (), {})] * len(unknown))
        self._configurations.update(zip(unknown, found, strict=True))
        for slot, state in states.items():
            if state.configuration != self._configurations[slot]:
                raise ConfigurationError(
                    f"expected a snapshot of an environment made like that of slot {slot}, got one "
                    "of another class or other arguments, reward hooks included"
                )

    def _seed(self, slot: int, seed: int | None) -> int | None:
        """Return the seed of a reset; a slot whose random stream was lost gets a new, fixed one."""
        lost = slot in self._backend.lost
        self._backend.lost.discard(slot)
        if seed is not None:
            self._seeds[slot], self._losses[slot] = seed, 0
            return seed
        root = self._seeds[slot]
        if not lost or root is None:
            return None
        self._losses[slot] += 1
        return derive_seed(root, self._losses[slot])

    def _began(self, slot: int, result: Any, options: Mapping[str, Any] | None) -> Reset:
        """Note the start of an episode, or that it could not start."""
        self._unbegun.pop(slot, None)
        if type(result) is Failure:
            self._unbegun[slot] = result
            info = _infos.failed_reset(result.text, options)
            result = (_infos.observation(result.text), info)
        self._active[slot] = True
        self._observations[slot], self._last[slot] = result
        observation, info = result
        return observation, info

    def _failed(self, slot: int, failure: Failure) -> Step:
        """Return the last turn of an episode whose environment failed."""
        text = self._unbegun.pop(slot, failure).text
        info = _infos.failed_step(text, self._last[slot] or {})
        return _infos.observation(text), 0.0, True, False, info


def _raise_first(slots: Sequence[int], results: Sequence[Any]) -> None:
    """Raise the first mistake or failure among the results of calls."""
    for slot, result in zip(slots, results, strict=True):
        if type(result) is Mistake:
            raise result.error
        if type(result) is Failure:
            raise EnvFailure(f"slot {slot} failed in a call: {result.text}")
