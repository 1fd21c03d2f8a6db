"""The history from which an environment is brought back after its worker died, kept short.

The parent keeps one :class:`History` for each episode: how it began, and what happened since. A
worker measures with a :class:`Meter` how long repeating that would take, and sends a checkpoint (a
snapshot of the environment) when it would take long; all that lies before a checkpoint is
forgotten. So a recovery takes a fraction of a second, however long and however often forked the
episodes are. Environments without snapshots are repeated from their reset.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from agentgym.core.env import TextEnv
from agentgym.vector.requests import (
    Call,
    Called,
    Failure,
    Operation,
    Origin,
    SetAttribute,
    SlotRequest,
)

REPLAY_SECONDS = 0.1
"""Longest time that repeating what lies behind the last checkpoint may take."""
REPLAY_OPERATIONS = 256
"""Most operations that may lie behind the last checkpoint."""
CHEAP = 4.0
"""A checkpoint is taken if it costs at most this part of the time that it saves."""

READING = frozenset(
    {"action_prompt", "get_wrapper_attr", "has_wrapper_attr", "demonstrator",
     "demonstrator_action", "oracle", "oracle_action", "potential", "render", "snapshot"}
)  # fmt: skip
"""Methods that change nothing, and so need no repeating."""


def forkable(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether ``snapshot()`` holds all state of an environment, wrappers included.

    Gymnasium's two default wrappers remember nothing that counts, nor do those that say so by a
    class attribute ``memoryless = True``; of any other wrapper it is not known.
    """
    while isinstance(env, gymnasium.Wrapper):
        default = type(env) in (OrderEnforcing, PassiveEnvChecker)
        if not default and not getattr(type(env), "memoryless", False):
            return False
        env = env.env
    return isinstance(env, TextEnv)


class Checkpoint(NamedTuple):
    """A snapshot of an environment."""

    pickled: bytes
    """The snapshot, pickled."""


@dataclass(slots=True)
class History:
    """All that is needed to bring one environment back."""

    origin: Origin
    """How to repeat the reset."""
    observation: str | None
    """The last observation, to be compared; None where the repeated part gives none."""
    operations: list[str | Call | SetAttribute | Checkpoint] = field(default_factory=list)
    """What happened since, in order: actions, calls and at most one checkpoint."""

    def step(self, action: str, observation: str) -> None:
        """Note a step."""
        self.operations.append(action)
        self.observation = observation

    def call(self, call: Call | SetAttribute, called: Called) -> None:
        """Note a call that may have changed something."""
        if isinstance(call, Call):
            if not called.method or call.name in READING:
                return
            if call.name == "restore":
                self._forget()
                self.observation = None
        self.operations.append(call)

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Start anew from a snapshot of the present state."""
        if self._forget():
            self.operations.append(checkpoint)
            self.observation = None

    def _forget(self) -> bool:
        """Drop what a snapshot makes superfluous; return whether that is possible.

        Attributes that were set are no part of a snapshot and stay, each with its last value.
        """
        if not self.origin.forkable:
            return False
        attributes: dict[str, SetAttribute] = {}
        for operation in self.operations:
            if isinstance(operation, SetAttribute):
                attributes[operation.name] = operation
            elif isinstance(operation, Call) and operation.name != "restore":
                return False  # A method of which nothing is known.
        self.operations = list(attributes.values())
        return True


class Replays(SlotRequest[History, str | Failure | None]):
    """Bring fresh environments to where others were; the results are the last observations."""

    operation = Operation.REPLAY


class Meter:
    """Measure in a worker what it would cost to bring its environments back."""

    def __init__(self) -> None:
        self._seconds: defaultdict[int, float] = defaultdict(float)
        self._operations: defaultdict[int, int] = defaultdict(int)
        self._allowed: defaultdict[int, float] = defaultdict(lambda: REPLAY_SECONDS)
        self._busy: tuple[int, float] | None = None

    def begin(self, slot: int, operation: Operation, now: float) -> None:
        """Note at the monotonic time ``now`` that an operation begins, and the last one is over."""
        self.end(now)
        self._busy = slot, now
        if operation is Operation.RESET:
            self._clear(slot)
            self._allowed[slot] = REPLAY_SECONDS
        self._operations[slot] += 1

    def end(self, now: float) -> None:
        """Note that no operation runs any more."""
        if self._busy is not None:
            slot, since = self._busy
            self._seconds[slot] += now - since
            self._busy = None

    def due(self, slot: int) -> bool:
        """Return whether it is time for a checkpoint."""
        return (
            self._seconds[slot] > self._allowed[slot] or self._operations[slot] > REPLAY_OPERATIONS
        )

    def saved(self, slot: int, seconds: float) -> None:
        """Note that a checkpoint was taken, or tried, in that time."""
        self._clear(slot)
        self._allowed[slot] = max(REPLAY_SECONDS, CHEAP * seconds)

    def _clear(self, slot: int) -> None:
        self._seconds[slot], self._operations[slot] = 0.0, 0


def take_checkpoint(env: gymnasium.Env[Any, Any] | None) -> Checkpoint | None:
    """Take a snapshot of an environment; None where it has none."""
    if env is None or not forkable(env):
        return None
    try:
        snapshot = env.get_wrapper_attr("snapshot")()
        return Checkpoint(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL))
    except Exception:  # Not supported, or no episode: it is repeated from its reset then.
        return None
