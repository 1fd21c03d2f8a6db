"""One environment in the caller's own thread, whose every failure is an ``EnvFailure``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from agentgym.errors import EnvFailure
from agentgym.vector.env_slots import CALLER_MISTAKES
from agentgym.vector.members import checked_reset, checked_step, raise_if_meant_for_us, words

logger = logging.getLogger(__name__)


class GuardedEnv(gymnasium.Wrapper[str, str, str, str]):
    """Turn whatever an environment raises into `EnvFailure`, which costs one episode and no more.

    What counts as a failure is what does in the slots of a vector environment: all that it raises,
    and what it returns that is no transition. A reset that is asked for the wrong thing, such as an
    unknown task, is the caller's mistake and passes through.
    """

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """That of the environment: the guard changes nothing of what is played."""
        return self.env.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Raises:
            EnvFailure: The environment failed.
        """
        with _as_env_failure(CALLER_MISTAKES):
            return checked_reset(self.env.reset(seed=seed, options=options))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Raises:
            EnvFailure: The environment failed.
        """
        with _as_env_failure():
            return checked_step(self.env.step(action))


@contextmanager
def _as_env_failure(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Raise what an environment raises as an `EnvFailure`, but for what may pass."""
    meant: tuple[type[Exception], ...] = (EnvFailure, *passing)
    try:
        yield
    except meant:
        raise
    except BaseException as error:
        raise_if_meant_for_us(error)
        logger.warning("an environment failed; its episode is broken", exc_info=error)
        raise EnvFailure(words(error)) from error
