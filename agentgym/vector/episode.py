"""The episode of one slot as the policy sees it, even if its environment failed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from agentgym.core.guard import Reset, Step
from agentgym.core.info import UNKNOWN
from agentgym.core.outcome import StopReason
from agentgym.vector.requests import Began, SlotFailure

RESET_ONLY = ("goal", "tools")
"""Keys that only the info of a reset has."""


@dataclass(frozen=True, slots=True)
class SlotSnapshot:
    """A forked episode of one slot, with the policy's last observation."""

    state: Any
    """Result of the environment's ``snapshot()``."""
    observation: str
    """Last observation."""
    info: dict[str, Any]
    """Last info."""
    active: bool
    """Whether the episode was running."""


@dataclass(slots=True)
class SlotEpisode:
    """The state of a slot between two requests."""

    active: bool = False
    """Whether the episode is running."""
    observation: str = ""
    """The last observation."""
    info: dict[str, Any] | None = None
    """The last info; None before the first reset."""
    failed_reset: SlotFailure | None = None
    """Why the reset failed; the first step repeats it and ends the episode."""
    seed: int | None = None
    """The last seed of the caller."""
    losses: int = 0
    """Number of times that the random stream was lost since that seed."""
    configuration: str | None = None
    """Fingerprint of the environment, computed on first use."""

    def next_seed(self, seed: int | None, stream_lost: bool) -> int | None:
        """Return the seed of a reset.

        If the random stream was lost, the seed is derived from the caller's last one, so that runs
        stay reproducible.
        """
        if seed is not None:
            self.seed, self.losses = seed, 0
            return seed
        if not stream_lost or self.seed is None:
            return None
        self.losses += 1
        return derive_seed(self.seed, self.losses)

    def begin(self, result: Began | SlotFailure, options: Mapping[str, Any] | None) -> Reset:
        """Record that an episode began, or that its reset failed."""
        if isinstance(result, SlotFailure):
            self.failed_reset = result
            self.observation = _observation(result.text)
            self.info = _failed_reset(result.text, options or {})
        else:
            self.failed_reset = None
            self.observation, self.info = result.observation, result.info
        self.active = True
        return self.observation, self.info

    def fail(self, failure: SlotFailure) -> Step:
        """Return the last turn of an episode with a failed environment."""
        text = (self.failed_reset or failure).text
        self.failed_reset = None
        return _observation(text), 0.0, True, False, _failed_step(text, self.info or {})

    def snapshot(self, state: Any) -> SlotSnapshot:
        """Fork the episode, with the snapshot ``state`` of its environment."""
        return SlotSnapshot(state, self.observation, dict(self.info or {}), self.active)

    def restore(self, snapshot: SlotSnapshot) -> None:
        """Record that the episode continues from a snapshot."""
        self.active, self.failed_reset = snapshot.active, None
        self.observation, self.info = snapshot.observation, snapshot.info

    @property
    def broken(self) -> bool:
        """Whether the slot may lack an environment to restore a snapshot into."""
        return self.info is None or self.info.get("stop_reason") == StopReason.ERROR.value


def derive_seed(*parts: int) -> int:
    """Mix non-negative integers into one seed, the same on every machine."""
    # SeedSequence hashes the parts; adding them would give neighbouring episodes equal seeds.
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def _observation(error: str) -> str:
    """Return the text that replaces an observation if the environment failed."""
    return f"error: {error}"


def _failed_reset(error: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the info of an episode that could not begin, with the keys of the contract."""
    horizon = options.get("horizon")
    return {
        "task_id": str(options.get("task_id") or ""),
        "split": str(options.get("split") or ""),
        "turn": 0,
        "horizon": int(horizon) if isinstance(horizon, int | np.integer) else 0,
        **_ended(error),
        "score": 0.0,
        "state_key": "",
        "goal": "",
        "tools": [],
    }


def _failed_step(error: str, last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the info of the turn before, with the turn counted and the end marked."""
    info: dict[str, Any] = {}
    for key in [key for key in last if key not in RESET_ONLY]:
        with suppress(Exception):  # user-defined values may raise when they are copied
            info[key] = copy.deepcopy(last[key])
    turn = last.get("turn")
    info.update(_ended(error), turn=turn + 1 if isinstance(turn, int) else 1)
    if "oracle_action" in info:
        info["oracle_action"] = None
    return info


def _ended(error: str) -> dict[str, Any]:
    """Return the entries of the info that are the same for every failed turn."""
    return {
        "action_valid": False,
        "admissible_actions": [],
        "success": False,
        "reward_terms": {"task": 0.0},
        "stop_reason": StopReason.ERROR.value,
        "oracle_turns": UNKNOWN,
        "details": {},
        "trailing_text": "",
        "error": error,
    }
