"""Validation of what environments return, and classification of what they raise.

Environments may be third-party code. A fault of one must cost only its own episode, and an invalid
transition must never reach the caller. `GuardedEnv` ensures this for one environment, the slots of
a vector environment for many.
"""

from __future__ import annotations

import logging
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import CodeType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from agentgym.core.info import Info
from agentgym.errors import (
    ConfigurationError,
    DependencyNotInstalled,
    EnvFailure,
    NotSupported,
    TaskNotFound,
)

logger = logging.getLogger(__name__)

ERROR_LENGTH = 2000
"""Maximum number of characters of an exception's text in records and messages."""
CALLER_MISTAKES = (ConfigurationError, TaskNotFound, DependencyNotInstalled)
"""Raised by a reset with wrong arguments; not failures of the environment."""
NO_EXPERT = (NotSupported, *CALLER_MISTAKES)
"""Raised by an unavailable expert; not failures of the environment."""
_NUMBERS = (int, float, np.integer, np.floating)
_FLAGS = (bool, np.bool_)

Reset = tuple[str, dict[str, Any]]
Step = tuple[str, float, bool, bool, dict[str, Any]]


def checked_reset(result: object) -> Reset:
    """Validate and return the result of ``reset``.

    Raises:
        EnvFailure: The result is not ``(str, dict)``.
    """
    if isinstance(result, tuple | list) and len(result) == 2:
        observation, info = result
        if isinstance(observation, str) and isinstance(info, dict):
            return observation, info
    raise EnvFailure(f"expected reset() to return (str, dict), got {_shape(result)}")


def checked_step(result: object) -> Step:
    """Validate the result of ``step`` and return it with built-in Python types.

    Raises:
        EnvFailure: The result is not ``(str, float, bool, bool, dict)``, or the reward is not
            finite.
    """
    if isinstance(result, tuple | list) and len(result) == 5:
        observation, reward, terminated, truncated, info = result
        # Nearly every step passes these exact type checks, which are faster than isinstance.
        if (
            type(observation) is str
            and type(reward) is float
            and -inf < reward < inf
            and type(terminated) is bool
            and type(truncated) is bool
            and type(info) in (Info, dict)
            and type(result) is tuple
        ):
            return result
        if (
            isinstance(observation, str)
            and isinstance(reward, _NUMBERS)
            and -inf < reward < inf
            and isinstance(terminated, _FLAGS)
            and isinstance(truncated, _FLAGS)
            and isinstance(info, dict)
        ):
            return observation, float(reward), bool(terminated), bool(truncated), info
    raise EnvFailure(
        "expected step() to return (str, a finite float, bool, bool, dict), got " + _shape(result)
    )


def _shape(result: object) -> str:
    """Describe a wrong return value by its types, and numbers by their values."""
    if not isinstance(result, tuple | list):
        return type(result).__name__
    parts = (repr(p) if isinstance(p, _NUMBERS) else type(p).__name__ for p in result[:8])
    return f"({', '.join(parts)})"


def raise_if_meant_for_us(error: BaseException) -> None:
    """Re-raise an exception that is not a failure of the environment.

    These are Ctrl-C and exceptions of signal handlers that end the program (such as ``SystemExit``
    at SIGTERM): Python raises them in the main thread, whatever code it runs. Everything else
    counts as the environment's failure, including ``asyncio.CancelledError`` and ``sys.exit()``.
    """
    if isinstance(error, Exception) or threading.current_thread() is not threading.main_thread():
        return
    # A signal handler and the environment can both raise SystemExit: the traceback shows which.
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    if isinstance(error, KeyboardInterrupt) or not handlers.isdisjoint(_codes(error)):
        raise error


def _code(handler: object) -> CodeType | None:
    """Return the code of a signal handler that is written in Python."""
    if not callable(handler):
        return None
    function = getattr(handler, "func", handler)  # unwrap functools.partial
    function = function if hasattr(function, "__code__") else type(function).__call__
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _codes(error: BaseException) -> Iterator[CodeType]:
    """Yield the code of every frame that an exception came through."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def words(error: BaseException) -> str:
    """Return the text of an exception, shortened; handles exceptions that cannot be formatted."""
    try:
        return f"{type(error).__name__}: {error}"[:ERROR_LENGTH]
    except Exception:
        return f"{type(error).__name__} (which cannot be shown)"


class GuardedExperts(ABC):
    """The expert and the potential of an environment, whose failures are `EnvFailure`."""

    @abstractmethod
    def _answer(self, method: str) -> Any:
        """Call a method of the environment."""

    def potential(self) -> float:
        """Return phi of the present state.

        Raises:
            EnvFailure: The environment failed.
        """
        with as_env_failure():
            return float(self._answer("potential"))

    def oracle_action(self) -> str | None:
        """Return the solver's next action, or None.

        Raises:
            EnvFailure: The environment failed.
            NotSupported: The family has no expert.
        """
        return self._expert_action("oracle_action")

    def demonstrator_action(self) -> str | None:
        """Return the demonstrator's next action, or None; raises as :meth:`oracle_action`."""
        return self._expert_action("demonstrator_action")

    def _expert_action(self, method: str) -> str | None:
        """Ask an expert of the environment."""
        with as_env_failure(NO_EXPERT):
            action: str | None = self._answer(method)
            return action


class GuardedEnv(GuardedExperts, gymnasium.Wrapper[str, str, str, str]):
    """Convert exceptions of an environment to `EnvFailure`, which costs only one episode.

    Failures are the same as in the slots of a vector environment: all exceptions, and invalid
    transitions. Errors of the caller, such as an unknown task in ``reset``, pass through, and so
    does the error of a missing expert. The methods that records and experts call between turns are
    guarded, too: they are reached by ``get_wrapper_attr`` instead of ``env.unwrapped``.
    """

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The spec of the environment, which the guard does not change."""
        return self.env.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Raises:
            EnvFailure: The environment failed.
        """
        with as_env_failure(CALLER_MISTAKES):
            return checked_reset(self.env.reset(seed=seed, options=options))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Raises:
            EnvFailure: The environment failed.
        """
        with as_env_failure():
            return checked_step(self.env.step(action))

    def _answer(self, method: str) -> Any:
        return self.env.get_wrapper_attr(method)()

    def close(self) -> None:
        """Close the environment; failures are logged."""
        try:
            self.env.close()
        except BaseException as error:
            raise_if_meant_for_us(error)
            logger.warning("an environment could not be closed", exc_info=True)


@contextmanager
def as_env_failure(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Convert exceptions to `EnvFailure`, except those that may pass."""
    expected: tuple[type[Exception], ...] = (EnvFailure, *passing)
    try:
        yield
    except expected:
        raise
    except BaseException as error:
        raise_if_meant_for_us(error)
        logger.warning("an environment failed; its episode is broken", exc_info=error)
        raise EnvFailure(words(error)) from error
