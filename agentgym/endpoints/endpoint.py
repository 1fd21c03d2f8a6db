"""An endpoint: its client, the fields that it rejects, and the handling of failed requests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from agentgym.endpoints.completions import (
    LARGEST,
    REASONING_FIELDS,
    ChatCompletion,
    read_complete,
    streamed,
)
from agentgym.endpoints.config import EndpointConfig
from agentgym.endpoints.extra_fields import MESSAGE_FIELDS
from agentgym.endpoints.faults import Cause, EndpointFault, remedy, status_fault
from agentgym.endpoints.limiter import RateLimiter
from agentgym.endpoints.waiting import Waits
from agentgym.errors import ConfigurationError, PolicyFailure, PolicyStopped, require
from agentgym.support.random_stream import Stream
from agentgym.support.redaction import Redactor, public_url, url_secrets

FIRST_WAIT = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
ESSENTIAL_FIELDS = MESSAGE_FIELDS | {"name", "tool_call_id", *REASONING_FIELDS}
"""Fields of messages that are never left out: all endpoints know them, or the user chose them."""
LONGEST_BACK_OFF = 8.0
"""Most seconds before a retry, unless the endpoint asks for more."""
NO_KEY = "none"
"""What is sent as key where there is none: OpenAI's client refuses an empty one."""


def sendable(value: Any) -> Any:
    """Return JSON data whose texts can be written in UTF-8; lone surrogates become ``?``."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(key): sendable(entry) for key, entry in value.items()}
    return [sendable(entry) for entry in value] if isinstance(value, list | tuple) else value


class Endpoint:
    """Sends requests to a model, from any number of threads.

    Retries are implemented here because the client does not support the rate limit, broken bodies
    and streams, or reproducible jitter.

    Args:
        config: Model, endpoint and limits.

    Raises:
        DependencyNotInstalled: The package ``openai`` is missing.
        ConfigurationError: The key is needed and not in the environment, or cannot be sent.
    """

    def __init__(self, config: EndpointConfig) -> None:
        self._openai = require("openai", "chat")
        key = _key(config)
        url = config.base_url or os.environ.get("OPENAI_BASE_URL", "")
        self.redactor = Redactor(key, *url_secrets(url))
        """Hides the key."""
        problem = ""
        try:
            self._client = self._openai.OpenAI(
                api_key=key or NO_KEY,
                base_url=config.base_url,
                timeout=config.timeout,
                max_retries=0,
                http_client=self._openai.DefaultHttpxClient(
                    event_hooks={"response": [partial(_bound, config)]}
                ),
            )
        except Exception as error:  # of httpx, which no line here should have to know
            # Raised below, not here: this error, to which it would be chained, may show a password.
            problem = self.redactor.excerpt(f"{type(error).__name__}: {error}")
        if problem:
            raise ConfigurationError(
                "expected base_url (or OPENAI_BASE_URL) to be the URL of an endpoint up to /v1, "
                f"got {public_url(url)!r:.200}: {problem}"
            )
        self.url = self.redactor.hide(public_url(str(self._client.base_url)).rstrip("/"))
        """Its address, without anything that may be a secret."""
        self._config = config
        self._limiter = RateLimiter(config.requests_per_minute)
        self._refuses_max_tokens = config.max_tokens_parameter == "max_completion_tokens"
        self._refuses_stream_options = False
        self._refused_fields: frozenset[str] = frozenset()

    def complete(self, request: Mapping[str, Any], jitter: Stream, waits: Waits) -> ChatCompletion:
        """Send a request, with retries, and return the response.

        Args:
            request: Arguments of the client's ``chat.completions.create``; further fields of the
                body under ``extra_body``.
            jitter: Draws the shares of waits that are left out.
            waits: Waits for the response, so that another thread can interrupt it.

        Raises:
            PolicyStopped: The model ended its episode: its context is full, a filter stopped it, or
                its response cannot be parsed.
            PolicyFailure: The endpoint rejects the request, or still fails after the retries; or
                the wait was interrupted.
        """
        retries = 0
        while True:
            adapted = self._adapted(request)
            self._limiter.wait(waits.sleep)
            answer = waits.run(partial(self._ask, adapted))
            if isinstance(answer, ChatCompletion):
                return answer
            # Not counted as a retry: the endpoint works, and has named a field that it rejects.
            if self._learn(adapted, answer):
                continue
            if not answer.passing or retries == self._config.retries:
                raise self._failure(adapted, answer, retries)
            waits.sleep(_back_off(answer, retries, jitter))
            retries += 1

    def _adapted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request without the fields that the endpoint has rejected before."""
        adapted = {**request, "extra_body": dict(request.get("extra_body") or {})}
        if self._refuses_max_tokens:
            # In the body, because old clients have no argument of the name.
            adapted["extra_body"]["max_completion_tokens"] = adapted.pop("max_tokens")
        if self._refuses_stream_options:
            adapted.pop("stream_options", None)
        if self._refused_fields:
            adapted["messages"] = [
                {name: value for name, value in message.items() if name not in self._refused_fields}
                for message in adapted["messages"]
            ]
        return adapted

    def _learn(self, request: Mapping[str, Any], fault: EndpointFault) -> bool:
        """Return whether the request can be sent in another way, and remember it."""
        # The longer name first: the message on max_tokens names what to send in its place.
        if "stream_options" in request and fault.names("stream_options"):
            self._refuses_stream_options = True
            return True
        automatic = self._config.max_tokens_parameter == "auto"
        if automatic and "max_tokens" in request and fault.disowns("max_tokens"):
            self._refuses_max_tokens = True
            return True
        # Some endpoints reject the non-standard fields of their own answers.
        added = {name for message in request["messages"] for name in message} - ESSENTIAL_FIELDS
        refused = {name for name in added if fault.disowns(name)}
        self._refused_fields |= refused
        return bool(refused)

    def _ask(self, request: Mapping[str, Any]) -> ChatCompletion | EndpointFault:
        """Send one request and read its answer."""
        try:
            raw = self._client.chat.completions.with_raw_response.create(**request)
            kind = raw.http_response.headers.get("content-type", "")
            if request.get("stream") and "json" not in kind and "html" not in kind:
                events = raw.parse()
            else:
                events, body = None, raw.http_response.read()
        except Exception as error:  # also of httpx and json, which the client lets through
            return self._fault(error)
        if events is None:
            return read_complete(body)
        with events:
            return streamed(self._pieces(events))

    def _pieces(self, events: Any) -> Iterator[Any]:
        """Yield the stream's chunks as parsed JSON, then the error that broke it, if any."""
        try:
            for event in events:
                convert = getattr(event, "to_dict", None)
                yield convert(warnings=False) if convert else event
        except Exception as error:  # as above
            yield self._fault(error)

    def _fault(self, error: Exception) -> EndpointFault:
        """Read an error of the client."""
        if isinstance(error, self._openai.APITimeoutError):
            return EndpointFault(
                Cause.TIMEOUT, f"no answer within {self._config.timeout:g} seconds"
            )
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, self._openai.APIConnectionError):
            reason = f" ({error.__cause__})" if error.__cause__ else ""
            return EndpointFault(Cause.CONNECTION, message + reason)
        if isinstance(error, self._openai.APIError):
            headers = error.response.headers if hasattr(error, "response") else {}
            return status_fault(getattr(error, "status_code", None), error.body, headers, message)
        return EndpointFault(Cause.BROKEN, message)

    def _failure(
        self, request: Mapping[str, Any], fault: EndpointFault, retries: int
    ) -> PolicyFailure:
        status = f"HTTP {fault.status}: " if fault.cause is Cause.STATUS and fault.status else ""
        model = self.redactor.excerpt(self._config.model)
        attempts = f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
        message = (
            f"expected an answer of the model {model!r} at {self.url}, got{attempts} "
            f"{status}{self.redactor.excerpt(fault.text)}; {remedy(fault, request, self._config)}"
        )
        reason = fault.stop_reason.value
        return PolicyStopped(reason, message) if reason else PolicyFailure(message)


