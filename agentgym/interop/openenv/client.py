"""A client of OpenEnv's servers: bounded answers and waits, without their package.

Episodes go over a web socket, facts about the environment over HTTP.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from agentgym.core.attribution import ActionFailed
from agentgym.errors import ConfigurationError, EnvFailure, require
from agentgym.support.http_client import Connections, Unanswered, server_address
from agentgym.support.redaction import Redactor
from agentgym.support.strict_json import dump_json, parse_json

TOKEN = "AGENTGYM_OPENENV_TOKEN"
"""Variable with what the server asks for as ``Authorization: Bearer``."""
LARGEST = 1 << 22
"""Most bytes of an answer."""
FULL = "CAPACITY_REACHED"
"""Code of OpenEnv's error if all sessions are in use."""
CLOSING = 1.0
"""Seconds that a server gets to end a session."""
SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class SessionLimitReached(EnvFailure):
    """All sessions that a server has are in use."""


class OpenEnvServer:
    """A server, and at most one session of it.

    Args:
        url: Its address.
        timeout: Seconds that an answer may take.

    Raises:
        ConfigurationError: It is no address.
        DependencyNotInstalled: The package ``websockets`` is missing.
    """

    def __init__(self, url: str, timeout: float) -> None:
        http_url = url.replace("ws", "http", 1) if url.startswith("ws") else url
        self._url = server_address(http_url, "running OpenEnv", "").rstrip("/")
        parts = urlsplit(self._url)
        self._connections = Connections(parts.scheme, parts.netloc, timeout)
        self._path, self._timeout = parts.path, timeout
        self._socket_url = f"{SCHEMES[parts.scheme]}://{parts.netloc}{parts.path}/ws"
        self._client = require("websockets.sync.client", "openenv")
        self._closed = require("websockets.exceptions", "openenv").ConnectionClosed
        token = os.environ.get(TOKEN, "")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._redactor = Redactor(token)
        self._socket: Any = None

    def fact(self, path: str, /, **body: Any) -> Any:
        """Ask for something by HTTP; None if the server does not have it.

        Args:
            path: Path.
            **body: What is asked; empty: with GET.

        Raises:
            EnvFailure: The server fails, or answers no JSON.
        """
        data = dump_json(body).encode() if body else None
        headers = {"Content-Type": "application/json", **self._headers}
        try:
            reply = self._connections.request(f"{self._path}{path}", data, headers, LARGEST)
        except Unanswered as problem:
            raise EnvFailure(
                f"expected OpenEnv's server at {self._url}, but {problem}"
            ) from problem
        if reply.status in (404, 405, 501):
            return None
        if reply.status in (401, 403):
            raise EnvFailure(
                f"the server at {self._url} wants to know who asks: set {TOKEN} to its token"
            )
        return self._read_body(reply.body, reply.status)

    def ask(self, kind: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a message of the session, which begins with the first, and return the answer.

        Raises:
            ActionFailed: The server refuses.
            SessionLimitReached: All of its sessions are in use.
            EnvFailure: The server fails, or answers nothing that can be read. The session ends at
                each of these: what comes later answers nothing.
        """
        try:
            if self._socket is None:
                self._socket = self._client.connect(
                    self._socket_url, open_timeout=self._timeout, close_timeout=CLOSING,
                    max_size=LARGEST, additional_headers=self._headers, proxy=None,
                )  # fmt: skip
            message = {"type": kind} if data is None else {"type": kind, "data": dict(data)}
            # A server that is full says so and closes; what it said is still to be read.
            with suppress(self._closed):
                self._socket.send(dump_json(message))
            answer = self._read_body(self._socket.recv(self._timeout), 200)
        except EnvFailure:
            self.end()
            raise
        except Exception as error:  # of sockets, of the protocol, of time
            self.end()
            raise EnvFailure(f"the server at {self._url} failed: {self._words(error)}") from error
        content = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(content, dict) or answer.get("type") not in ("observation", "state"):
            self.end()
            words = content.get("message") if isinstance(content, dict) else answer
            if isinstance(content, dict) and content.get("code") == FULL:
                raise SessionLimitReached(
                    f"the server at {self._url} has no further session: "
                    f"{self._redactor.excerpt(str(words))}; by default OpenEnv serves one at a "
                    "time (max_concurrent_envs): raise it there, or use fewer environments here"
                )
            raise ActionFailed(f"the server refused {kind}: {self._redactor.excerpt(str(words))}")
        return content

    def end(self) -> None:
        """End the session; the next message begins another."""
        if self._socket is not None:
            with suppress(Exception):
                self._socket.send(dump_json({"type": "close"}))
                self._socket.recv(CLOSING)  # OpenEnv frees the session before it closes
            with suppress(Exception):
                self._socket.close()
            self._socket = None

    def close(self) -> None:
        """End the session and close all connections."""
        self.end()
        self._connections.close()

    def _read_body(self, body: bytes | str, status: int) -> Any:
        """Read JSON."""
        if len(body) > LARGEST:
            raise EnvFailure(f"expected an answer of at most {LARGEST:,} bytes, got more")
        try:
            answer, problem = parse_json(body), ""
        except ValueError as error:
            answer, problem = None, f" ({error})"
        if answer is None or status >= 300:
            text = body if isinstance(body, str) else body.decode("utf-8", "replace")
            raise EnvFailure(
                f"expected JSON of OpenEnv's server at {self._url}, got status {status} and "
                f"{self._redactor.excerpt(text)!r}{problem}"
            )
        return answer

    def _words(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"it took more than {self._timeout:g} seconds"
        return self._redactor.excerpt(f"{type(error).__name__}: {error}")


def check_timeout(timeout: object) -> None:
    """Refuse what is no number of seconds.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 1e9:
        raise ConfigurationError(f"expected timeout to be seconds above 0, got {timeout!r}")
