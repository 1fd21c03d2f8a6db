"""The history from which an environment is restored after its worker died, kept short.

The parent keeps one :class:`History` for each episode: its reset, and all operations since. A
worker estimates with a :class:`Meter` how long a replay would take, and sends a checkpoint (a
snapshot of the environment) before that becomes long; the history before a checkpoint is dropped.
So a recovery takes a fraction of a second, regardless of the length of episodes and the number of
forks. Environments without snapshots are replayed from their reset.
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
    CallResult,
    EnvCall,
    Origin,
    SetAttribute,
    SlotFailure,
    SlotOperation,
    SlotRequest,
)

REPLAY_SECONDS = 0.1
"""Maximum duration of a replay since the last checkpoint, in seconds."""
REPLAY_OPERATIONS = 256
"""Maximum number of operations since the last checkpoint."""
CHEAP = 4.0
"""Before the next checkpoint, the replay must take at least this multiple of the time that the last
checkpoint took."""

READ_ONLY = frozenset(
    {"action_prompt", "get_wrapper_attr", "has_wrapper_attr", "demonstrator",
     "demonstrator_action", "oracle", "oracle_action", "potential", "render", "snapshot"}
)  # fmt: skip
"""Methods without side effects, which are not replayed."""


def forkable(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether ``snapshot()`` contains all state of an environment, including wrappers.

    Gymnasium's two default wrappers have no relevant state, nor do wrappers with a class attribute
    ``memoryless = True``; any other wrapper is assumed to have some.
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
    """All data needed to restore one environment."""

    origin: Origin
    """How to repeat the reset."""
    observation: str | None
    """The last observation, for comparison; None if the replay gives none."""
    operations: list[str | EnvCall | SetAttribute | Checkpoint] = field(default_factory=list)
    """Operations since the reset, in order: actions, calls and at most one checkpoint."""

    def step(self, action: str, observation: str) -> None:
        """Record a step."""
        self.operations.append(action)
        self.observation = observation

    def call(self, call: EnvCall | SetAttribute, called: CallResult) -> None:
        """Record a call that may have changed the state."""
        if isinstance(call, EnvCall):
            if not called.method or call.name in READ_ONLY:
                return
            if call.name == "restore":
                self._forget()
                self.observation = None
        self.operations.append(call)

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Restart from a snapshot of the current state."""
        if self._forget():
            self.operations.append(checkpoint)
            self.observation = None

    def _forget(self) -> bool:
        """Drop the operations that a snapshot makes superfluous; return whether that is possible.

        Attributes set from outside are not part of a snapshot, so each is kept with its last value.
        """
        if not self.origin.forkable:
            return False
        attributes: dict[str, SetAttribute] = {}
        for operation in self.operations:
            if isinstance(operation, SetAttribute):
                attributes[operation.name] = operation
            elif isinstance(operation, EnvCall) and operation.name != "restore":
                return False  # an unknown method, which may have changed unknown state
        self.operations = list(attributes.values())
        return True


class Replays(SlotRequest[History, str | SlotFailure | None]):
    """Bring fresh environments to the states of others; the results are the last observations."""

    operation = SlotOperation.REPLAY


class Meter:
    """Estimates, in a worker, how long restoring its environments would take."""

    def __init__(self) -> None:
        self._seconds: defaultdict[int, float] = defaultdict(float)
        self._operations: defaultdict[int, int] = defaultdict(int)
        self._allowed: defaultdict[int, float] = defaultdict(lambda: REPLAY_SECONDS)
        self._busy: tuple[int, float] | None = None

    def begin(self, slot: int, operation: SlotOperation, current_time: float) -> None:
        """Record that an operation begins at a monotonic time, which ends the last one."""
        self.end(current_time)
        self._busy = slot, current_time
        if operation is SlotOperation.RESET:
            self._clear(slot)
            self._allowed[slot] = REPLAY_SECONDS
        self._operations[slot] += 1

    def end(self, current_time: float) -> None:
        """Record that no operation is running."""
        if self._busy is not None:
            slot, since = self._busy
            self._seconds[slot] += current_time - since
            self._busy = None

    def due(self, slot: int) -> bool:
        """Return whether a checkpoint is due."""
        return (
            self._seconds[slot] > self._allowed[slot] or self._operations[slot] > REPLAY_OPERATIONS
        )

    def saved(self, slot: int, seconds: float) -> None:
        """Record that taking a checkpoint, or trying to, took that many seconds."""
        self._clear(slot)
        self._allowed[slot] = max(REPLAY_SECONDS, CHEAP * seconds)

    def _clear(self, slot: int) -> None:
        self._seconds[slot], self._operations[slot] = 0.0, 0


def take_checkpoint(env: gymnasium.Env[Any, Any] | None) -> Checkpoint | None:
    """Take a snapshot of an environment; None if it has none."""
    if env is None or not forkable(env):
        return None
    try:
        snapshot = env.get_wrapper_attr("snapshot")()
        return Checkpoint(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL))
    except Exception:  # no snapshots, or no episode: a recovery then replays from the reset
        return None
