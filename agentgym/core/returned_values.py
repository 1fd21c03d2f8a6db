"""Validation of the values that the methods of a family return.

`TextEnv` calls these functions only after a cheap check has failed, so that valid turns cost almost
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from agentgym.core.outcome import Outcome, named_reason
from agentgym.errors import EnvFailure

ROUNDING = 1e-9
"""Tolerance for scores outside of [0, 1], which sums of fractions may exceed."""
_NUMBERS = (int, float, np.integer, np.floating)
_OUTCOME = "Outcome(observation, reward=..., terminated=..., success=..., score=...)"
_GYMNASIUM = "; TextEnv.step makes the five values of Gymnasium out of it"


def checked_text(owner: object, method: str, value: object) -> str:
    """Validate and return a text from a method of a family.

    Raises:
        EnvFailure: The value is not text.
    """
    if isinstance(value, str):
        return value
    hint = "; TextEnv.reset adds the info dict" if isinstance(value, tuple) else ""
    raise EnvFailure(_sentence(owner, method, "return a str", value) + hint)


def checked_number(owner: object, method: str, value: object) -> float:
    """Validate and return a number from a method of a family.

    Raises:
        EnvFailure: The value is not a finite number.
    """
    if isinstance(value, _NUMBERS) and math.isfinite(value):
        return float(value)
    raise EnvFailure(_sentence(owner, method, "return a finite number", value))


def checked_outcome(owner: object, outcome: object) -> Outcome:
    """Validate the outcome of a turn and return it with its score clipped to [0, 1].

    Raises:
        EnvFailure: The value is not an outcome, or one of its fields is invalid.
    """
    if not isinstance(outcome, Outcome):
        hint = _GYMNASIUM if isinstance(outcome, tuple) else ""
        raise EnvFailure(_sentence(owner, "_act", f"return an {_OUTCOME}", outcome) + hint)
    if not isinstance(outcome.observation, str):
        raise _wrong_value(owner, "observation", "a str", outcome.observation)
    if not (isinstance(outcome.reward, _NUMBERS) and math.isfinite(outcome.reward)):
        raise _wrong_value(owner, "reward", "a finite number", outcome.reward)
    score = outcome.score
    if score is not None:
        if not (isinstance(score, _NUMBERS) and -ROUNDING <= score <= 1 + ROUNDING):
            raise _wrong_value(
                owner, "score", "a number from 0 to 1, or None where it stays as it was", score
            )
        outcome.score = min(1.0, max(0.0, float(score)))
    if outcome.terms:
        checked_terms(owner, outcome.terms)
    if outcome.details:
        checked_details(owner, outcome.details)
    named_reason(outcome.stop_reason)
    return outcome


def checked_terms(owner: object, terms: object) -> dict[str, float]:
    """Validate and return the named parts of a reward.

    Raises:
        EnvFailure: The value is not a mapping of names to finite numbers.
    """
    if isinstance(terms, Mapping) and all(
        isinstance(name, str) and isinstance(value, _NUMBERS) and math.isfinite(value)
        for name, value in terms.items()
    ):
        return dict(terms)
    raise _wrong_value(owner, "terms", "a mapping of names to finite numbers", terms)


def checked_details(owner: object, details: Any) -> dict[str, Any]:
    """Validate the facts about a turn and return those that are known.

    A fact that is None is left out: an entry of ``info`` that changed its type from turn to turn
    would break Gymnasium's vector environments, which give an entry that is missing a mask.

    Raises:
        EnvFailure: The value is not a mapping.
    """
    if isinstance(details, Mapping):
        return {key: value for key, value in details.items() if value is not None}
    raise _wrong_value(owner, "details", "a mapping of names to JSON-safe values", details)


def _wrong_value(owner: object, name: str, expected: str, value: object) -> EnvFailure:
    return EnvFailure(
        f"expected {name} of the Outcome that {type(owner).__name__}._act returns to be "
        f"{expected}, got {_describe_value(value)}"
    )


def _sentence(owner: object, method: str, expected: str, value: object) -> str:
    return f"expected {type(owner).__name__}.{method} to {expected}, got {_describe_value(value)}"


def _describe_value(value: object) -> str:
    """Describe a value: numbers and None by themselves, others by their types."""
    if value is None or isinstance(value, _NUMBERS):
        return repr(value)
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} values"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
