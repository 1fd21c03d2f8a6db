"""Token ids and log-probabilities of an answer, where an endpoint returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ReturnedTokens", "read_tokens"]

LARGEST = 1 << 31
"""Bound of ids and of log-probabilities."""


class ReturnedTokens(NamedTuple):
    """The tokens of a request and of its answer."""

    prompt: list[int]
    """Ids that the model read."""
    ids: list[int]
    """Ids that it sampled."""
    logprobs: list[float]
    """Log-probability of each, in nats: SGLang's at the temperature and before the nucleus, vLLM's
    at temperature 1, unless it has ``--logprobs-mode processed_logprobs``."""


def read_tokens(answer: Mapping[str, Any], choice: Mapping[str, Any]) -> ReturnedTokens | None:
    """Read the tokens of a chat completion; None if any are missing or have other types.

    vLLM returns the ids as ``prompt_token_ids`` of the answer and ``token_ids`` of the choice,
    SGLang as ``prompt_token_ids`` and ``response_token_ids`` of the choice.
    """
    prompt: Any = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    ids: Any = choice.get("response_token_ids") or choice.get("token_ids")
    likely = choice.get("logprobs")
    entries = likely.get("content") if isinstance(likely, Mapping) else None
    if not (_are_ids(prompt) and _are_ids(ids) and isinstance(entries, list)):
        return None
    values: list[Any] = [
        entry.get("logprob") if isinstance(entry, Mapping) else None for entry in entries
    ]
    # A number in JSON may be too large for a float.
    logprobs = [float(v) for v in values if type(v) in (int, float) and abs(v) < LARGEST]
    is_whole = len(ids) == len(logprobs) == len(values)
    return ReturnedTokens(prompt, ids, logprobs) if is_whole else None


def _are_ids(value: Any) -> bool:
    """Whether a value is a list of token ids, at least one."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(v) is int and 0 <= v < LARGEST for v in value)
    )
