"""Whether an environment is the one that a run's policy knows, argument by argument."""

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
"""Arguments that change neither what a policy reads, nor what its actions do, nor the tasks of a
split: rewards, demonstrators, and the turn budget, of which a policy speaks when it meets it."""


@dataclass(frozen=True)
class RunEnv:
    """An environment of a run."""

    name: str
    """What it is called among several; empty of a run with one."""
    env_id: str
    """Gymnasium id."""
    kwargs: Mapping[str, Any]
    """Its keyword arguments."""
    horizon: int
    """Turns of an evaluation episode."""
    prompt: str
    """What its prompt is called."""
    layout: Mapping[str, Any]
    """How the messages are laid out, as ``agentgym.conversation.Layout.to_dict`` gives it."""


def check_env(
    path: str, run_envs: Sequence[RunEnv], env: gymnasium.Env[str, str], *, strict: bool
) -> tuple[RunEnv, list[str]]:
    """Compare an environment with those of a run.

    Args:
        path: The run, for messages.
        run_envs: Its environments.
        env: The environment that is to be played.
        strict: Whether a difference is an error.

    Returns:
        The environment of the run that is most like it, and what is to be said of differences.

    Raises:
        ConfigurationError: The policy knows no such environment, and ``strict``.
    """
    spec = env.spec or env.unwrapped.spec
    if spec is None:
        remark = (
            f"the environment has no id, so it cannot be compared with that of {path}: make it "
            "with gymnasium.make"
        )
        return run_envs[0], [remark]
    same = [run_env for run_env in run_envs if run_env.env_id == spec.id]
    if not same:
        problem = (
            f"expected {' or '.join(dict.fromkeys(run_env.env_id for run_env in run_envs))}, in "
            f"which the policy of {path} was trained, got {spec.id}"
        )
        return run_envs[0], _judged(problem, strict)
    env_class: Any = type(env.unwrapped)
    defaults = arguments(env_class)
    compared = [
        (run_env, [*_differences(run_env.kwargs, spec.kwargs, defaults)]) for run_env in same
    ]
    best, differences = min(compared, key=lambda pair: len(pair[1]))
    if not differences:
        return best, []
    differing = ", ".join(
        f"{name} was {was!r:.80} and is {now!r:.80}" for name, was, now in differences
    )
    flags = " ".join(f"{name}={_typed(was)}" for name, was, _ in differences)
    problem = (
        f"expected the environment of {path}, but {differing}; make it with the run's arguments "
        f"(at the terminal --env-kwargs {flags})"
    )
    return best, _judged(problem, strict)


def _judged(problem: str, strict: bool) -> list[str]:
    """Raise or return what is amiss."""
    if strict:
        raise ConfigurationError(f"{problem}, or pass mismatch=warn to play it anyway")
    return [problem]


def _differences(
    before: Mapping[str, Any], now: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Yield the arguments that differ, with both values; what was not given has its default."""
    for name in sorted({*before, *now} - HARMLESS):
        # Of a run no secret is kept.
        values = (side.get(name, defaults.get(name)) for side in (before, now))
        old, new = (hide_secrets(for_others(value), name) for value in values)
        if describe(_plain(old)) != describe(_plain(new)):
            yield name, old, new


def _plain(value: object) -> object:
    """Return a value as a file of settings holds it: a path as text."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _typed(value: object) -> str:
    """Write a value as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
