"""Shared by the servers of agentgym: a socket, requests of bounded size, JSON responses.

Errors are ``{"error": text}`` with the status of a client or server error.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import ipaddress
import json
import os
import secrets
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentgym.errors import ConfigurationError, require

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

KEEP_ALIVE = 600
"""Seconds that an idle connection is kept: a trainer asks, learns for minutes, and asks again."""
BACKLOG = 1024
"""Connections that may wait to be accepted."""
LAST_WAIT = 5
"""Seconds that requests under way get to finish when the server is stopped."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application."""


class Refused(Exception):
    """A request cannot be answered; holds the status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def serve_app(
    app: Application,
    extra: str,
    *,
    host: str,
    port: int,
    started: Callable[[str], None] = lambda url: None,
    largest: int = 0,
) -> None:
    """Answer requests until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        app: What answers.
        extra: The extra of the distribution that provides ``uvicorn``.
        host: Address to listen at.
        port: Port to listen at; 0 takes one that is free.
        started: Called with the server's address when it answers.
        largest: Most bytes of a message over a web socket; 0: the application has none, and no
            lifespan either.

    Raises:
        ConfigurationError: The address cannot be used.
        DependencyNotInstalled: ``uvicorn`` is missing.
        KeyboardInterrupt: It was interrupted; requests under way have been answered.
    """
    uvicorn = require("uvicorn", extra)
    with listen(host, port) as listening, interrupted_by_sigterm():
        config = uvicorn.Config(
            app, access_log=False, log_level="warning", server_header=False,
            timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=LAST_WAIT,
            **({"ws_max_size": largest} if largest else {"ws": "none", "lifespan": "off"}),
        )  # fmt: skip
        address, found = listening.getsockname()[:2]
        started(f"http://{f'[{address}]' if ':' in address else address}:{found}")
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process as Ctrl-C does, so that what it holds is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def choose_token(token: str, host: str, open_to_all: bool) -> str:
    """Return the token that a server asks its clients for; empty for none.

    Args:
        token: The one that a person chose; a new one is made if it is empty.
        host: Address to listen at.
        open_to_all: Ask for none, which this machine's own addresses alone allow.

    Raises:
        ConfigurationError: None is wanted where other machines listen, or beside one.
    """
    if open_to_all and (token or not is_loopback(host)):
        raise ConfigurationError(
            f"expected a local address for a server without a token, got {host}"
            f"{' and a token' if token else ''}: leave --no-token out, or serve at 127.0.0.1"
        )
    return "" if open_to_all else token or secrets.token_urlsafe(24)


def warning_of(host: str, others: str) -> str:
    """Return what a person is told who serves at an address; empty if only this machine reaches it.

    Args:
        host: The address.
        others: What it lets other machines do.
    """
    if is_loopback(host):
        return ""
    return (
        f"warning: host {host} lets every machine that reaches this one and knows the token "
        f"{others}; nothing that is sent is encrypted, not even the token: use a private network "
        "or an SSH tunnel"
    )


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket here, where what is wrong with it can be put into words.

    Raises:
        ConfigurationError: The address cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )[0]
        # The protocol is named because asyncio switches the Nagle algorithm off, which costs 40 ms
        # per answer, only for sockets that do.
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # elsewhere it would share a port that is taken
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
        return listening
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        remedy = "choose another host"
        if number in (errno.EADDRINUSE, errno.EACCES):
            remedy = "choose another port with --port, or 0 for one that is free"
        raise ConfigurationError(
            f"expected to listen at host {host!r}, port {port}, but: "
            f"{getattr(error, 'strerror', None) or error}; {remedy}"
        ) from error


def is_foreign(origin: str) -> bool:
    """Return whether a request comes from a page of another machine, by its header ``Origin``."""
    return bool(origin) and not is_loopback(urlsplit(origin).hostname or "")


class GuardedApp:
    """An application of another project behind a token, with bodies of bounded size.

    Args:
        app: The application.
        token: What every request and web socket has to bring; empty for none, and then pages of
            other machines are refused.
        largest: Most bytes of the body of a request.
    """

    def __init__(self, app: Application, token: str, largest: int) -> None:
        self._app, self._token, self._largest = app, token, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        refused = self._refused(dict(scope["headers"]))
        if refused is not None:
            if scope["type"] == "websocket":  # closed before it is accepted, it is answered 403
                return await send({"type": "websocket.close", "code": 1008})
            return await answer_error(refused.status, str(refused))(scope, receive, send)
        if scope["type"] == "http":
            from starlette.requests import Request

            try:
                body = await read_body(Request(scope, receive), self._largest)
            except Refused as problem:
                return await answer_error(problem.status, str(problem))(scope, receive, send)
            receive = _once(body, receive)
        await self._app(scope, receive, send)

    def _refused(self, headers: Mapping[bytes, bytes]) -> Refused | None:
        """Say why a request may not pass."""
        origin = headers.get(b"origin", b"").decode("latin-1")
        return _refusal(headers.get(b"authorization", b""), origin, self._token)


def _once(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to who asks for it, then what else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return next_message


def check_token(request: Request, token: str) -> None:
    """Let through what brings the token of the server, as ``Authorization: Bearer``.

    Args:
        request: The request.
        token: The token; empty lets everything through but pages of other sites, which a browser on
            this machine may be showing.

    Raises:
        Refused: It brings another one, or none, or comes from such a page.
    """
    given = request.headers.get("authorization", "").encode("utf-8", "replace")
    refused = _refusal(given, request.headers.get("origin", ""), token)
    if refused is not None:
        raise refused


def _refusal(authorization: bytes, origin: str, token: str) -> Refused | None:
    """Say why a request with these headers may not pass."""
    if token and not hmac.compare_digest(authorization, f"Bearer {token}".encode()):
        return Refused(401, "expected the token of this server, got another one or none")
    if not token and is_foreign(origin):
        return Refused(403, f"expected no page of another site, got one of {origin:.80}")
    return None


async def read_body(request: Request, largest: int) -> bytes:
    """Read a body of bounded size.

    Raises:
        Refused: It is larger.
    """
    blocks, size = [], 0
    async for block in request.stream():
        blocks.append(block)
        size += len(block)
        if size > largest:
            raise Refused(413, f"expected a body of at most {largest:,} bytes, got more")
    return b"".join(blocks)


def parse_object(data: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        Refused: It is none.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"expected a JSON object, got {data[:60]!r} ({error})") from None
    if not isinstance(body, dict):
        raise Refused(400, f"expected a JSON object, got {data[:60]!r}")
    return body


def answer_error(status: int, text: str) -> Response:
    """Say what is wrong."""
    return answer_json(status, {"error": text})


def answer_json(status: int, content: object) -> Response:
    """Write an answer: ASCII, in which every text can be written."""
    from starlette.responses import Response

    headers = {"Connection": "close"} if status == 413 else None
    return Response(json.dumps(content), status, headers, media_type="application/json")
