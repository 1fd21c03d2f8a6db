"""Check, argument by argument, that an environment equals the one a run was trained in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from agentgym.core.fingerprint import VIEWS, describe
from agentgym.core.options import arguments
from agentgym.errors import ConfigurationError
from agentgym.support.redaction import for_others, hide_secrets

__all__ = ["HARMLESS", "RunEnv", "check_env"]

HARMLESS = VIEWS | {"expert", "reward", "reward_hooks"}
"""Arguments that change neither observations, nor the effect of actions, nor the tasks of a split:
rewards, demonstrators, and the turn budget, for which the policy itself warns."""


@dataclass(frozen=True)
class RunEnv:
    """An environment of a run."""

    name: str
    """Its name among several; empty if the run has one."""
    env_id: str
    """Gymnasium id."""
    kwargs: Mapping[str, Any]
    """Its keyword arguments."""
    horizon: int
    """Turns of an evaluation episode."""
    prompt: str
    """Name of its prompt."""
    layout: Mapping[str, Any]
    """Layout of its messages, from ``agentgym.conversation.Layout.to_dict``."""


def check_env(
    path: str, run_envs: Sequence[RunEnv], env: gymnasium.Env[str, str], *, strict: bool
) -> tuple[RunEnv, list[str]]:
    """Compare an environment with those of a run.

    Args:
        path: The run, for messages.
        run_envs: Its environments.
        env: The environment to play.
        strict: Whether a difference is an error.

    Returns:
        The most similar environment of the run, and a sentence on the differences.

    Raises:
        ConfigurationError: The run has no such environment, and ``strict``.
    """
    spec = env.spec or env.unwrapped.spec
    if spec is None:
        remark = (
            f"the environment has no id, so it cannot be compared with that of {path}: make it "
            "with gymnasium.make"
        )
        return run_envs[0], [remark]
    matches = [run_env for run_env in run_envs if run_env.env_id == spec.id]
    if not matches:
        problem = (
            f"expected {' or '.join(dict.fromkeys(run_env.env_id for run_env in run_envs))}, in "
            f"which the policy of {path} was trained, got {spec.id}"
        )
        return run_envs[0], _judged(problem, strict)
    env_class: Any = type(env.unwrapped)
    defaults = arguments(env_class)
    compared = [
        (run_env, [*_differences(run_env.kwargs, spec.kwargs, defaults)]) for run_env in matches
    ]
    best, differences = min(compared, key=lambda pair: len(pair[1]))
    if not differences:
        return best, []
    differing = ", ".join(
        f"{name} was {was!r:.80} and is {value!r:.80}" for name, was, value in differences
    )
    flags = " ".join(f"{name}={_typed(was)}" for name, was, _ in differences)
    problem = (
        f"expected the environment of {path}, but {differing}; make it with the run's arguments "
        f"(at the terminal --env-kwargs {flags})"
    )
    return best, _judged(problem, strict)


def _judged(problem: str, strict: bool) -> list[str]:
    """Raise or return the difference."""
    if strict:
        raise ConfigurationError(f"{problem}, or pass mismatch=warn to play it anyway")
    return [problem]


def _differences(
    recorded: Mapping[str, Any], current: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Yield the arguments that differ, with both values; missing ones have their default."""
    for name in sorted({*recorded, *current} - HARMLESS):
        # Runs do not store secrets.
        values = (side.get(name, defaults.get(name)) for side in (recorded, current))
        old, new = (hide_secrets(for_others(value), name) for value in values)
        if describe(_plain_value(old)) != describe(_plain_value(new)):
            yield name, old, new


def _plain_value(value: object) -> object:
    """Return a value as a file of settings holds it: a path as text."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _typed(value: object) -> str:
    """Write a value as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
