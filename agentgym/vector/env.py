"""The vector environment: its constructors and its Gymnasium face."""

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

from agentgym.errors import ConfigurationError
from agentgym.options import check_seed
from agentgym.registration import family
from agentgym.vector import infos as _infos
from agentgym.vector.choice import make_backend
from agentgym.vector.env_slots import EnvFactory, Spec
from agentgym.vector.limits import Limits
from agentgym.vector.slot_api import RolloutFace

OPTIONS = ("backend", "workers", "step_timeout", "reset_timeout", "autoreset_mode")
"""Keyword arguments of :class:`TextVectorEnv`, told apart from those of its environments."""

Arrays = tuple[
    tuple[str, ...],
    npt.NDArray[np.float64],
    npt.NDArray[np.bool_],
    npt.NDArray[np.bool_],
    dict[str, Any],
]


class TextVectorEnv(RolloutFace, VectorEnv[tuple[str, ...], Sequence[str], npt.NDArray[Any]]):
    """Text environments in numbered slots, on one of three back ends.

    It has two faces on the same environments. The rollout face works on chosen slots and returns
    a list with one info dict for each (:meth:`reset_slots`, :meth:`step_slots`,
    :meth:`reset_groups`); the Gymnasium face (:meth:`reset`, :meth:`step`) works on all of them and
    returns arrays. The same seeds and actions give the same results on every back end with any
    number of workers.

    A failure costs one episode and never stops the run: when an environment raises anything,
    returns what is no transition, hangs beyond its time limit, or takes its worker process down,
    its episode ends with ``terminated=True``, reward 0, ``info["stop_reason"] == "error"`` and
    ``info["error"]``; the transitions of the others reach the caller as ever. When the reset itself
    fails, its info says so in the same way, and the next step of the slot ends the episode. The
    next reset of the slot makes a new environment. Only the caller's own mistakes are raised (a
    wrong reset option, a task that does not exist, an action that is not text), and what ends the
    program: Ctrl-C, and what a signal handler raises.

    Args:
        env_fns: One factory for each slot.
        backend: ``"inprocess"``, ``"thread"`` for environments that wait, or ``"process"`` for
            those that are heavy on the CPU or may crash.
        workers: Number of threads or processes; default: 32 threads or one process per CPU, and
            never more than there are slots.
        step_timeout: Seconds that one step of one environment may take. In process it has no
            effect; a thread is abandoned; a process is killed and replaced, and the other
            environments of that process are brought back to where they were: by a snapshot and
            their last actions, or, where the family or a wrapper allows no snapshots, by their
            reset and all actions since.
        reset_timeout: Seconds for a reset or a call; default: ten times ``step_timeout``.
        autoreset_mode: What :meth:`step` does with episodes that ended. ``DISABLED`` leaves them to
            ``reset(options={"reset_mask": ...})``. The rollout face never resets by itself.

    Raises:
        ConfigurationError: An argument is out of range, or the environments have different spaces.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvFactory],
        *,
        backend: str = "inprocess",
        workers: int | None = None,
        step_timeout: float | None = None,
        reset_timeout: float | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.DISABLED,
    ) -> None:
        if not env_fns:
            raise ConfigurationError("expected at least one environment, got none")
        if reset_timeout is None and step_timeout is not None:
            reset_timeout = 10 * step_timeout
        self.autoreset_mode = _autoreset(autoreset_mode)
        self.backend = backend
        limits = Limits(step_timeout, reset_timeout)
        super().__init__(make_backend(env_fns, backend, workers, limits), len(env_fns))
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
        """Make a vector environment of equal members; ``gymnasium.make_vec`` arrives here.

        Args:
            env: An id (``"agentgym/WebShop-v0"``), a short name (``"webshop"``) or a factory.
            num_envs: Number of slots.
            env_kwargs: Keyword arguments of the environment.
            **kwargs: Keyword arguments of this class (``backend``, ``workers``, ``step_timeout``,
                ``reset_timeout``, ``autoreset_mode``); all others are the environment's, too.

        Returns:
            The vector environment.

        Raises:
            ConfigurationError: ``num_envs`` is not positive, or a factory is given arguments.
        """
        options = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
        kwargs = {**(env_kwargs or {}), **kwargs}
        if num_envs < 1:
            raise ConfigurationError(f"expected num_envs of at least 1, got {num_envs}")
        if isinstance(env, str):
            env_id = env if "/" in env or ":" in env else family(env).id
            return cls([Spec(gymnasium.spec(env_id), kwargs)] * num_envs, **options)
        if kwargs:
            raise ConfigurationError(
                f"expected environment arguments only with an id, got {kwargs} with a factory; "
                "bind them with functools.partial"
            )
        return cls([env] * num_envs, **options)

    # -- the Gymnasium face ---------------------------------------------------------------------

    @cached_property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """Batched observation space, built when it is asked for: it costs a copy per slot."""
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        """Batched action space, built when it is asked for."""
        return batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Start an episode in every slot, or in those of ``options["reset_mask"]``.

        Args:
            seed: One seed for each slot, or an integer ``s`` for ``s, s + 1, ...``.
            options: ``"reset_mask"``, a boolean array, chooses slots; the rest are the reset
                options of every environment.

        Returns:
            Observations of all slots, and the infos of those that were reset, as arrays.

        Raises:
            ConfigurationError: Mask, seeds or options are of the wrong type, or do not fit the
                number of slots.
        """
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str):
            seeds = list(seed)
        else:
            seed = check_seed(seed)
            VectorEnv.reset(self, seed=seed)
            seeds = [None if seed is None else seed + slot for slot in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigurationError(f"expected {self.num_envs} seeds, got {len(seeds)}")
        if not isinstance(options, Mapping | None):
            raise ConfigurationError(f"expected reset options as a dict, got {options!r:.80}")
        rest = dict(options or {})
        slots = _masked(rest.pop("reset_mask", None), self.num_envs)
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        results = self.reset_slots(slots, [seeds[slot] for slot in slots], [rest] * len(slots))
        for slot, (_, info) in zip(slots, results, strict=True):
            infos[slot] = info
        return tuple(self._observations), _infos.batch(infos)

    def step(self, actions: Sequence[str]) -> Arrays:
        """Take one turn in every slot; ended episodes are treated as ``autoreset_mode`` says.

        Args:
            actions: One text for each slot.

        Returns:
            Observations, rewards, terminated, truncated (arrays) and infos as arrays.

        Raises:
            ResetNeeded: There was no reset yet.
            ConfigurationError: An action is missing or no text, or autoreset is disabled and an
                episode has ended.
        """
        if None in self._last:
            raise ResetNeeded("expected running episodes: call reset() before step()")
        if len(actions) != self.num_envs:
            raise ConfigurationError(f"expected {self.num_envs} actions, got {len(actions)}")
        ended: list[int] = []
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            ended = [slot for slot, active in enumerate(self._active) if not active]
        running = sorted(set(range(self.num_envs)).difference(ended))
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        results = self.step_slots(running, [actions[slot] for slot in running])
        for slot, result in zip(running, results, strict=True):
            _, rewards[slot], terminated[slot], truncated[slot], infos[slot] = result
        finals: dict[int, dict[str, Any]] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = [slot for slot, active in enumerate(self._active) if not active]
            finals = {
                slot: {"final_obs": self._observations[slot], "final_info": infos[slot]}
                for slot in ended
            }
        for slot, (_, info) in zip(ended, self.reset_slots(ended), strict=True):
            infos[slot] = {**finals.get(slot, {}), **info}
        return tuple(self._observations), rewards, terminated, truncated, _infos.batch(infos)

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
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: A list or tuple with one value for each slot, or one value for all.
        """
        listed = values if isinstance(values, list | tuple) else [values] * self.num_envs
        slots = range(self.num_envs)
        self._check(slots, values=listed)
        self._run_calls(slots, [("__setattr__", (name, value), {}) for value in listed])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and stop the workers."""
        self._open = False
        self._backend.close()

    def _draw_seed(self) -> int:
        return int(self.np_random.integers(2**31))


def _autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    """Read an autoreset mode."""
    names = {name: member for member in AutoresetMode for name in (member.value, member.name)}
    if isinstance(mode, AutoresetMode):
        return mode
    if mode not in names:
        raise ConfigurationError(
            f"expected autoreset_mode to be one of {', '.join(names)}; got {mode!r}"
        )
    return names[mode]


def _masked(mask: Any, num_envs: int) -> list[int]:
    """Return the slots that a reset mask chooses."""
    if mask is None:
        return list(range(num_envs))
    array = np.asarray(mask)
    if array.shape != (num_envs,) or array.dtype != np.bool_ or not array.any():
        raise ConfigurationError(
            f"expected options['reset_mask'] to be a boolean array of length {num_envs} with at "
            f"least one True, got {mask!r}"
        )
    return [int(slot) for slot in np.flatnonzero(array)]
