"""Failures of requests to an endpoint, and their remedies."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from agentgym.core.outcome import StopReason
from agentgym.endpoints.config import LIMIT_NAMES, EndpointConfig

LONGEST_WAIT = 120.0
"""Maximum wait requested by an endpoint, in seconds."""
PASSING = (408, 409, 429)
"""Statuses below 500 after which a request may succeed when it is sent again."""
OF_THE_CALLER = (401, 403, 408, 409, 429)
"""Statuses below 500 that concern credentials or rate limits, not the content of the request."""
REFUSING = (400, 404, 405, 415, 422, 501)
"""Statuses that may be about a field of the request."""
LASTING = ("insufficient_quota", "content_filter", "context_length_exceeded")
"""Codes of errors that do not pass."""

_OVERFLOW = re.compile(
    r"context[_ ](length|window|size|limit)|maximum (context|prompt length)|prompt is too long"
    r"|input is too long|too many (input )?tokens|input token count .{0,40}exceeds"
    r"|reduce the length of the (messages|prompt|input)|max_tokens must be at least 1, got -",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ](filter|management|policy)|responsibleaipolicy|data_inspection_failed"
    r"|inappropriate content|was flagged",
    re.IGNORECASE,
)
_UNREADABLE = re.compile(
    r"tool_use_failed|failed_generation"
    r"|(fail\w*|error\w*|unable)\b.{0,20}\bpars\w+ .{0,20}tool[_ ]call",
    re.IGNORECASE,
)
_WANTS_REASONING = re.compile(
    r"(reasoning(_content|_text|_details)?|thinking)\b.{0,160}\b"
    r"(missing|required?|must|expected|pass(ed)? back|provided?)\b"
    r"|\b(missing|requires?|must|expected|pass|provide)\b.{0,160}\breasoning(_content|_text)?\b",
    re.IGNORECASE | re.DOTALL,
)
_TAKES_NO_TOOLS = re.compile(
    r"enable-auto-tool-choice|tool-call-parser|does(n't| not) support|no support|disabled",
    re.IGNORECASE,
)
_ABOUT_A_CALL = re.compile(r"tool_(use|results?|calls?|call_id|use_id)\b")
_UNKNOWN = re.compile(
    r"unsupported|not supported|unknown|unrecognized|unexpected|extra_forbidden|extra inputs"
    r"|not permitted|not allowed|deprecated|instead",
    re.IGNORECASE,
)
_ABOUT = {
    "stream": re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE),
    "tools": re.compile(r"\btools?\b|\btool[_ ](choice|calls?|use)\b", re.IGNORECASE),
}
"""Words for a field other than its name."""
_NEEDED = {"model", "messages", "extra_body"}
"""Fields that no request can leave out."""


class Cause(Enum):
    """Cause of a failed request, if known before its error is parsed."""

    STATUS = "the endpoint answered with an error"
    CONNECTION = "it was not reached, or broke off"
    TIMEOUT = "it took too long"
    BROKEN = "its answer cannot be read"
    STREAMED = "it streams what was not asked to be streamed"
    FILTERED = "its content filter stopped the answer"
    UNREADABLE = "its model said nothing that can be read"


@dataclass(frozen=True)
class EndpointFault:
    """The failure of a request."""

    cause: Cause
    """Where it failed."""
    text: str
    """What came instead of an answer, as the endpoint wrote it: not yet fit to be shown."""
    status: int | None = None
    """Status of HTTP, or the one that the body names."""
    code: str = ""
    """The endpoint's code of the error."""
    param: str = ""
    """The field of the request that the endpoint names."""
    retry_after: float | None = None
    """Seconds that the endpoint asks to wait."""

    @property
    def overflow(self) -> bool:
        """Whether the conversation exceeds the model's context."""
        return self._is_about_content(OF_THE_CALLER) and (
            self.status == 413 or "context" in self.code or bool(_OVERFLOW.search(self.text))
        )

    @property
    def filtered(self) -> bool:
        """Whether a content filter refused the conversation or its answer."""
        text = f"{self.code} {self.text}"
        return self.cause is Cause.FILTERED or (
            (self.status or 0) < 500  # a filter that fails is the endpoint's failure
            and self._is_about_content({*OF_THE_CALLER} - {403})
            and bool(_FILTERED.search(text))
        )

    @property
    def unreadable(self) -> bool:
        """Whether the model responded, but its response cannot be parsed."""
        text = f"{self.code} {self.text}"
        return self.cause is Cause.UNREADABLE or (
            self._is_about_content(OF_THE_CALLER) and bool(_UNREADABLE.search(text))
        )

    def _is_about_content(self, statuses: Collection[int]) -> bool:
        return self.cause is Cause.STATUS and self.status not in statuses

    @property
    def stop_reason(self) -> StopReason:
        """Stop reason if the model caused the failure; ``NONE`` for the infrastructure."""
        if self.overflow:
            return StopReason.CONTEXT
        if self.filtered:
            return StopReason.REFUSED
        return StopReason.UNREADABLE if self.unreadable else StopReason.NONE

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        if self.cause in (Cause.FILTERED, Cause.STREAMED) or self.code in LASTING:
            return False
        if self.unreadable:
            return self.status != 200  # another draw may be read, but for one without an end
        if self.retry_after is not None and self.retry_after > LONGEST_WAIT:
            return False
        if self.status is None:
            return not (self.overflow or self.filtered)
        return self.status in PASSING or self.status >= 500

    def names(self, field: str) -> bool:
        """Return whether the endpoint refuses the request for a field of it."""
        if self.status not in REFUSING or self.overflow or self.filtered:
            return False
        about = _ABOUT.get(field, re.compile(rf"(?<!\w){re.escape(field)}(?!\w)"))
        return self.param == field or bool(about.search(self.text))

    def refuses(self, field: str) -> bool:
        """Return whether the request may succeed without a field.

        A message that names tools is often about a call of one, not about the field.
        """
        if field != "tools":
            return self.names(field)
        message = f"{self.code} {self.text}"
        unknown = bool(_UNKNOWN.search(message) or _TAKES_NO_TOOLS.search(message))
        about = unknown and self.names(field) and not _ABOUT_A_CALL.search(message)
        return self.param == field or about

    @property
    def wants_reasoning(self) -> bool:
        """Whether the endpoint misses the thinking of earlier answers."""
        return self.status in REFUSING and bool(_WANTS_REASONING.search(self.text))

    def disowns(self, field: str) -> bool:
        """Return whether the endpoint does not know a field, whatever its value."""
        text = f"{self.code} {self.text}"
        return self.names(field) and bool(_UNKNOWN.search(text))


