"""The vector environment: episodes in selected slots, and Gymnasium's vector interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from agentgym.core.guard import Reset, Step
from agentgym.core.options import check_seed, integer
from agentgym.errors import ConfigurationError
from agentgym.registration.making import resolve
from agentgym.vector.backends import make_backend, preferred_backend
from agentgym.vector.env_slots import EnvFactory, Spec
from agentgym.vector.episode import SlotSnapshot, derive_seed
from agentgym.vector.exchange import SNAPSHOT, Answer, Exchange
from agentgym.vector.formats import batch, masked_slots, read_autoreset_mode
from agentgym.vector.requests import (
    EnvCall,
    EnvCalls,
    SetAttribute,
    TimeLimits,
)

OPTIONS = ("backend", "workers", "step_timeout", "reset_timeout", "autoreset_mode")
"""Keyword arguments of :class:`TextVectorEnv`; all others are for the environments."""

Arrays = tuple[
    tuple[str, ...],
    npt.NDArray[np.float64],
    npt.NDArray[np.bool_],
    npt.NDArray[np.bool_],
    dict[str, Any],
]
"""Texts, rewards, terminated, truncated, each [num_envs], and infos as arrays [num_envs]."""
Idle = tuple[str, float, bool, bool, None]
"""Placeholder for the turn of a slot that took none."""


class TextVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], npt.NDArray[Any]]):
    """Text environments in numbered slots, on one of four back ends.

    There are two interfaces. The slot methods work on selected slots and return a list with one
    info dict for each (:meth:`reset_slots`, :meth:`step_slots`, :meth:`reset_groups`); Gymnasium's
    methods (:meth:`reset`, :meth:`step`) work on all slots and return arrays. The same seeds and
    actions give the same results on every back end with any number of workers.

    A failure ends one episode and never the run: if an environment raises an exception, returns an
    invalid transition, exceeds its time limit, or crashes its worker process, its episode ends with
    ``terminated=True``, reward 0, ``info["stop_reason"] == "error"`` and ``info["error"]``; other
    slots are not affected. If the reset itself fails, its info contains the same keys, and the next
    step of the slot ends the episode. The next reset of the slot makes a new environment. Only
    mistakes of the caller are raised (a wrong reset option, a task that does not exist, an action
    that is not text), and what ends the program: Ctrl-C, and exceptions of signal handlers.

    Args:
        env_fns: One factory for each slot.
        backend: ``"sync"`` (or None) for sequential environments in the calling thread,
            ``"thread"`` for environments that wait, ``"process"`` for environments that use much
            CPU time or may crash, or ``"ray"`` for more of these than one machine can run (extra
            ``ray``): on the cluster that this process is connected to or that ``RAY_ADDRESS``
            names, else on a new local Ray.
        workers: Number of threads, processes or actors; default: 32 threads, one process per CPU
            or one actor per CPU of the cluster, and at most one per slot.
        step_timeout: Time limit of one step of one environment, in seconds. It has no effect with
            ``sync``; a thread is abandoned; a process or actor is killed and replaced, and its
            other environments are restored: from a snapshot and the actions since, or, if the
            family or a wrapper has no snapshots, from their reset and all actions since.
        reset_timeout: Time limit of a reset or a call, in seconds; default: ten times
            ``step_timeout``.
        autoreset_mode: How :meth:`step` treats ended episodes. ``DISABLED`` leaves them to
            ``reset(options={"reset_mask": ...})``. The slot methods never reset automatically.

    Raises:
        ConfigurationError: An argument is out of range, or the environments have different spaces
            other than text; for text spaces of different lengths the widest is used.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvFactory],
        *,
        backend: str | None = None,
        workers: int | None = None,
        step_timeout: float | None = None,
        reset_timeout: float | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.DISABLED,
    ) -> None:
        if not env_fns:
            raise ConfigurationError("expected at least one environment, got none")
        if reset_timeout is None and step_timeout is not None:
            reset_timeout = 10 * step_timeout
        self.autoreset_mode = read_autoreset_mode(autoreset_mode)
        self.backend = "sync" if backend is None else str(backend)
        self.num_envs = len(env_fns)
        limits = TimeLimits(step_timeout, reset_timeout)
        self._backend = make_backend(env_fns, self.backend, workers, limits)
        self._exchange = Exchange(self._backend, self.num_envs)
        self._episodes = self._exchange.episodes
        description = self._backend.description
        self.single_observation_space = description.observation_space
        self.single_action_space = description.action_space
        self.metadata = {**description.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = description.render_mode

    @classmethod
    def make(
        cls,
        env: str | EnvFactory,
        num_envs: int = 1,
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> TextVectorEnv:
        """Make a vector environment of equal members; ``gymnasium.make_vec`` calls this.

        Args:
            env: An id (``"agentgym/WebShop-v0"``), a short name (``"webshop"``) or a factory.
            num_envs: Number of slots.
            env_kwargs: Keyword arguments of the environment.
            **kwargs: Keyword arguments of this class (``backend``, ``workers``, ``step_timeout``,
                ``reset_timeout``, ``autoreset_mode``); all others are passed to the environment.
                The default of ``backend`` depends on the family and these arguments.

        Raises:
            ConfigurationError: ``num_envs`` is not positive, or a factory has arguments.
        """
        options = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
        kwargs = {**(env_kwargs or {}), **kwargs}
        if num_envs < 1:
            raise ConfigurationError(f"expected num_envs of at least 1, got {num_envs}")
        if isinstance(env, str):
            named = resolve(env)
            env_id, kwargs = named.id, {**named.kwargs, **kwargs}
            if options.get("backend") is None:
                options["backend"] = preferred_backend(env_id, kwargs)
            # Pass the spec itself: a worker may not have imported the module that registers the id.
            return cls([Spec(gymnasium.spec(env_id), kwargs)] * num_envs, **options)
        if kwargs:
            raise ConfigurationError(
                f"expected environment arguments only with an id, got {kwargs} with a factory; "
                "bind them with functools.partial"
            )
        return cls([env] * num_envs, **options)

    # -- episodes in chosen slots ----------------------------------------------------------------

    @property
    def restarts(self) -> int:
        """Number of workers (threads, processes) replaced so far."""
        return self._backend.restarts

    @property
    def concurrent(self) -> bool:
        """Whether environments run between :meth:`send_slots` and :meth:`receive`."""
        return self._backend.concurrent

    @property
    def active(self) -> tuple[bool, ...]:
        """For each slot, whether its episode is running."""
        return tuple([episode.active for episode in self._episodes])

    def reset_slots(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Reset]:
        """Start an episode in some slots.

        Args:
            slots: Slot numbers, each at most once.
            seeds: For each slot a seed, or None to continue its random stream.
            options: For each slot its reset options, or None.

        Returns:
            For each slot the observation and the info dict.

        Raises:
            ConfigurationError: An argument is invalid, or a reset option is unknown.
            TaskNotFound: A requested task does not exist.
        """
        return self._exchange.reset(self._exchange.resets(slots, seeds, options))

    def step_slots(self, slots: Sequence[int], actions: Sequence[str]) -> list[Step]:
        """Take one turn in some slots with running episodes.

        Args:
            slots: Slot numbers, each at most once.
            actions: For each slot the policy's text.

        Returns:
            For each slot, observation, reward, terminated, truncated and the info dict.

        Raises:
            ConfigurationError: An episode is not running, an action is not text, or the lengths
                differ.
        """
        return self._exchange.step(self._exchange.steps(slots, actions))

    def send_resets(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Start an episode in some slots without waiting; :meth:`receive` returns the results.

        The arguments are those of :meth:`reset_slots`. A slot accepts no further request until it
        has answered, and until all have answered the blocking methods cannot be used.

        Raises:
            ConfigurationError: An argument is invalid, or a slot has not answered yet.
        """
        self._exchange.send(self._exchange.resets(slots, seeds, options))

    def send_slots(self, slots: Sequence[int], actions: Sequence[str]) -> None:
        """Take one turn in some slots without waiting; :meth:`receive` returns the results.

        Slots that are sent together and run in the same thread or worker are prepared together
        (see ``TextEnv.prepare``).

        Args:
            slots: Slot numbers, each at most once.
            actions: For each slot the policy's text.

        Raises:
            ConfigurationError: An episode is not running, an action is not text, the lengths
                differ, or a slot has not answered yet.
        """
        self._exchange.send(self._exchange.steps(slots, actions))

    def send_snapshots(self, slots: Sequence[int]) -> None:
        """Fork the episodes of some slots without waiting; :meth:`receive` returns the snapshots.

        Raises:
            ConfigurationError: A slot does not exist, or has not answered yet.
        """
        self._exchange.check(slots)
        self._exchange.send(EnvCalls(slots, [EnvCall(SNAPSHOT)] * len(slots)))

    def send_restores(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> None:
        """Continue forked episodes in some slots without waiting; see :meth:`receive`.

        Raises:
            ConfigurationError: An argument is invalid, or a slot has not answered yet.
        """
        self._exchange.send_restores(slots, snapshots)

    def receive(self, timeout: float | None = None) -> list[tuple[int, Answer]]:
        """Return the available answers to the requests that were sent.

        Time limits are enforced here: this call abandons environments that hang.

        Args:
            timeout: Seconds to wait for the first answer; None waits until there is one.

        Returns:
            For each slot that has answered, its number and the result that :meth:`reset_slots`,
            :meth:`step_slots`, :meth:`snapshot_slots` (None if the environment failed) or
            :meth:`restore_slots` returns for it; empty after the timeout, or if no request is
            pending.

        Raises:
            ConfigurationError: A reset option is unknown, or a snapshot does not fit. The slot
                counts as answered, and the next call returns the answers of the others.
            NotSupported: The family's engine has no snapshots; the same applies.
            TaskNotFound: A requested task does not exist; the same applies.
        """
        return self._exchange.receive(timeout)

    def abandon_slots(self) -> None:
        """Abandon all pending slots: their episodes are over, and a reset makes them usable."""
        self._exchange.abandon()

    def reset_groups(
        self,
        tasks: Sequence[Mapping[str, Any]],
        group_size: int,
        seed: int | None = None,
    ) -> list[Reset]:
        """Start groups of episodes that share one task and one seed.

        Group ``g`` uses the slots ``g * group_size`` to ``(g + 1) * group_size - 1``.

        Args:
            tasks: Reset options of each group; ``{}`` draws one task for the whole group.
            group_size: Members of each group.
            seed: Root of the groups' seeds; None draws one from ``np_random``.

        Returns:
            Observation and info of each used slot, in the order of slots.

        Raises:
            ConfigurationError: There are not enough slots, or an argument is of the wrong type.
            TaskNotFound: A requested task does not exist.
        """
        group_size, seed = integer(group_size, "group_size", 1), check_seed(seed)
        needed = len(tasks) * group_size
        if not 1 <= needed <= self.num_envs:
            raise ConfigurationError(
                f"expected groups that fill 1 to {self.num_envs} slots, got {len(tasks)} groups of "
                f"{group_size}; make the vector environment with num_envs={max(needed, 1)}"
            )
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        seeds = [derive_seed(seed, group) for group in range(len(tasks)) for _ in range(group_size)]
        options = [task for task in tasks for _ in range(group_size)]
        return self.reset_slots(range(needed), seeds, options)

    def snapshot_slots(self, slots: Sequence[int]) -> list[SlotSnapshot]:
        """Fork the episodes of some slots; any slot can restore the snapshots.

        Raises:
            NotSupported: The family's engine has no snapshots.
        """
        states = self.call_slots(slots, "snapshot")
        return [self._episodes[s].snapshot(state) for s, state in zip(slots, states, strict=True)]

    def restore_slots(self, slots: Sequence[int], snapshots: Sequence[SlotSnapshot]) -> list[Reset]:
        """Continue forked episodes in some slots.

        Args:
            slots: Slot numbers.
            snapshots: The snapshot of each slot.

        Returns:
            For each slot, the last observation and info of the fork.

        Raises:
            ConfigurationError: An entry is not a snapshot, or comes from an environment with other
                arguments; then no slot is restored.
            NotSupported: The family's engine has no snapshots.
            EnvFailure: An environment failed. Its slot is unchanged; the others are restored.
        """
        return self._exchange.restore(slots, snapshots)

    def call_slots(self, slots: Sequence[int], name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a method of some environments, or read an attribute.

        Args:
            slots: Slot numbers.
            name: Name of the method or attribute, found through wrappers.
            *args: Arguments of the method.
            **kwargs: Keyword arguments of the method.

        Returns:
            The value of each slot.

        Raises:
            EnvFailure: An environment hung or died in the call.
            Exception: An exception of the method.
        """
        self._exchange.check(slots)
        return self._exchange.values(slots, [EnvCall(name, args, kwargs)] * len(slots))

    # -- Gymnasium's methods ----------------------------------------------------------------------

    @cached_property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """Batched observation space, built on first use: it takes a copy per slot."""
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """Batched action space, built on first use."""
        return batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Start an episode in every slot, or in the slots of ``options["reset_mask"]``.

        Args:
            seed: One seed for each slot, or an integer ``s`` for ``s, s + 1, ...``.
            options: ``"reset_mask"``, a boolean array, selects slots; the rest are reset options
                of every environment.

        Returns:
            Observations of all slots, and the infos of the reset slots, as arrays.

        Raises:
            ConfigurationError: Mask, seeds or options are of the wrong type or length.
        """
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str):
            seeds = list(seed)
        else:
            seed = check_seed(seed)
            VectorEnv.reset(self, seed=seed)
            # The same seeds as in Gymnasium's own vector environments.
            seeds = [None if seed is None else seed + slot for slot in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigurationError(f"expected {self.num_envs} seeds, got {len(seeds)}")
        if not isinstance(options, Mapping | None):
            raise ConfigurationError(f"expected reset options as a dict, got {options!r:.80}")
        reset_options = dict(options or {})
        slots = masked_slots(reset_options.pop("reset_mask", None), self.num_envs)
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        results = self.reset_slots(
            slots, [seeds[slot] for slot in slots], [reset_options] * len(slots)
        )
        for slot, (_, info) in zip(slots, results, strict=True):
            infos[slot] = info
        return self._observations, batch(infos)

    def step(self, actions: Sequence[str]) -> Arrays:
        """Take one turn in every slot; ``autoreset_mode`` says how ended episodes are treated.

        Args:
            actions: One text for each slot.

        Returns:
            Observations, rewards, terminated, truncated (arrays) and infos as arrays.

        Raises:
            ResetNeeded: There was no reset yet.
            ConfigurationError: An action is missing or not text, or autoreset is disabled and an
                episode has ended.
        """
        if None in [episode.info for episode in self._episodes]:
            raise ResetNeeded("expected running episodes: call reset() before step()")
        if len(actions) != self.num_envs:
            raise ConfigurationError(f"expected {self.num_envs} actions, got {len(actions)}")
        finished: list[int] = []
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            finished = self._ended
        running = sorted(set(range(self.num_envs)).difference(finished))
        turns: list[Step | Idle] = [("", 0.0, False, False, None)] * self.num_envs
        results = self.step_slots(running, [actions[slot] for slot in running])
        for slot, result in zip(running, results, strict=True):
            turns[slot] = result
        _, rewards, terminated, truncated, step_infos = zip(*turns, strict=True)
        infos = list(step_infos)
        finals: dict[int, dict[str, Any]] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            finished = self._ended
            finals = {
                slot: {"final_obs": self._episodes[slot].observation, "final_info": infos[slot]}
                for slot in finished
            }
        for slot, (_, info) in zip(finished, self.reset_slots(finished), strict=True):
            infos[slot] = {**finals.get(slot, {}), **info}
        return (
            self._observations,
            np.array(rewards, dtype=np.float64),
            np.array(terminated, dtype=np.bool_),
            np.array(truncated, dtype=np.bool_),
            batch(infos),
        )

    def render(self) -> tuple[Any, ...]:
        """Render every environment."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute (see :meth:`call_slots`)."""
        return tuple(self.call_slots(range(self.num_envs), name, *args, **kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment; a list or tuple has one value for each slot."""
        listed = values if isinstance(values, list | tuple) else [values] * self.num_envs
        slots = range(self.num_envs)
        self._exchange.check(slots, values=listed)
        self._exchange.values(slots, [SetAttribute(name, value) for value in listed])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and stop the workers."""
        self._exchange.close()

    @property
    def _observations(self) -> tuple[str, ...]:
        return tuple([episode.observation for episode in self._episodes])

    @property
    def _ended(self) -> list[int]:
        return [slot for slot, episode in enumerate(self._episodes) if not episode.active]
