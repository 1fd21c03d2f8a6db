"""Messages of JSON-RPC 2.0, as the Model Context Protocol (MCP) exchanges them.

Servers and clients of MCP are spoken to without a package: the official one has two versions that
cannot be installed together, and reads answers of any size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of MCP that begin with a handshake, the newest last. Later ones know no sessions; what
speaks them falls back to these."""

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
"""Codes of errors."""
FULL = -32000
"""Code of an error of this project's own: there is no room for another session."""

Message = dict[str, Any]


def request(number: int, method: str, params: Mapping[str, Any]) -> Message:
    """Ask something."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}


def notification(method: str) -> Message:
    """Say something that is not answered."""
    return {"jsonrpc": "2.0", "method": method}


def result(number: object, value: Mapping[str, Any]) -> Message:
    """Answer a request."""
    return {"jsonrpc": "2.0", "id": number, "result": dict(value)}


def error(number: object, code: int, text: str) -> Message:
    """Answer that a request failed."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