def _bound(config: EndpointConfig, response: Any) -> None:
    """Let an answer end, whoever sends it: in size, and unless it is streamed in time.

    The client's own timeout holds for each piece, and it reads whatever comes.
    """
    pieces, deadline = response.iter_bytes, time.monotonic() + config.timeout

    def bounded(*arguments: Any) -> Iterator[bytes]:
        size = 0
        for piece in pieces(*arguments):
            size += len(piece)
            if size > LARGEST:
                raise OverflowError(f"an answer of more than {LARGEST:,} bytes")
            if not config.stream and time.monotonic() > deadline:
                raise TimeoutError(f"no whole answer within {config.timeout:g} seconds")
            yield piece

    response.iter_bytes = bounded


def _key(config: EndpointConfig) -> str:
    """Read the key from the environment; error messages never contain it."""
    key = os.environ.get(config.api_key_env, "").strip()
    if not key and config.base_url is None and not os.environ.get("OPENAI_BASE_URL"):
        raise ConfigurationError(
            f"expected an API key in the environment variable {config.api_key_env}, got none: "
            f"export {config.api_key_env}=..., or set base_url for an endpoint without keys"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"expected the key in the environment variable {config.api_key_env} to be one line of "
            "printable ASCII, got other characters; export it again"
        )
    return key


def _back_off(fault: EndpointFault, retries: int, jitter: Stream) -> float:
    """Return the seconds to wait before a retry."""
    seconds = min(FIRST_WAIT * 2.0 ** min(retries, 16), LONGEST_BACK_OFF)
    seconds *= 1.0 - 0.25 * jitter.below(1024) / 1024
    return seconds if fault.retry_after is None else max(fault.retry_after, 0.0)
