"""Model outputs reported by agents, in the token-count formats of common frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.policies.base import ModelOutput

FIELDS: Mapping[str, type] = {
    entry.name: int if entry.name.endswith("_tokens") else str
    for entry in fields(ModelOutput)
    if entry.name != "sampled"
}
"""Names and types of the reportable fields."""
PLACES: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "cached_tokens": (
        "cached_tokens", "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens", "input_token_details.cache_read", "cache_read_tokens",
    ),
    "reasoning_tokens": (
        "reasoning_tokens", "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens", "output_token_details.reasoning",
    ),
}  # fmt: skip
"""Paths of token counts in the usage of OpenAI's two protocols and of the frameworks; a dot
separates the keys of nested objects."""
HOLDERS = ("usage", "usage_metadata", "token_usage")
"""Attributes of a response that may hold its usage."""


def read_output(report: object = None, **details: Any) -> ModelOutput:
    """Convert an agent's report on a model response to a `ModelOutput`.

    Args:
        report: A `ModelOutput`; or a usage: an object or mapping with ``prompt_tokens`` and
            ``completion_tokens``, or ``input_tokens`` and ``output_tokens``; or a response with a
            usage under ``usage``, ``usage_metadata`` or ``token_usage``; or None.
        **details: Fields of `ModelOutput`, which override those of ``report``; None is ignored.

    Raises:
        ConfigurationError: ``report`` has none of these formats, or a field has an unknown name or
            a wrong type.
    """
    values = {name: value for name, value in details.items() if value is not None}
    for name, value in values.items():
        _check(name, value)
    if report is None:
        output = ModelOutput("")
    elif isinstance(report, ModelOutput):
        output = report
    else:
        output = _of_usage(report)
    return replace(output, **values)


def _check(name: str, value: object) -> None:
    if name not in FIELDS:
        raise ConfigurationError(
            f"expected fields of a model's answer among {', '.join(FIELDS)}, got {name!r}"
        )
    if not (_is_count(value) if FIELDS[name] is int else isinstance(value, str)):
        kind = "a number of at least 0" if FIELDS[name] is int else "text"
        raise ConfigurationError(f"expected {name} to be {kind}, got {value!r:.80}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _of_usage(report: object) -> ModelOutput:
    """Read token counts, and the model's name if the response contains it."""
    holders = (_at(report, name) for name in HOLDERS)
    usage = next((holder for holder in holders if holder is not None), report)
    counts: dict[str, Any] = {}
    for name, places in PLACES.items():
        numbers = (_at(usage, place) for place in places)
        counts[name] = next((number for number in numbers if _is_count(number)), None)
    if counts["prompt_tokens"] is None and counts["completion_tokens"] is None:
        raise ConfigurationError(
            "expected a ModelOutput, or token counts of a model's answer as prompt_tokens and "
            "completion_tokens (input_tokens and output_tokens), in an object, a mapping or as "
            f"keyword arguments; got {report!r:.80}"
        )
    model = _at(report, "model") or _at(report, "model_name")
    counts = {name: count or 0 for name, count in counts.items()}
    return ModelOutput("", model=model if isinstance(model, str) else "", **counts)


def _at(holder: Any, place: str) -> Any:
    """Return the value at a dotted path in an object or mapping, or None."""
    for name in place.split("."):
        holder = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    return holder
