"""Requests to an ASGI application without a socket, such as clients that no library lets one be."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any, NamedTuple

from agentgym.support.http_server import Application

HERE = "127.0.0.1:8000"
FOREIGN = (
    "https://elsewhere.example", "http://127.0.0.1.elsewhere.example", "null", "http://[",
    "http://[::1", "http://[::1]elsewhere", "http://elsewhere[::1]", "http://localhost:port",
    "http://user@localhost", "http://localhost/x", "file://", "localhost", "http://", "://",
    "http://1\u00b27.0.0.1",
    "http://127.0.0.1 http://elsewhere.example", "chrome-extension://localhost",
)  # fmt: skip
"""Headers ``Origin`` of pages of other sites, and those that nobody can read."""


class Answer(NamedTuple):
    status: int
    body: bytes


def send(
    app: Application,
    path: str,
    body: bytes | None = b"{}",
    host: str | None = HERE,
    **headers: str,
) -> Answer:
    """Post a body, or hang up in the middle of one."""
    defaults = {"content_type": "application/json", **({} if host is None else {"host": host})}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
        "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 9), "state": {},
        "headers": [
            (name.replace("_", "-").encode(), value.encode("latin-1"))
            for name, value in {**defaults, **headers}.items()
        ],
    }  # fmt: skip
    pieces: list[MutableMapping[str, Any]] = (
        [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
        if body is None
        else [{"type": "http.request", "body": body, "more_body": False}]
    )
    messages: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return pieces.pop(0) if pieces else {"type": "http.disconnect"}

    async def keep(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, keep))
    parts = [message.get("body", b"") for message in messages[1:]]
    return Answer(messages[0]["status"], b"".join(parts))
