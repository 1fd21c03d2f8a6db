"""The server of the shop: one page and three requests, for this machine only.

============================ ============================================= =====================
request                      body                                          answer
============================ ============================================= =====================
GET ``/TOKEN/``                                                            the page
POST ``/TOKEN/api/begin``    ``{"session"?, "split"?, "index"?,            the state of a visit
                             "task_id"?, "seed"?}``
POST ``/TOKEN/api/look``     ``{"session"}``                               the same
POST ``/TOKEN/api/act``      ``{"session", "turn", "action"}``, or         the same
                             ``"search"`` in the place of ``"action"``
============================ ============================================= =====================

A request must contain the token, which is new at each start of the server, must name an address of
this machine as its host (other names are refused, against DNS rebinding), and must not come from
the page of another site. Errors are ``{"error": text}``.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from agentgym.core import options
from agentgym.envs.webshop.browser.visits import Visits
from agentgym.errors import AgentGymError, ConfigurationError, TaskNotFound, require
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    is_loopback,
    names_this_machine,
    parse_object,
    read_body,
    serve_app,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

Kind = TypeVar("Kind", str, int)
LARGEST_BODY = 1 << 16
"""Maximum size of a request, in bytes."""
FILES = {
    "shop.css": (__package__, "text/css"),
    "dom.js": ("agentgym.viewer", "text/javascript"),
    "page.js": (__package__, "text/javascript"),
    "agent.js": (__package__, "text/javascript"),
    "app.js": (__package__, "text/javascript"),
}
"""Files of the page, and the package with their ``static/`` folder."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response: nothing is loaded from elsewhere, cached or framed by another page."""
Answer = Callable[[Visits, Mapping[str, Any]], dict[str, Any]]


def make_app(visits: Visits, token: str) -> Starlette:
    """Make the server as an ASGI application.

    Args:
        visits: The visits; they are not closed.
        token: First part of the path of every request.

    Raises:
        DependencyNotInstalled: The package ``starlette`` is missing.
    """
    applications = require("starlette.applications", "serve")
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.responses import Response
    from starlette.routing import Route

    def posted(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            try:
                body = parse_object(await read_body(request, LARGEST_BODY))
                return answer_json(200, await asyncio.to_thread(_try, answer, visits, body))
            except Refused as problem:
                return answer_error(problem.status, str(problem))

        return respond

    async def page(request: Request) -> Response:
        return Response(_static(__package__, "shop.html"), media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            raise HTTPException(404)
        room, kind = FILES[name]
        return Response(_static(room, name), media_type=kind)

    app: Starlette = applications.Starlette(
        routes=[
            Route("/{token}/", page, methods=["GET"]),
            Route("/{token}/static/{name}", file, methods=["GET"]),
            Route("/{token}/api/begin", posted(_begin), methods=["POST"]),
            Route("/{token}/api/look", posted(_look), methods=["POST"]),
            Route("/{token}/api/act", posted(_act), methods=["POST"]),
        ],
        exception_handlers={HTTPException: _answer_error},
        middleware=[Middleware(_Guard, token=token)],
    )
    return app


def serve(
    visits: Visits,
    *,
    host: str = "127.0.0.1",
    port: int = 8010,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Let a person shop until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        visits: The visits; they are closed at the end.
        host: Address of this machine to listen at.
        port: Port to listen at; 0 selects a free one.
        started: Called with the address of the page, token included.

    Raises:
        ConfigurationError: An argument is out of range, or the address is in use or reachable from
            other machines.
        DependencyNotInstalled: ``starlette`` or ``uvicorn`` is missing.
        KeyboardInterrupt: The user interrupted it; pending requests have been answered.
    """
    token = secrets.token_urlsafe(16)
    try:
        options.integer(port, "port", 0, 65535)
        if not is_loopback(host):
            raise ConfigurationError(
                "expected an address that only this machine reaches, such as 127.0.0.1, got "
                f"{host!r}; from another machine, use an SSH tunnel"
            )
        serve_app(
            make_app(visits, token),
            "serve",
            host=host,
            port=port,
            started=lambda url: started(f"{url}/{token}/"),
        )
    finally:
        visits.close()


class _Guard:
    """Admit requests of this server's pages only, and add security headers to every answer."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""

        async def sealed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        problem = _problem(scope, self._token) if scope["type"] == "http" else None
        app = self._app if problem is None else answer_error(403, problem)
        await app(scope, receive, sealed)


def _problem(scope: Mapping[str, Any], token: bytes) -> str | None:
    """Say why a request is refused."""
    headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
    host, port = headers.get(b"host", ""), (scope.get("server") or ("", 80))[1]
    if not names_this_machine(host, port):
        return f"expected an address of this machine and port {port}, got {host!r:.80}"
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", "none")
    navigation = headers.get(b"sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    if origin is not None and origin != f"http://{host}":
        return f"expected a request of this page, got one of {origin!r:.80}"
    if site not in ("none", "same-origin") and not navigation:
        return "expected a request of this page, got one of another"
    if scope["method"] == "POST" and not headers.get(b"content-type", "").startswith(
        "application/json"
    ):
        return "expected the content type application/json"
    path_token = scope["path"].split("/")[1].encode("utf-8", "replace")
    if not hmac.compare_digest(path_token, token):
        return "open the whole address that agentgym serve printed: the part behind the port is new"
    return None


def _try(answer: Answer, visits: Visits, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request; a failure says whether client or server is at fault."""
    try:
        return answer(visits, body)
    except TaskNotFound as error:
        raise Refused(404, str(error)) from error
    except ConfigurationError as error:
        raise Refused(400, str(error)) from error
    except AgentGymError as error:
        raise Refused(500, str(error)) from error


def _begin(visits: Visits, body: Mapping[str, Any]) -> dict[str, Any]:
    session = "" if body.get("session") is None else _field(body, "session", str)
    names = ("split", "index", "task_id", "seed")
    request = {name: body[name] for name in names if body.get(name) is not None}
    return visits.begin(session, request)


def _look(visits: Visits, body: Mapping[str, Any]) -> dict[str, Any]:
    return visits.look(_field(body, "session", str))


def _act(visits: Visits, body: Mapping[str, Any]) -> dict[str, Any]:
    search = "search" in body
    return visits.act(
        _field(body, "session", str),
        _field(body, "turn", int),
        _field(body, "search" if search else "action", str),
        search=search,
    )


def _field(body: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind:
    """Return a field of a request."""
    value = body.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Refused(400, f"expected {name} as {kind.__name__}, got {value!r:.60}")
    return value


def _static(room: str, name: str) -> bytes:
    return (resources.files(room) / "static" / name).read_bytes()


async def _answer_error(request: Request, error: Exception) -> Response:
    """Answer a request of another path or method."""
    path = f"{request.method} {request.url.path:.200}"
    return answer_error(
        getattr(error, "status_code", 500), f"expected a request of the page, got {path}"
    )
