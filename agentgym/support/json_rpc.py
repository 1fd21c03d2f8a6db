"""Messages of JSON-RPC 2.0, as the Model Context Protocol (MCP) exchanges them.

Servers and clients of MCP are spoken to without a package: the official one has two versions that
cannot be installed together, and reads answers of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25")
"""Versions of MCP that begin with a handshake, the newest last. Later ones know no sessions; what
speaks them falls back to these. In 2025-03-26 servers have to take lists of messages, which these
do not; its clients speak the version before."""

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
"""Codes of errors."""
FULL = -32000
"""Error code of this project: the maximum number of sessions is reached."""

Message = dict[str, Any]
Methods = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""Handlers by method name; each takes the parameters of a request and returns the result."""


class InvalidParams(Exception):
    """The parameters of a request are invalid for its method."""


def request(number: int, method: str, params: Mapping[str, Any]) -> Message:
    """Make a request, which has an answer."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}


def notification(method: str) -> Message:
    """Make a notification, which has no answer."""
    return {"jsonrpc": "2.0", "method": method}


def result(number: object, value: Mapping[str, Any]) -> Message:
    """Answer a request."""
    return {"jsonrpc": "2.0", "id": number, "result": dict(value)}


def error(number: object, code: int, text: str) -> Message:
    """Answer that a request failed."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def respond(message: Mapping[str, Any], methods: Methods) -> Message | None:
    """Answer a message; None if it is none that is answered.

    Args:
        message: The message, whatever it holds.
        methods: The methods that there are, which may raise `InvalidParams`.
    """
    if "method" not in message or message.get("id") is None:
        return None  # a notification, or an answer to nothing that was asked
    number, method, params = message["id"], message["method"], message.get("params") or {}
    if not isinstance(method, str) or method not in methods:
        words = f"expected one of {', '.join(methods)}, got {method!r:.80}"
        return error(number, METHOD_NOT_FOUND, words)
    if not isinstance(params, Mapping):
        words = f"expected params to be an object, got {params!r:.80}"
        return error(number, INVALID_PARAMS, words)
    try:
        return result(number, methods[method](params))
    except InvalidParams as problem:
        return error(number, INVALID_PARAMS, str(problem))


def welcome(params: Mapping[str, Any], name: str, version: str, instructions: str) -> Message:
    """Return an MCP server's answer to ``initialize``, with the negotiated protocol version.

    It is the newest supported version that is not newer than the requested one; or the newest
    supported version, if the request names an older one or none.

    Args:
        params: The parameters of the request.
        name: Name of the server.
        version: Its version.
        instructions: Instructions for its clients.
    """
    requested = str(params.get("protocolVersion"))
    return {
        "protocolVersion": max(
            (candidate for candidate in VERSIONS if candidate <= requested), default=VERSIONS[-1]
        ),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": version},
        "instructions": instructions,
    }