def status_fault(
    status: int | None, body: object, headers: Mapping[str, str], text: str
) -> EndpointFault:
    """Read the body of an error.

    Args:
        status: Status of HTTP; None if the error came in the body of an answer.
        body: The error as parsed JSON, or as text.
        headers: Headers of the answer.
        text: Text to show if the body has no message.
    """
    error = _error_of(body)
    message = error.get("message")
    if isinstance(message, str) and message:
        raw = error.get("metadata")
        raw = raw.get("raw") if isinstance(raw, Mapping) else None
        # A router's own words say little; those of the endpoint behind it stand there.
        text = f"{message}: {raw}" if isinstance(raw, str) and raw else message
    elif error:
        text = json.dumps(error, default=str)
    elif isinstance(body, str) and body:
        text = body
    code = error.get("code")
    # Some endpoints answer 200 and name the status in the body.
    named = int(str(code)) if re.fullmatch(r"[45]\d\d", str(code)) else None
    return EndpointFault(
        Cause.STATUS,
        text,
        status or named,
        "" if code is None else str(code),
        str(error.get("param") or ""),
        seconds_to_wait(headers),
    )


def _error_of(body: object) -> Mapping[str, Any]:
    """Return the error in a body: alone, under ``error`` or, as Gemini sends it, in a list."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping) and isinstance(inner := body.get("error"), Mapping):
        body = inner
    return body if isinstance(body, Mapping) else {}


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Read how long an endpoint asks to wait, from ``retry-after-ms`` or ``Retry-After``."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / scale
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        moment = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, moment.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def remedy(fault: EndpointFault, request: Mapping[str, Any], config: EndpointConfig) -> str:
    """Return the remedy for a fault.

    Args:
        fault: The fault.
        request: The request.
        config: The settings that it was made from.
    """
    if fault.overflow:
        return (
            "the conversation is longer than the model's context: lower `window` or `max_tokens`, "
            "shorten the episode (`horizon`), or serve the model with a longer context"
        )
    if fault.filtered:
        return (
            "the content filter of the endpoint stopped it: leave this task out, or ask an "
            "endpoint without the filter"
        )
    if fault.unreadable:
        return "the model wrote nothing that can be read: raise max_tokens, or check its template"
    if fault.cause is Cause.STREAMED or (not config.stream and fault.names("stream")):
        return "the endpoint only streams: set `stream=True`"
    if fault.wants_reasoning and not getattr(config, "send_reasoning", True):
        return "the endpoint wants the thinking of earlier answers back: set `send_reasoning=True`"
    # Streaming last: the word stands in messages about other fields, too.
    names = {*request, *request["extra_body"]} - _NEEDED
    fields = sorted(names, key=lambda name: ("stream" in name, name))
    refused = next((name for name in fields if fault.refuses(name)), None)
    return _by_status(fault, config) if refused is None else _without(refused, config)


def _without(name: str, config: EndpointConfig) -> str:
    """Explain how to leave out a field that an endpoint rejects."""
    if name in LIMIT_NAMES:
        return (
            f"the endpoint refuses {name}={config.max_tokens}: change `max_tokens`, or the name "
            f"under which it is sent, `max_tokens_parameter` ({' or '.join(LIMIT_NAMES)})"
        )
    if name in ("stream", "stream_options"):
        return "the endpoint does not stream: leave `stream=True` out"
    if name == "tools":
        return (
            "the endpoint takes no tools: leave `tools=True` out, or switch tool calls on there "
            "(vLLM: --enable-auto-tool-choice)"
        )
    if name in config.extra:
        return f"the endpoint refuses this {name}: leave {name} out of `extra`"
    return f"the endpoint refuses this {name}: leave `{name}` out"


def _by_status(fault: EndpointFault, config: EndpointConfig) -> str:
    if fault.cause is Cause.TIMEOUT:
        return f"raise `timeout`, now {config.timeout:g} seconds, or lower `max_tokens`"
    if fault.cause is Cause.CONNECTION:
        return "check that the endpoint runs at this address"
    if fault.cause is Cause.BROKEN:
        return "check that `base_url` ends in /v1, and the proxies in between"
    if fault.status in (401, 403):
        return f"check the key in the environment variable {config.api_key_env}"
    if fault.status == 404:
        return "check that the endpoint serves this model, and that `base_url` ends in /v1"
    if fault.retry_after is not None and fault.retry_after > LONGEST_WAIT:
        return f"it asks to wait {fault.retry_after:.0f} seconds: retry later, or check the quota"
    if fault.status == 429:
        return (
            "play fewer episodes at the same time (`concurrency`), lower `requests_per_minute`, "
            "raise `retries`, or check the quota"
        )
    return "check that the endpoint runs, that it serves this model, and its log"
