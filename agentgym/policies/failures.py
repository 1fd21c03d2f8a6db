"""Classify exceptions of a policy: the policy's own errors are scored, infrastructure failures not.

One rule holds for functions, policies and agents with their own loop: an exception ends the
episode, which is scored at that point, unless an endpoint or a connection failed. To recognise such
failures without importing client libraries, exceptions are classified by HTTP status, by the
error's code and message, or by class name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentgym.core.outcome import StopReason
from agentgym.endpoints.faults import EndpointFault, status_fault
from agentgym.errors import (
    ConfigurationError,
    DependencyNotInstalled,
    EnvFailure,
    NotSupported,
    PolicyFailure,
    PolicyStopped,
)

SET_UP = (ConfigurationError, DependencyNotInstalled, NotSupported)
"""Errors in a policy's configuration: they would end every episode, so they end the evaluation."""
SHOWN = 500
"""Maximum number of characters of an exception's message in the reason of an end."""
CONNECTIONS = frozenset(
    {
        "APIConnectionError",  # openai, anthropic, litellm
        "ClientConnectionError",  # aiohttp
        "ConnectionError",  # Python, requests
        "Timeout",  # requests, litellm
        "TimeoutError",  # Python, asyncio
        "TransportError",  # httpx
        "gaierror",
    }
)
"""Names of exception classes that mean a failed connection."""


def policy_end(error: Exception, actor: str = "the policy") -> PolicyFailure:
    """Classify an exception of a policy by its effect on the episode.

    Args:
        error: The exception. Its cause and context are considered, too: frameworks wrap the
            exceptions of endpoints.
        actor: What raised the exception, for the message.

    Returns:
        `PolicyStopped` with the reason, for an episode that counts; else `PolicyFailure`.
    """
    message = f"{actor} raised {type(error).__name__}: {str(error)[:SHOWN]}"
    failed = False
    for cause in _chain(error):
        if isinstance(cause, PolicyFailure):
            return cause
        fault = _fault(cause)
        if fault is not None and fault.stop_reason is not StopReason.NONE:
            return _caused(PolicyStopped(fault.stop_reason.value, message), error)
        names = {kind.__name__ for kind in type(cause).__mro__}
        failed = failed or fault is not None or bool(names & CONNECTIONS)
        failed = failed or isinstance(cause, EnvFailure)
    if failed:
        return _caused(PolicyFailure(message), error)
    return _caused(PolicyStopped(StopReason.STOPPED.value, message), error)


def _caused(end: PolicyFailure, error: Exception) -> PolicyFailure:
    end.__cause__ = error
    return end


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes and contexts, each once."""
    ids: set[int] = set()
    while error is not None and id(error) not in ids:
        ids.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _fault(error: BaseException) -> EndpointFault | None:
    """Extract an endpoint's error response from an exception of any client; None without one."""
    response = getattr(error, "response", None)
    codes = (getattr(error, "status_code", 0), getattr(response, "status_code", 0))
    code, body = getattr(error, "code", None), _body(error, response)
    statuses = (
        number for number in (*codes, code) if isinstance(number, int) and 400 <= number <= 599
    )
    status = next(statuses, None)
    if status is None and not body:
        return None
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    fault = status_fault(status, inner, {}, str(error))
    return replace(fault, code=code) if isinstance(code, str) and not fault.code else fault


def _body(error: BaseException, response: Any) -> Any:
    """Return the body of an error as JSON or text, or nothing."""
    body = getattr(error, "body", None)
    if isinstance(body, str | Mapping):
        return body
    try:
        return response.json()
    except Exception:  # no response, not JSON, or a stream that was not read
        return None
