"""One environment in its own thread, process or actor, with the usual interface."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from agentgym.core.guard import GuardedExperts
from agentgym.core.language import Language
from agentgym.episodes.recorder import step_limit
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.vector.env import TextVectorEnv


class IsolatedEnv(GuardedExperts, gymnasium.Env[str, str]):
    """A text environment in which a crash or endless step ends only one episode.

    It is a vector environment of one slot; any failure is an ``EnvFailure``, and the next reset
    makes a new environment. Everything that an evaluation needs besides ``reset`` and ``step`` (the
    expert, and data for records) is passed through.

    Args:
        spec: Registration of the environment: ``env.spec`` of an environment that
            ``gymnasium.make`` returned.
        backend: ``"thread"``, ``"process"`` or ``"ray"``.
        step_timeout: Time limit of one step, in seconds; None is no limit.

    Raises:
        ConfigurationError: The environment has no spec, or one with wrappers.
    """

    def __init__(
        self, spec: EnvSpec | None, backend: str, step_timeout: float | None = None
    ) -> None:
        if spec is None or spec.additional_wrappers:
            raise ConfigurationError(
                f"expected an environment that gymnasium.make can make again for the back end "
                f"{backend!r}, got one without an id or with wrappers; give its id, or use "
                "backend='sync'"
            )
        self.spec = spec
        self._slot = TextVectorEnv.make(
            spec.id,
            1,
            env_kwargs={**spec.kwargs, **step_limit(spec)},
            backend=backend,
            workers=1,
            step_timeout=step_timeout,
        )
        self.observation_space = self._slot.single_observation_space
        self.action_space = self._slot.single_action_space
        # Fetched once: recorders only read the names, which never change.
        self.hooks = self._call("hooks")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Raises:
            EnvFailure: The environment failed or hung.
        """
        [(observation, info)] = self._slot.reset_slots([0], [seed], [options])
        _raise_failure(info)
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Raises:
            EnvFailure: The environment failed or hung.
        """
        [result] = self._slot.step_slots([0], [action])
        _raise_failure(result[4])
        return result

    @property
    def language(self) -> Language:
        """The grammar and the actions of the family."""
        language: Language = self._call("language")
        return language

    @property
    def spoken(self) -> Language:
        """The grammar and the actions of policies."""
        language: Language = self._call("spoken")
        return language

    @property  # type: ignore[misc]  # nobody sets it
    def np_random(self) -> np.random.Generator:
        """A copy of the environment's random generator in its current state."""
        generator: np.random.Generator = self._call("np_random")
        return generator

    @property
    def last_action(self) -> str | None:
        """The last action in the native grammar."""
        return self._call("last_action")

    def close(self) -> None:
        """Stop the thread, process or actor."""
        self._slot.close()

    def _answer(self, method: str) -> Any:
        return self._call(method)

    def _call(self, name: str) -> Any:
        return self._slot.call_slots([0], name)[0]


def _raise_failure(info: dict[str, Any]) -> None:
    if info["stop_reason"] == "error":
        raise EnvFailure(info["error"])
