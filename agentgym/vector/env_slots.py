"""A set of environments, each in a numbered slot, in which no failure reaches the caller.

All back ends run this one class, so that they agree on what a failure is and on what it leaves
behind: in process on all slots, on threads one job per slot, in a worker process on its share.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from agentgym.errors import ConfigurationError, DependencyNotInstalled, TaskNotFound
from agentgym.vector.history import Called, Origin, forkable, take_checkpoint
from agentgym.vector.members import checked_reset, checked_step, raise_if_meant_for_us, words

logger = logging.getLogger(__name__)

EnvFactory = Callable[[], gymnasium.Env[Any, Any]]
Mark = Callable[[int, str], None]

CALLER_MISTAKES = (ConfigurationError, TaskNotFound, DependencyNotInstalled)
"""Raised by a reset that was asked for the wrong thing; not failures of the environment."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An environment raised, hung or died; its episode is over."""

    text: str
    """What happened, in words."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """The caller asked for something impossible, and gets ``error``."""

    error: BaseException
    """The exception to raise."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a vector environment must know about its members before the first reset."""

    observation_space: gymnasium.Space[Any]
    """Observation space of each member."""
    action_space: gymnasium.Space[Any]
    """Action space of each member."""
    metadata: dict[str, Any]
    """Metadata of the first member."""
    render_mode: str | None
    """Render mode of the first member."""

    def agree(self, other: Description) -> None:
        """Check that another member can stand beside this one.

        Raises:
            ConfigurationError: The spaces differ.
        """
        ours = (self.observation_space, self.action_space)
        theirs = (other.observation_space, other.action_space)
        if ours != theirs:
            raise ConfigurationError(
                f"expected environments with equal spaces, got {ours} and {theirs}; "
                "put environments of different spaces into different vector environments"
            )


