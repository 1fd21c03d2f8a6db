"""Decide whether the policy or the environment caused a failure in third-party code.

Adapters pass a policy's text to third-party environments and scorers, which may raise on it. If
every such episode counted as broken, and so left the average, a policy could improve its score on
hard tasks by writing text that crashes the scorer. Hence one rule for all adapters,
`attribute_failure`: the environment is at fault only if it also fails on a neutral or known-good
action in the same state, or cannot be brought back to this state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

from agentgym.core.guard import raise_if_meant_for_us, words
from agentgym.core.outcome import Outcome, StopReason
from agentgym.errors import EnvFailure

logger = logging.getLogger(__name__)

FAILED_ACTION = "[the environment failed on this action, which ends the episode]"
"""Observation after a failure caused by the policy. The error message may contain the answer, so
it appears only in records."""
NEUTRAL_TEXTS = ("hello", "look", "1", "0", "a", "yes", "0 0", "0,0", "[0]", "{}", "")
"""Actions to try if no known-good action is available."""


class ActionFailed(EnvFailure):
    """The environment answered an action with an error, or with an invalid result."""


class Trials(NamedTuple):
    """Actions to try in the state in which an environment failed."""

    actions: Sequence[Callable[[], object]]
    """Each executes one action, and raises if the environment fails on it."""
    known_good: bool
    """Whether some are known to be good; else all are guesses, such as `NEUTRAL_TEXTS`."""


def attribute_failure(
    failure: BaseException,
    restart: Callable[[], Trials],
    repeat: Callable[[], object] | None = None,
) -> str:
    """Return the reason of a failure that the policy caused; raise if the environment caused it.

    The policy is at fault if one of the other actions works in the same state. If all fail and none
    is known to be good, the environment is at fault only if all fail with the same error: an
    environment with different errors for "hello" and "1" reads its actions, so it is not down.

    Args:
        failure: What the environment raised on the policy's action.
        restart: Brings the environment back to the state before the action, and returns the actions
            to try there. Called before every trial, because a trial changes the state.
        repeat: Executes the policy's action in that state again. If a lost connection or process
            was the failure and the action works now, the environment is at fault.

    Returns:
        Type and message of the failure.

    Raises:
        EnvFailure: The environment is at fault.
    """
    raise_if_meant_for_us(failure)
    if _is_outage(failure) and repeat is not None and _error_of(repeat) is None:
        raise _env_failure(failure)
    symptoms = {_symptom(failure)}
    for number in count():
        try:
            trials = restart()
        except BaseException as error:
            raise_if_meant_for_us(error)
            raise _env_failure(failure) from error
        if number >= len(trials.actions):
            break
        error_of_trial = _error_of(trials.actions[number])
        if error_of_trial is None:
            return words(failure)
        symptoms.add(_symptom(error_of_trial))
    if len(symptoms) > 1 and not trials.known_good:
        return words(failure)
    raise _env_failure(failure)


def end_after_failure(
    failure: BaseException,
    action: str,
    step: Callable[[str], object],
    restart: Callable[[], Sequence[str]],
) -> Outcome:
    """Return the last outcome of an episode that the policy made fail; raise if it did not.

    An adapter of `attribute_failure` for engines whose admissible actions are known.

    Args:
        failure: What the engine raised on the policy's action.
        action: The action.
        step: Executes an action.
        restart: Brings the engine back to the state before the action; returns admissible actions.

    Raises:
        EnvFailure: The engine is at fault.
    """

    def trials() -> Trials:
        return Trials([partial(step, candidate) for candidate in restart()], known_good=True)

    def repeat() -> None:
        restart()
        step(action)

    return action_error(attribute_failure(failure, trials, repeat))


def action_error(reason: str, **details: object) -> Outcome:
    """Return the outcome that ends an episode because the environment failed on its action."""
    return Outcome(
        FAILED_ACTION,
        terminated=True,
        valid=False,
        stop_reason=StopReason.ACTION_ERROR,
        details={**details, "reason": reason},
    )


def _error_of(action: Callable[[], object]) -> BaseException | None:
    """Return what an action raises; None if it works."""
    try:
        action()
    except BaseException as error:
        raise_if_meant_for_us(error)
        return error
    return None


def _is_outage(error: BaseException) -> bool:
    """Return whether a failure is independent of the action: a connection, process or limit."""
    return isinstance(error, OSError | EnvFailure) and not isinstance(error, ActionFailed)


def _symptom(error: BaseException) -> str:
    """Return a text by which to compare failures.

    Messages of outages contain addresses and times, which vary, so all outages compare equal.
    """
    return "outage" if _is_outage(error) else words(error)


def _env_failure(failure: BaseException) -> EnvFailure:
    """Convert a failure to `EnvFailure`, and log its traceback."""
    if isinstance(failure, EnvFailure):
        return failure
    logger.warning("an environment failed; its episode is broken", exc_info=failure)
    env_failure = EnvFailure(words(failure))
    env_failure.__cause__ = failure
    return env_failure
