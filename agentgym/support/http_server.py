"""Shared by the servers of agentgym: a socket, requests of bounded size, JSON responses.

Errors are ``{"error": text}`` with the status of a client or server error.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import ipaddress
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, require
from agentgym.support.strict_json import dump_json, parse_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

KEEP_ALIVE = 600
"""Seconds that an idle connection is kept: a trainer asks, learns for minutes, and asks again."""
BACKLOG = 1024
"""Connections that may wait to be accepted."""
LAST_WAIT = 5
"""Seconds that requests under way get to finish when the server is stopped."""
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::([0-9]{1,5}))?", re.I | re.A)
"""An address or a name, and perhaps a port, as ``Host`` has them and ``Origin`` behind ``://``."""

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
        address, actual_port = listening.getsockname()[:2]
        started(f"http://{f'[{address}]' if ':' in address else address}:{actual_port}")
        uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process like Ctrl-C, so that resources are closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old_handler)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def choose_token(token: str, host: str, open_to_all: bool) -> str:
    """Return the token that a server asks its clients for; empty for none.

    Args:
        token: The user's token; if empty, a new one is generated.
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


def warning_of(host: str, abilities: str) -> str:
    """Return a warning for serving at an address; empty if only this machine can reach it.

    Args:
        host: The address.
        abilities: Description of what other machines can do there.
    """
    if is_loopback(host):
        return ""
    return (
        f"warning: host {host} lets every machine that reaches this one and knows the token "
        f"{abilities}; nothing that is sent is encrypted, not even the token: use a private "
        "network or an SSH tunnel"
    )


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket, to give a clear error before the server starts.

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


def names_this_machine(authority: str, port: int | None = None) -> bool:
    """Return whether a header ``Host`` names an address that only this machine reaches.

    Args:
        authority: The header. What cannot be read names no machine.
        port: The port that it has to name too; None: any, as behind a tunnel.
    """
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not is_loopback((parts[1] or parts[2]).lower()):
        return False
    return port is None or int(parts[3] or 80) == port


def is_foreign(origin: str) -> bool:
    """Return whether a header ``Origin`` belongs to a page from another machine.

    What cannot be read is; without the header the request comes from no page.
    """
    scheme, _, authority = origin.partition("://")
    return bool(origin) and not (scheme in ("http", "https") and names_this_machine(authority))


class GuardedApp:
    """An application of another project that takes JSON, behind a token and with bounded bodies.

    Args:
        app: The application.
        token: Token that every request and web socket must carry, see `check_request`.
        largest: Maximum size of a request's body, in bytes.
    """

    def __init__(self, app: Application, token: str, largest: int) -> None:
        self._app, self._token, self._largest = app, token, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        refused = _refusal(scope["headers"], self._token)
        if refused is not None:
            if scope["type"] == "websocket":  # closed before it is accepted, it is answered 403
                return await send({"type": "websocket.close", "code": 1008})
            return await answer_error(refused.status, str(refused))(scope, receive, send)
        if scope["type"] == "http":
            from starlette.requests import Request

            request = Request(scope, receive)
            try:
                body = await read_body(request, self._largest)
                if body.strip() and "form" not in request.headers.get("content-type", ""):
                    _read_json(body)
            except Refused as problem:
                return await answer_error(problem.status, str(problem))(scope, receive, send)
            receive = _replay_body(body, receive)
        else:
            receive = _without_invalid_json(receive)
        await self._app(scope, receive, send)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that first returns a body already read, then later messages."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return next_message


def _without_invalid_json(receive: Receive) -> Receive:
    """Return a receive function of a web socket that replaces text that is not JSON by "".

    The application answers an empty text with its usual error for unreadable messages.
    """

    async def next_message() -> MutableMapping[str, Any]:
        message = await receive()
        if text := message.get("text"):
            try:
                parse_json(text)
            except ValueError:
                message["text"] = ""
        return message

    return next_message


def check_request(request: Request, token: str, *, any_host: bool = False) -> None:
    """Check that a request carries the server's token, and comes from no page of another site.

    Args:
        request: The request.
        token: The token, expected as ``Authorization: Bearer``. Empty: there is none, and only this
            machine can reach the server. Then the header ``Host`` must name this machine, which
            prevents DNS rebinding: a site could let its own name resolve to this machine, and the
            browser would let the site's page read the answer.
        any_host: Without a token, also allow other names of this machine: for servers that other
            machines can reach, or that require another kind of token.

    Raises:
        Refused: The request is rejected.
    """
    refused = _refusal(request.scope["headers"], token, any_host)
    if refused is not None:
        raise refused


def _refusal(
    headers: Iterable[tuple[bytes, bytes]], token: str, any_host: bool = False
) -> Refused | None:
    """Return the error of a request with these headers, or None if it is allowed."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    authorization = b", ".join(values.get(b"authorization", []))
    if token and not hmac.compare_digest(authorization, f"Bearer {token}".encode()):
        return Refused(401, "expected the token of this server, got another one or none")
    for origin in values.get(b"origin", []):
        if is_foreign(text := origin.decode("latin-1")):
            return Refused(403, f"expected no page of another site, got one of {text:.80}")
    for host in [] if token or any_host else values.get(b"host", []):
        if not names_this_machine(text := host.decode("latin-1")):
            return Refused(403, f"expected an address of this machine as host, got {text!r:.80}")
    return None


async def read_body(request: Request, largest: int) -> bytes:
    """Read a body of bounded size.

    Raises:
        Refused: The body is larger, or the client has disconnected.
    """
    from starlette.requests import ClientDisconnect

    blocks, size = [], 0
    try:
        async for block in request.stream():
            blocks.append(block)
            size += len(block)
            if size > largest:
                raise Refused(413, f"expected a body of at most {largest:,} bytes, got more")
    except ClientDisconnect:
        raise Refused(400, "expected a whole body") from None
    return b"".join(blocks)


def parse_object(data: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        Refused: It is none.
    """
    body = _read_json(data)
    if not isinstance(body, dict):
        raise Refused(400, f"expected a JSON object, got {data[:60]!r}")
    return body


def _read_json(data: bytes) -> Any:
    """Read JSON that is an object where it is sound.

    Raises:
        Refused: It is not JSON.
    """
    try:
        return parse_json(data)
    except ValueError as error:
        raise Refused(400, f"expected a JSON object, got {data[:60]!r} ({error})") from None


def answer_error(status: int, text: str) -> Response:
    """Say what is wrong."""
    return answer_json(status, {"error": text})


def answer_json(status: int, content: object) -> Response:
    """Write an answer: ASCII, in which every text can be written."""
    from starlette.responses import Response

    headers = {"Connection": "close"} if status == 413 else None
    try:
        text = dump_json(content)
    except (TypeError, ValueError) as error:  # e.g. the info of a third-party environment
        status, text = 500, dump_json({"error": f"expected an answer that is JSON, but: {error}"})
    return Response(text, status, headers, media_type="application/json")