@dataclass(frozen=True, slots=True)
class Spec:
    """A picklable factory of a registered environment, which needs no registry to be called."""

    spec: Any
    """The ``gymnasium.envs.registration.EnvSpec``."""
    kwargs: Mapping[str, Any]
    """Keyword arguments of ``gymnasium.make``."""

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Make the environment; its checker is off unless asked for, as it costs every step."""
        return gymnasium.make(self.spec, **{"disable_env_checker": True, **self.kwargs})


@dataclass(slots=True)
class Seat:
    """What sits in a slot.

    Giving up a hanging environment replaces its seat, so that the thread in which it hangs can do
    no harm to its successor when it comes back.
    """

    env: gymnasium.Env[Any, Any] | None = None
    """The environment; None after a failure, until the next reset."""
    rng: np.random.Generator | None = None
    """Random stream of a failed environment, for its successor."""

    def close(self) -> None:
        """Close the environment; one that cannot be closed is reported and left."""
        env, self.env = self.env, None
        if env is not None:
            try:
                env.close()
            except BaseException as error:
                raise_if_meant_for_us(error)
                logger.warning("an environment could not be closed", exc_info=True)


class Slots:
    """Environments by slot number.

    Args:
        factories: What makes the environment of each slot.
        mark: Called with slot and kind (``"step"``, ``"reset"`` or ``"call"``) before any
            environment code is entered.
        origins: Whether resets also return an :class:`~agentgym.vector.history.Origin`, and calls
            a :class:`~agentgym.vector.history.Called`.

    Raises:
        ConfigurationError: The environments have different spaces.
    """

    def __init__(
        self, factories: Mapping[int, EnvFactory], mark: Mark | None = None, origins: bool = False
    ) -> None:
        self._factories = dict(factories)
        self._mark = mark
        self._origins = origins
        self._seats: dict[int, Seat] = {}
        self._methods: dict[str, Callable[[int, Any], Any]] = {
            "step": self.step,
            "reset": self.reset,
            "call": self.call,
            "replay": self.replay,
        }
        try:
            for slot, factory in self._factories.items():
                self._seats[slot] = Seat(factory())
            self.description = self._describe()
        except BaseException:
            self.close()
            raise

    def run(self, kind: str, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Do one kind of thing in several slots, one after the other.

        Args:
            kind: ``step``, ``reset``, ``call`` or ``replay``.
            slots: Slot numbers.
            args: For each slot the argument of the method of that name.

        Returns:
            For each slot the result, a :class:`Failure` or a :class:`Mistake`.
        """
        method = self._methods[kind]
        return [method(slot, arg) for slot, arg in zip(slots, args, strict=True)]

    def step(self, slot: int, action: str) -> Any:
        """Step one environment."""
        if self._mark is not None:
            self._mark(slot, "step")
        seat = self._seats[slot]
        if seat.env is None:
            return Failure("the environment failed earlier and has not been reset since")
        try:
            return checked_step(seat.env.step(action))
        except BaseException as error:
            return _fail(slot, seat, error)

    def reset(self, slot: int, arg: tuple[Any, Mapping[str, Any] | None]) -> Any:
        """Reset one environment, which is made anew if it failed before.

        Args:
            slot: Slot number.
            arg: Seed (or the state of a bit generator to continue from) and reset options.

        Returns:
            Observation and info; with ``origins`` also what repeats the reset.
        """
        if self._mark is not None:
            self._mark(slot, "reset")
        seed, options = arg
        seat = self._seats[slot]
        try:
            env = seat.env or self._renew(slot, seat)
            if isinstance(seed, dict):
                env.unwrapped.np_random.bit_generator.state = seed
                seed = None
            origin = seed
            if self._origins and seed is None:
                origin = dict(env.unwrapped.np_random.bit_generator.state)
            options = None if options is None else dict(options)
            began = checked_reset(env.reset(seed=seed, options=options))
        except CALLER_MISTAKES as error:
            return Mistake(error)
        except BaseException as error:
            return _fail(slot, seat, error)
        return (*began, Origin(origin, forkable(env))) if self._origins else began

    def call(self, slot: int, arg: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
        """Call a method of one environment, or read an attribute.

        ``arg`` is name, positional and keyword arguments; the name ``__setattr__`` sets one.
        """
        if self._mark is not None:
            self._mark(slot, "call")
        name, args, kwargs = arg
        seat = self._seats[slot]
        try:
            env = seat.env or self._renew(slot, seat)
            method = env.set_wrapper_attr if name == "__setattr__" else env.get_wrapper_attr(name)
            value = method(*args, **kwargs) if callable(method) else method
        except BaseException as error:
            raise_if_meant_for_us(error)
            return Mistake(error)
        return Called(value, callable(method)) if self._origins else value

    def checkpoint(self, slot: int) -> bytes | None:
        """Return a pickled snapshot of one environment, or None where it has none."""
        if self._mark is not None:
            self._mark(slot, "call")
        return take_checkpoint(self._seats[slot].env)

    def replay(self, slot: int, arg: tuple[Any, Any, Sequence[tuple[str, Any]]]) -> Any:
        """Bring a fresh environment to where another one was.

        Args:
            slot: Slot number.
            arg: Seed and options of the reset, and the operations since (see
                :class:`~agentgym.vector.history.History`).

        Returns:
            The last observation (None right after a checkpoint), or a :class:`Failure`.
        """
        seed, options, operations = arg
        result = self.reset(slot, (seed, options))
        if not isinstance(result, tuple):
            return Failure(f"could not repeat the reset: {result}")
        observation = result[0]
        for kind, value in operations:
            if kind == "step":
                result = self.step(slot, value)
                observation = result[0] if isinstance(result, tuple) else None
            else:
                if kind == "checkpoint":
                    value = ("restore", (pickle.loads(value),), {})
                result = self.call(slot, value)
                observation = None if value[0] == "restore" else observation
            if isinstance(result, Failure):
                return result
        return observation

    def discard(self, slot: int) -> Seat:
        """Give up an environment that is still busy elsewhere; the next reset makes a new one.

        Returns:
            The seat that was taken away, to be closed when the environment comes back.
        """
        seat, self._seats[slot] = self._seats[slot], Seat()
        return seat

    def close(self) -> None:
        """Close every environment."""
        for seat in self._seats.values():
            seat.close()

    def _renew(self, slot: int, seat: Seat) -> gymnasium.Env[Any, Any]:
        """Make the environment of a slot anew, with the random stream of its predecessor."""
        env = self._factories[slot]()
        if seat.rng is not None:
            env.unwrapped.np_random, seat.rng = seat.rng, None
        seat.env = env
        return env

    def _describe(self) -> Description:
        """Describe the first environment and check that the others agree with it."""
        found = [
            Description(env.observation_space, env.action_space, env.metadata, env.render_mode)
            for env in (seat.env for seat in self._seats.values())
            if env is not None
        ]
        for other in found[1:]:
            found[0].agree(other)
        return found[0]


def _fail(slot: int, seat: Seat, error: BaseException) -> Failure:
    """Put a failed environment away, keep its random stream, and say what happened."""
    raise_if_meant_for_us(error)
    logger.warning("environment %d failed; its episode ends with 'error'", slot, exc_info=error)
    if seat.env is not None:
        with suppress(Exception):
            seat.rng = seat.env.unwrapped.np_random
    seat.close()
    return Failure(words(error))
