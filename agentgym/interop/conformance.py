"""Check that an environment behaves identically through all interfaces and for equal seeds.

Episodes are recorded once: by the demonstrator if there is one, with random admissible actions, and
with hostile text. The same actions are then replayed through every interface; observations,
rewards, ends and failures must be equal, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.outcome import bounded
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure, NotSupported
from agentgym.interop.conformance_interfaces import (
    CALLS,
    INTERFACES,
    Made,
    ScriptedPlay,
    Turn,
    as_calls,
    begin,
    make,
    take,
)
from agentgym.registration.making import env_name, resolve
from agentgym.support.guesses import with_guesses

__all__ = ["INTERFACES", "Conformance", "InterfaceResult", "conform", "digest"]

HOSTILE = ("", "lone \ud800, NUL \x00 <think> </tool_call> 😀 \u202e " + "x" * 9000, "]]]}}{{((")
"""Texts that no environment can parse."""
SHOWN = 120
"""Maximum number of characters of an observation in a report."""


@dataclass(frozen=True)
class InterfaceResult:
    """The result of an interface."""

    interface: str
    """Its name, one of `INTERFACES`."""
    equal: int
    """Number of equal episodes."""
    n: int
    """Number of episodes; 0 if the interface cannot be tried here."""
    difference: str = ""
    """The first difference, or why the interface cannot be tried."""

    @property
    def passed(self) -> bool:
        """Whether all episodes were equal."""
        return self.equal == self.n


@dataclass(frozen=True)
class Conformance:
    """Result of `conform`."""

    env: str
    """Name of the environment, in the form of `agentgym.registration.making.env_name`."""
    expert: bool
    """Whether a demonstrator played."""
    failed: int
    """Number of episodes with a failed environment; all interfaces must report the failure."""
    sha256: str
    """Hash of observations, rewards and ends."""
    interfaces: tuple[InterfaceResult, ...]
    """The result of each interface."""

    @property
    def passed(self) -> bool:
        """Whether all interfaces agreed."""
        return all(interface.passed for interface in self.interfaces)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "passed": self.passed}


def conform(
    env: str,
    *,
    split: str = "test",
    num_tasks: int = 12,
    seed: int = 0,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    interfaces: Sequence[str] = tuple(INTERFACES),
    on_interface: Callable[[InterfaceResult], None] = lambda result: None,
) -> Conformance:
    """Replay the same episodes through every interface and compare them.

    Args:
        env: A short name such as ``webshop``, an id, ``MODULE:ID`` or ``PREFIX:NAME``.
        split: Split of the tasks.
        num_tasks: Number of tasks, at most the split's size; a third each for demonstrator, random
            actions and hostile text.
        seed: Seed of the panel, the episodes and the random actions.
        horizon: Turn budget; None: the environment's own.
        env_kwargs: Arguments of the environment.
        interfaces: Names of interfaces in `INTERFACES`.
        on_interface: Called after each interface.

    Raises:
        ConfigurationError: The environment does not exist, or an argument is wrong.
    """
    if unknown := [interface for interface in interfaces if interface not in INTERFACES]:
        raise ConfigurationError(
            f"expected interfaces of {', '.join(INTERFACES)}, got "
            f"{with_guesses(unknown, list(INTERFACES))}"
        )
    kwargs = dict(env_kwargs or {})
    with closing(make(env, kwargs)) as text_env:
        tasks = text_env.tasks
        count = min(integer(num_tasks, "num_tasks", 1), tasks.len(tasks.check(split)))
        ids = tasks.panel(split, count, seed).ids
        episodes = [
            _first(text_env, task_id, seed + k, k, horizon) for k, task_id in enumerate(ids)
        ]
    plays, expected = [play for play, _, _ in episodes], [turns for _, turns, _ in episodes]
    results = []
    for interface in interfaces:
        results.append(_compared(interface, (env, kwargs), plays, expected))
        on_interface(results[-1])
    named = resolve(env)
    return Conformance(
        env_name(named.id, {**named.kwargs, **kwargs}),
        any(expert for _, _, expert in episodes),
        sum(bool(turns[-1][3]) for turns in expected),
        digest(expected),
        tuple(results),
    )


def digest(episodes: Sequence[Sequence[Turn]]) -> str:
    """Return one hash of the turns of episodes; the texts of errors are not hashed."""
    plain_turns = [[(*turn[:3], bool(turn[3])) for turn in turns] for turns in episodes]
    return hashlib.sha256(json.dumps(plain_turns).encode()).hexdigest()


# -- playing ---------------------------------------------------------------------------------------


def _first(
    env: TextEnv, task_id: str, seed: int, number: int, horizon: int | None
) -> tuple[ScriptedPlay, list[Turn], bool]:
    """Play a task for the first time; return what was done, what came, and if an expert played."""
    rng = np.random.Generator(np.random.PCG64(seed))
    guarded = GuardedEnv(env)
    actions: list[str] = []
    expert = False
    turn, info = begin(guarded, ScriptedPlay(task_id, seed, horizon, ()))
    turns = [turn]
    while not turns[-1][2]:
        offered = info.get("admissible_actions") or ()
        action = _expert(guarded) if number % 3 == 0 else None
        expert = expert or action is not None
        if number % 3 == 2 and len(actions) < len(HOSTILE):
            action = HOSTILE[len(actions)]
        if action is None:
            action = str(offered[int(rng.integers(len(offered)))]) if offered else HOSTILE[2]
        actions.append(action)
        turn, info = take(guarded, action)
        turns.append(turn)
    return ScriptedPlay(task_id, seed, horizon, tuple(actions)), turns, expert


def _expert(env: GuardedEnv) -> str | None:
    try:
        return env.oracle_action()
    except (NotSupported, EnvFailure):
        return None


# -- comparing -------------------------------------------------------------------------------------


def _compared(
    interface: str,
    environment: Made,
    plays: Sequence[ScriptedPlay],
    right: Sequence[Sequence[Turn]],
) -> InterfaceResult:
    """Play through an interface and compare."""
    try:
        if interface in CALLS:
            plays, right = as_calls(*environment, plays)
        actual = INTERFACES[interface](*environment, plays)
    except (AgentGymError, OSError, ValueError, subprocess.SubprocessError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return InterfaceResult(interface, 0, 0, f"not tried: {bounded(reason, 3 * SHOWN)}")
    differences = [
        _difference(play, turns, expected)
        for play, turns, expected in zip(plays, actual, right, strict=True)
    ]
    real = [difference for difference in differences if difference]
    return InterfaceResult(interface, len(plays) - len(real), len(plays), real[0] if real else "")


def _difference(play: ScriptedPlay, actual: Sequence[Turn], expected: Sequence[Turn]) -> str:
    """Say where two episodes differ first; empty if they do not."""
    for number, (actual_turn, expected_turn) in enumerate(zip(actual, expected, strict=False)):
        # That both fail is the same; in which words they do so is not compared.
        failed = (
            (expected_turn[3], actual_turn[3])
            if bool(actual_turn[3]) != bool(expected_turn[3])
            else ("", "")
        )
        parts = {
            "failure": failed,
            "observation": (expected_turn[0], actual_turn[0]),
            "reward": (expected_turn[1], actual_turn[1]),
            "end": (expected_turn[2], actual_turn[2]),
        }
        for aspect, (then, later) in parts.items():
            if then != later:
                place = f"{play.task_id}, turn {number}, {aspect}"
                return f"{place}: {' then '.join(_quote_difference(then, later))}"
    if len(actual) != len(expected):
        return f"{play.task_id}: {len(expected) - 1} turns, then {len(actual) - 1}"
    return ""


def _quote_difference(then: object, later: object) -> tuple[str, str]:
    """Return two values that differ, texts from shortly before the place where they do."""
    if not isinstance(then, str) or not isinstance(later, str):
        return repr(then), repr(later)
    pairs = enumerate(zip(then, later, strict=False))
    first_difference = next((k for k, (a, b) in pairs if a != b), min(len(then), len(later)))
    start = max(0, first_difference - SHOWN // 4)
    ellipsis = "..." if start else ""
    return (
        repr(ellipsis + bounded(then[start:], SHOWN)),
        repr(ellipsis + bounded(later[start:], SHOWN)),
    )
