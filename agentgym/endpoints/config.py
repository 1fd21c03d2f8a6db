"""Settings of an endpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from agentgym.errors import ConfigurationError
from agentgym.support.redaction import public_url

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""Names of the limit on the length of a response."""
OWN_FIELDS = (
    *("messages", "model", "seed", "stream", "stream_options", "temperature", "tools", "top_p"),
    *LIMIT_NAMES,
)
"""Fields of a request's body that have their own settings."""


@dataclass(frozen=True)
class EndpointConfig:
    """A model at an OpenAI-compatible endpoint, its sampling, and limits of requests."""

    model: str
    """Name of the model at the endpoint."""
    base_url: str | None = field(default=None, repr=False)  # it may hold a password
    """URL of the endpoint up to ``/v1``; None: ``OPENAI_BASE_URL`` or OpenAI."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the API key. Keys are never read from arguments or files."""
    max_tokens: int = 4096
    """Maximum length of a response in tokens, including thinking: long enough for reasoning models,
    and a bound for responses that never end."""
    temperature: float | None = None
    """Sampling temperature; None: the endpoint's default."""
    top_p: float | None = None
    """Nucleus sampling: total probability of the tokens to sample from, in (0, 1]; None: the
    endpoint's default."""
    seed: int | None = None
    """Sampling seed, for endpoints that support it; also seeds the jitter of retries. A policy with
    an episode's seed (`ChatPolicy.seed`) sends a different seed in each episode and turn."""
    timeout: float = 120.0
    """Seconds to wait for a response; with `stream`, for its next part."""
    retries: int = 4
    """Retries, with exponential back-off, of failed connections, broken answers, 408, 409, 429 and
    5xx. A wait requested by the endpoint is respected, up to two minutes."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body."""
    stream: bool = False
    """Stream responses, which some endpoints and proxies require."""
    max_tokens_parameter: str = "auto"
    """Name under which `max_tokens` is sent: ``"max_tokens"``, ``"max_completion_tokens"``, or
    ``"auto"``, the first until the endpoint rejects it and then the second."""
    requests_per_minute: float | None = None
    """Maximum number of requests per minute, including retries, of a policy and its copies; None:
    no limit."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        if not self.model:
            raise ConfigurationError(
                "expected the name of a model at the endpoint, got an empty one: set model, "
                "for example --model Qwen/Qwen3-4B"
            )
        for name, low in (("max_tokens", 1), ("retries", 0), ("temperature", 0.0)):
            value = getattr(self, name)
            if value is not None and not low <= value < math.inf:
                raise ConfigurationError(f"expected {name} to be at least {low}, got {value}")
        for name in ("timeout", "requests_per_minute"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < math.inf:
                raise ConfigurationError(f"expected {name} to be greater than 0, got {value}")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise ConfigurationError(
                f"expected top_p to be greater than 0 and at most 1, got {self.top_p}"
            )
        if self.max_tokens_parameter not in ("auto", *LIMIT_NAMES):
            raise ConfigurationError(
                f"expected max_tokens_parameter to be one of auto, {', '.join(LIMIT_NAMES)}; got "
                f"{self.max_tokens_parameter!r}"
            )
        _check_extra(self.extra)
        if self.base_url is not None:
            _check_url(self.base_url)


def _check_extra(extra: Mapping[str, Any]) -> None:
    clashes = sorted(set(extra) & set(OWN_FIELDS))
    if clashes:
        raise ConfigurationError(
            f"expected fields in extra that have no setting of their own, got {', '.join(clashes)}"
            ": these are set by fields of their own, such as max_tokens and max_tokens_parameter"
        )
    try:
        json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"expected extra to be fields that can be written as JSON, but: {error}"
        ) from None


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not pair
        sound = False
    if not sound:
        raise ConfigurationError(
            "expected base_url to be the URL of an endpoint up to /v1, such as "
            f"http://localhost:8000/v1, got {public_url(url)!r:.200}"
        )
