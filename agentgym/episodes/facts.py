"""What a record holds of an environment and the contract's info does not."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

FACTS = "record"
"""Key of ``info`` under which `RecordFacts` puts them."""


class RecordFacts(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Adds ``info["record"]``, so that an episode can be written down from what it returned.

    For episodes in the slots of a vector environment, where no `Recorder` stands beside the
    policy. The facts are ``potential`` (phi of the state, float) and ``executed`` (the action in
    the environment's own text; empty at a reset), and at a reset without seed ``rng`` (the state of
    ``np_random`` before it, as JSON text: its numbers are too large for arrays of numpy).

    Args:
        env: A text environment, wrapped or not.
    """

    memoryless = True
    """The vector environment may bring it back by a snapshot of what it wraps."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode, with its facts in the info."""
        before = {} if seed is not None else {"rng": json.dumps(generator_state(self.env))}
        observation, info = self.env.reset(seed=seed, options=options)
        info[FACTS] = {"potential": potential(self.env), "executed": "", **before}
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn, with its facts in the info."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        info[FACTS] = {"potential": potential(self.env), "executed": executed(self.env, action)}
        return observation, float(reward), terminated, truncated, info


def potential(env: gymnasium.Env[str, str]) -> float:
    """Return the family's potential phi of the present state."""
    unwrapped: Any = env.unwrapped
    return float(unwrapped.potential())


def executed(env: gymnasium.Env[str, str], action: str) -> str:
    """Return the last action in the environment's own text; ``action`` if it has no other."""
    text = getattr(env.unwrapped, "last_action", None)
    return action if text is None else str(text)


def generator_state(env: gymnasium.Env[str, str]) -> dict[str, Any]:
    """Return a copy of the state of ``np_random``'s bit generator."""
    state: Mapping[str, Any] = env.unwrapped.np_random.bit_generator.state
    return copy.deepcopy(dict(state))
