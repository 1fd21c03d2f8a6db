"""Environments in numbered slots; failures are returned, never raised.

All back ends share this class, so that they agree on failures and their consequences: it runs in
the calling thread with all slots, on threads with one job per slot, or in a worker process with
its share of the slots.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from agentgym.core.env import TextEnv
from agentgym.core.guard import (
    CALLER_MISTAKES,
    Step,
    checked_reset,
    checked_step,
    raise_if_meant_for_us,
    words,
)
from agentgym.core.spaces import UnicodeText
from agentgym.errors import ConfigurationError
from agentgym.vector.history import Checkpoint, History, Replays, forkable, take_checkpoint
from agentgym.vector.requests import (
    ArgT,
    Began,
    CallResult,
    EnvCall,
    EnvCalls,
    Mistake,
    Origin,
    ResetArgs,
    Resets,
    ResultT,
    SetAttribute,
    SlotFailure,
    SlotOperation,
    SlotRequest,
    Steps,
)

logger = logging.getLogger(__name__)

EnvFactory = Callable[[], gymnasium.Env[Any, Any]]


@dataclass(frozen=True, slots=True)
class Description:
    """Spaces and metadata of the members of a vector environment, known before the first reset."""

    observation_space: gymnasium.Space[Any]
    """A space that holds the observations of each member."""
    action_space: gymnasium.Space[Any]
    """A space that holds the actions of each member."""
    metadata: dict[str, Any]
    """Metadata of the first member."""
    render_mode: str | None
    """Render mode of the first member."""

    def joined(self, other: Description) -> Description:
        """Merge with the description of another member; text spaces become as wide as the widest.

        Raises:
            ConfigurationError: Spaces other than text differ.
        """
        own_spaces = (self.observation_space, self.action_space)
        other_spaces = (other.observation_space, other.action_space)
        if own_spaces == other_spaces:
            return self
        texts = [
            (a, b)
            for a, b in zip(own_spaces, other_spaces, strict=True)
            if isinstance(a, UnicodeText) and isinstance(b, UnicodeText)
        ]
        if len(texts) < len(own_spaces):
            raise ConfigurationError(
                f"expected environments with equal spaces, or spaces of text, got {own_spaces} and "
                f"{other_spaces}; put environments of different spaces into different vector "
                "environments"
            )
        observation, action = (a.joined(b) for a, b in texts)
        return replace(self, observation_space=observation, action_space=action)


@dataclass(frozen=True, slots=True)
class Spec:
    """A picklable factory of a registered environment; calling it needs no registry."""

    spec: EnvSpec
    """Its registration."""
    kwargs: Mapping[str, Any]
    """Keyword arguments of ``gymnasium.make``."""

    def __call__(self) -> gymnasium.Env[Any, Any]:
        """Make the environment; its checker, which slows every step, is off by default."""
        return gymnasium.make(self.spec, **{"disable_env_checker": True, **self.kwargs})


@dataclass(slots=True)
class SlotState:
    """The environment of a slot, or its remains after a failure.

    If a hanging environment is abandoned, the whole state is replaced, so that its thread cannot
    affect the successor when it returns.
    """

    env: gymnasium.Env[Any, Any] | None = None
    """The environment; None after a failure, until the next reset."""
    rng: np.random.Generator | None = None
    """Random stream of a failed environment, for its successor."""

    def close(self) -> None:
        """Close the environment; if that fails, log it and continue."""
        # Forget it first: an environment whose close fails is not closed twice.
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
        factories: Factory of the environment of each slot.
        on_enter: Called with slot and operation before environment code runs.
        origins: Whether results of resets describe how to repeat them.

    Raises:
        ConfigurationError: The environments have different spaces other than text.
    """

    def __init__(
        self,
        factories: Mapping[int, EnvFactory],
        on_enter: Callable[[int, SlotOperation], None] | None = None,
        origins: bool = False,
    ) -> None:
        self._factories = dict(factories)
        self._on_enter = on_enter
        self._origins = origins
        self._states: dict[int, SlotState] = {}
        self._methods: dict[type[SlotRequest[Any, Any]], Callable[[int, Any], Any]] = {
            Steps: self.step,
            Resets: self.reset,
            EnvCalls: self.call,
            Replays: self.replay,
        }
        try:
            for slot, factory in self._factories.items():
                self._states[slot] = SlotState(factory())
            self.description = self._describe()
            # Determined once: walking through every member's wrappers would slow down every turn.
            self._prepared = any(_preparing(state.env) for state in self._states.values())
        except BaseException:
            self.close()
            raise

    def run(self, request: SlotRequest[ArgT, ResultT]) -> list[ResultT]:
        """Run a request, in one slot after the other."""
        if self._prepared and len(request.slots) > 1 and isinstance(request, Steps):
            self._prepare(request)
        method = self._methods[type(request)]
        return [method(slot, arg) for slot, arg in zip(request.slots, request.args, strict=True)]

    def step(self, slot: int, action: str) -> Step | SlotFailure:
        """Step one environment."""
        if self._on_enter is not None:
            self._on_enter(slot, SlotOperation.STEP)
        state = self._states[slot]
        if state.env is None:
            return SlotFailure("the environment failed earlier and has not been reset since")
        try:
            return checked_step(state.env.step(action))
        except BaseException as error:
            return _fail(slot, state, error)

    def _prepare(self, request: Steps) -> None:
        """Call ``prepare`` once per class, which batches external work of the members' steps.

        The time counts for the first member. A failure is only logged: each member then does its
        own work in its step.
        """
        if self._on_enter is not None:
            self._on_enter(request.slots[0], SlotOperation.STEP)
        members: dict[type[TextEnv[Any]], list[tuple[TextEnv[Any], str]]] = {}
        for slot, action in zip(request.slots, request.args, strict=True):
            env = self._states[slot].env
            if env is not None and _preparing(env):
                # _preparing has checked the type.
                inner = cast("TextEnv[Any]", env.unwrapped)
                members.setdefault(type(inner), []).append((inner, action))
        for kind, group in members.items():
            try:
                kind.prepare(group)
            except BaseException as error:
                raise_if_meant_for_us(error)
                logger.warning("%s could not prepare steps", kind.__name__, exc_info=True)

    def reset(self, slot: int, args: ResetArgs) -> Began | SlotFailure | Mistake:
        """Reset one environment; make a new one if it failed before."""
        if self._on_enter is not None:
            self._on_enter(slot, SlotOperation.RESET)
        state = self._states[slot]
        try:
            env = state.env or self._renew(slot, state)
            if args.rng_state is not None:
                env.unwrapped.np_random.bit_generator.state = args.rng_state
            # Before the reset, which draws from the random stream.
            origin = _origin(env, args) if self._origins else None
            # Copy: slots may share one dict of options, and an environment may modify it.
            options = None if args.options is None else dict(args.options)
            observation, info = checked_reset(env.reset(seed=args.seed, options=options))
            return Began(observation, info, origin)
        except CALLER_MISTAKES as error:
            return Mistake(error)
        except BaseException as error:
            return _fail(slot, state, error)

    def call(self, slot: int, call: EnvCall | SetAttribute) -> CallResult | Mistake:
        """Call a method of one environment, or read or set an attribute."""
        if self._on_enter is not None:
            self._on_enter(slot, SlotOperation.CALL)
        state = self._states[slot]
        try:
            env = state.env or self._renew(slot, state)
            if isinstance(call, SetAttribute):
                return CallResult(env.set_wrapper_attr(call.name, call.value), True)
            attribute = env.get_wrapper_attr(call.name)
            method = callable(attribute)
            return CallResult(attribute(*call.args, **call.kwargs) if method else attribute, method)
        except BaseException as error:
            raise_if_meant_for_us(error)
            return Mistake(error)

    def replay(self, slot: int, history: History) -> str | SlotFailure | None:
        """Bring a fresh environment to the state of a lost one, by its reset and its operations.

        Returns:
            The last observation; None directly after a checkpoint, which has none.
        """
        beginning = self.reset(slot, history.origin.args)
        if not isinstance(beginning, Began):
            return SlotFailure(f"could not repeat the reset: {beginning}")
        observation: str | None = beginning.observation
        env = self._states[slot].env
        if any(isinstance(operation, str) for operation in history.operations) and not getattr(
            env and env.unwrapped, "repeatable", True
        ):
            return SlotFailure("its actions are carried out once")
        for operation in history.operations:
            if isinstance(operation, str):
                result = self.step(slot, operation)
                if isinstance(result, SlotFailure):
                    return result
                observation = result[0]
                continue
            if isinstance(operation, Checkpoint):
                operation = EnvCall("restore", (pickle.loads(operation.pickled),))
            self.call(slot, operation)
            if isinstance(operation, EnvCall) and operation.name == "restore":
                observation = None
        return observation

    def checkpoint(self, slot: int) -> Checkpoint | None:
        """Return a pickled snapshot of one environment, or None if it has none."""
        if self._on_enter is not None:
            self._on_enter(slot, SlotOperation.CALL)
        return take_checkpoint(self._states[slot].env)

    def discard(self, slot: int) -> SlotState:
        """Abandon an environment that is busy in another thread; the next reset makes a new one.

        Returns the abandoned state, to be closed when the environment returns.
        """
        state, self._states[slot] = self._states[slot], SlotState()
        return state

    def close(self) -> None:
        """Close every environment."""
        for state in self._states.values():
            state.close()

    def _renew(self, slot: int, state: SlotState) -> gymnasium.Env[Any, Any]:
        """Make a new environment for a slot, with the random stream of its predecessor."""
        env = self._factories[slot]()
        if state.rng is not None:
            # Continue the stream, so that a failure does not change which tasks are drawn later.
            env.unwrapped.np_random, state.rng = state.rng, None
        state.env = env
        return env

    def _describe(self) -> Description:
        """Describe all environments: joined spaces, and the metadata of the first."""
        descriptions = [
            Description(env.observation_space, env.action_space, env.metadata, env.render_mode)
            for env in (state.env for state in self._states.values())
            if env is not None
        ]
        return reduce(Description.joined, descriptions)


def _preparing(env: gymnasium.Env[Any, Any] | None) -> bool:
    """Return whether an environment's class overrides ``TextEnv.prepare``."""
    inner = None if env is None else env.unwrapped
    return isinstance(inner, TextEnv) and "prepare" in _overridden(type(inner))


@cache
def _overridden(kind: type) -> frozenset[str]:
    """Return the names that a class and its bases below `TextEnv` define."""
    return frozenset(
        name for base in kind.__mro__[: kind.__mro__.index(TextEnv)] for name in vars(base)
    )


def _origin(env: gymnasium.Env[Any, Any], args: ResetArgs) -> Origin:
    """Return how to repeat a reset that is about to begin."""
    if args.seed is None:
        args = replace(args, rng_state=dict(env.unwrapped.np_random.bit_generator.state))
    return Origin(args, forkable(env))


def _fail(slot: int, state: SlotState, error: BaseException) -> SlotFailure:
    """Close a failed environment, keep its random stream, and return the failure."""
    raise_if_meant_for_us(error)
    logger.warning("environment %d failed; its episode ends with 'error'", slot, exc_info=error)
    if state.env is not None:
        with suppress(Exception):
            state.rng = state.env.unwrapped.np_random
    state.close()
    return SlotFailure(words(error))
