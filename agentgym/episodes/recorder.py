"""A wrapper that writes each finished episode to a file."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentgym.episodes.facts import executed, generator_state, potential
from agentgym.episodes.records import Episode, State, Turn, append_episode, clean
from agentgym.errors import DISTRIBUTION, EnvFailure
from agentgym.rewards.table import hooks_to_json


class Recorder(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Appends every finished episode of a text environment to a JSONL file.

    Put it outside of wrappers that change rewards. An episode that is abandoned by a new reset is
    not written; one that ends, or does not even begin, because of an `EnvFailure` is, with stop
    reason ``error``.
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        path: str | Path | None,
        *,
        panel_sha256: str = "",
        policy: str = "",
    ) -> None:
        """Wrap an environment.

        Args:
            env: A text environment, wrapped or not.
            path: File to append to; None keeps only the :attr:`last` episode.
            panel_sha256: Hash of the panel that is played, if any.
            policy: Name of the policy.
        """
        RecordConstructorArgs.__init__(self, path=path, panel_sha256=panel_sha256, policy=policy)
        gymnasium.Wrapper.__init__(self, env)
        self.path = None if path is None else Path(path)
        self.last: Episode | None = None
        """The episode that ended last."""
        self._static = origin(env, panel_sha256=panel_sha256, policy=policy)
        self._open: Episode | None = None
        self._turns: list[Turn] = []
        self._note: dict[str, Any] = {}

    def annotate(
        self,
        raw_text: str | None = None,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
    ) -> None:
        """Say what the model did for the next action.

        Args:
            raw_text: The model's whole text.
            prompt_tokens: Tokens read.
            completion_tokens: Tokens written.
        """
        self._note = {
            "raw_text": None if raw_text is None else clean(raw_text),
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: As in the wrapped environment.
            options: As in the wrapped environment.

        Returns:
            Observation and info.

        Raises:
            EnvFailure: If the environment failed; the episode is written with reason ``error``.
        """
        rng = None if seed is not None else generator_state(self.env)
        asked = {key: plain(value) for key, value in (options or {}).items()}
        self._open, self._turns, self._note = None, [], {}
        unbegun = Episode(
            task_id=str(asked.get("task_id", "")),
            split=str(asked.get("split", "")),
            goal="",
            seed=None if seed is None else int(seed),
            rng=None if rng is None else plain(rng),
            options=asked,
            start=State("", 0.0, 0.0, ""),
            turns=(),
            stop_reason="",
            **self._static,
        )
        try:
            observation, info = self.env.reset(seed=seed, options=options)
        except EnvFailure as failure:
            self._open = unbegun
            self._finish("error", failure_details(str(failure)))
            raise
        self._open = replace(
            unbegun,
            task_id=info["task_id"],
            split=info["split"],
            goal=clean(info["goal"]),
            start=self._state(observation, info),
        )
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn, and write the episode if it ends.

        Args:
            action: As in the wrapped environment.

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            EnvFailure: If the environment failed; the episode is written with reason ``error``.
        """
        action = clean(action)  # what the record gives back, so that a replay is exact
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except EnvFailure as failure:
            self._finish("error", failure_details(str(failure), action))
            raise
        turn = Turn(
            action=action,
            executed=clean(executed(self.env, action)),
            after=self._state(observation, info),
            reward=float(reward),
            reward_terms=dict(info["reward_terms"]),
            action_valid=info["action_valid"],
            success=info["success"],
            terminated=terminated,
            truncated=truncated,
            **self._note,
        )
        self._turns.append(turn)
        self._note = {}
        if terminated or truncated:
            self._finish(info["stop_reason"], info["details"])
        return observation, float(reward), terminated, truncated, info

    def _finish(self, stop_reason: str, details: Mapping[str, Any]) -> None:
        if self._open is not None:
            self.last = replace(
                self._open,
                turns=tuple(self._turns),
                stop_reason=stop_reason,
                details=dict(details),
            )
            self._open = None
            if self.path is not None:
                append_episode(self.path, self.last)

    def _state(self, observation: str, info: Mapping[str, Any]) -> State:
        return state_of(observation, info, potential(self.env))


def state_of(observation: str, info: Mapping[str, Any], potential: float) -> State:
    """Return what is recorded of an environment between two turns.

    Args:
        observation: The text that the policy saw.
        info: The info that came with it.
        potential: Phi of the state.

    Returns:
        The state.
    """
    score = float(info["score"])
    return State(clean(observation), score, potential, info["state_key"], info["oracle_turns"])


def failure_details(error: str, action: str | None = None) -> dict[str, Any]:
    """Return the details of an episode whose environment failed.

    The turn in which it failed is no part of the record: it has no answer that could be replayed.

    Args:
        error: What failed.
        action: The action that was not answered; None if the episode did not even begin.

    Returns:
        JSON-safe details.
    """
    return {"error": error} if action is None else {"error": error, "unanswered_action": action}


def origin(
    env: gymnasium.Env[str, str], *, panel_sha256: str = "", policy: str = ""
) -> dict[str, Any]:
    """Return the fields of `Episode` that all episodes of an environment and a policy share.

    Args:
        env: The environment, with the wrappers that decide how an episode plays.
        panel_sha256: Hash of the panel that is played, if any.
        policy: Name of the policy.

    Returns:
        Keyword arguments of `Episode`: how the environment was made, as far as JSON can hold it,
        and the versions of the packages.
    """
    kwargs = dict(env.spec.kwargs) if env.spec else {}
    stored = {key: plain(value) for key, value in kwargs.items() if _is_json(value)}
    described = None if "reward_hooks" in stored else hooks_to_json(kwargs.get("reward_hooks"))
    held = {*stored, "reward_hooks"} if described is not None else set(stored)
    wrappers = [wrapper.name for wrapper in env.spec.additional_wrappers] if env.spec else []
    hooks = list(getattr(getattr(env.unwrapped, "hooks", None), "names", ()))
    layer: gymnasium.Env[str, str] = env
    while isinstance(layer, gymnasium.Wrapper):
        hooks += getattr(layer, "hook_names", ())
        layer = layer.env
    return {
        "env_id": env.spec.id if env.spec else type(env.unwrapped).__name__,
        "env_kwargs": stored,
        "hooks": tuple(hooks),
        "not_stored": tuple([key for key in kwargs if key not in held] + wrappers),
        "reward_hooks": described or (),
        "panel_sha256": panel_sha256,
        "policy": policy,
        "packages": package_versions(),
    }


def package_versions(*more: str) -> dict[str, str]:
    """Return the versions of what decides how an episode plays.

    Args:
        *more: Names of further packages.

    Returns:
        Package name to version.
    """
    versions = {"python": platform.python_version()}
    for name in (DISTRIBUTION, "gymnasium", "numpy", *more):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, default=_number, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def plain(value: Any) -> Any:
    """Copy a value as plain JSON types; numpy numbers become Python's."""
    return json.loads(json.dumps(value, default=_number))


def _number(value: Any) -> Any:
    """Turn numpy numbers into Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON-safe")
