"""The HTTP server of remote sandboxes; :mod:`~agentgym.sandbox.remote.messages` is the protocol."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.core import options
from agentgym.errors import AgentGymError, ConfigurationError, DataError, require
from agentgym.sandbox.base import SandboxUnavailable
from agentgym.sandbox.registry import load_backend, open_sandbox
from agentgym.sandbox.remote.leased_boxes import LeaseBounds, LeasedBoxes
from agentgym.sandbox.remote.messages import LARGEST, decode, encode
from agentgym.sandbox.remote.operations import failure
from agentgym.support.caching import cache_folder
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    check_request,
    read_body,
    serve_app,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

LEASE = 60.0
"""Default duration of a lease in seconds, after which an unused sandbox is closed."""
MOST = 32
"""Default maximum number of sandboxes."""
SHORTEST_TOKEN = 16


def make_app(boxes: LeasedBoxes, token: str) -> Starlette:
    """Make the server as an ASGI application.

    Args:
        boxes: The sandboxes; the caller closes them.
        token: Token that every request must carry.

    Raises:
        ConfigurationError: The token is too short.
        DependencyNotInstalled: The package ``starlette`` is missing.
    """
    applications = require("starlette.applications", "swe")
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    if len(token) < SHORTEST_TOKEN:
        raise ConfigurationError(
            f"expected a token of at least {SHORTEST_TOKEN} characters, got {len(token)}; leave it "
            "out, and the server makes one"
        )

    def guarded(
        answer: Callable[[Request, dict[str, Any], bytes], bytes | Future[bytes]],
    ) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                check_request(request, token)
                message, body = decode(await read_body(request, LARGEST))
                return await _answer(answer, request, message, body)
            except Refused as problem:
                return answer_error(problem.status, str(problem))
            except DataError as problem:
                return answer_error(400, str(problem))

        return respond

    app: Starlette = applications.Starlette(
        routes=[
            Route(path, guarded(answer), methods=["POST"])
            for path, answer in _routes(boxes).items()
        ]
        + [Route("/health", _health, methods=["GET"])],
        exception_handlers={HTTPException: _answer_error},
    )
    return app


def serve(
    *,
    sandbox: str = "auto",
    host: str = "127.0.0.1",
    port: int = 8001,
    token: str = "",
    max_sandboxes: int = MOST,
    idle_timeout: float = LEASE,
    visible: Sequence[Path] = (),
    bounds: LeaseBounds = LeaseBounds(),  # noqa: B008  (it is frozen)
    started: Callable[[str, str], None] = lambda url, token: None,
) -> None:
    """Serve sandboxes to clients until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        sandbox: Back end of the sandboxes; it must isolate.
        host: Address to listen on.
        port: Port to listen on; 0: any free port.
        token: Token of the clients; a new one is generated if left out.
        max_sandboxes: Maximum number of sandboxes.
        idle_timeout: Seconds after which an unused sandbox is closed.
        visible: Folders of this machine that clients can make visible, besides the cache.
        bounds: Maximum limits that clients can request.
        started: Called with the server's address and token when it is ready.

    Raises:
        SandboxUnavailable: The back end cannot run here, or does not isolate.
        ConfigurationError: An argument is invalid, or the address cannot be used.
        DependencyNotInstalled: ``starlette`` or ``uvicorn`` is missing.
        KeyboardInterrupt: The process was interrupted; all sandboxes have been closed.
    """
    check_backend(sandbox)
    options.integer(max_sandboxes, "max_sandboxes", 1)
    options.integer(port, "port", 0, 65535)
    token = token or secrets.token_urlsafe(24)
    boxes = LeasedBoxes(
        lambda config: open_sandbox(config, sandbox),
        max_boxes=max_sandboxes,
        lease=idle_timeout,
        visible=(cache_folder(), *visible),
        bounds=bounds,
    )
    try:
        app = make_app(boxes, token)
        serve_app(app, "swe", host=host, port=port, started=lambda url: started(url, token))
    finally:
        boxes.close()


def check_backend(backend: str) -> None:
    """Check that a back end can run here and isolates.

    Raises:
        SandboxUnavailable: It cannot run here, or does not isolate.
        ConfigurationError: There is no such back end.
    """
    if backend == "auto":
        return
    kind = load_backend(backend)
    if kind.isolation in ("none", "remote"):
        raise SandboxUnavailable(
            f"expected a back end that keeps commands apart from this machine, got {backend!r}; "
            "use namespace or docker"
        )
    reason = kind.probe()
    if reason:
        raise SandboxUnavailable(reason)


def _routes(
    boxes: LeasedBoxes,
) -> dict[str, Callable[[Request, dict[str, Any], bytes], bytes | Future[bytes]]]:
    """Return the handler of each path."""
    return {
        "/trees": lambda request, message, body: encode({"tree": boxes.trees.add(body)}),
        "/boxes": lambda request, message, body: boxes.create(
            _name(message.get("id")), message.get("config")
        ),
        "/boxes/{box}/{operation}": lambda request, message, body: boxes.operate(
            request.path_params["box"], request.path_params["operation"], message, body
        ),
        "/leases": lambda request, message, body: encode(
            {"gone": boxes.renew(_names(message.get("boxes")))}
        ),
    }


async def _answer(
    answer: Callable[[Request, dict[str, Any], bytes], bytes | Future[bytes]],
    request: Request,
    message: dict[str, Any],
    body: bytes,
) -> Response:
    """Answer a request; the operation continues even if the client disconnects."""
    from starlette.responses import Response

    try:
        content = await asyncio.to_thread(answer, request, message, body)
        if isinstance(content, Future):
            content = await asyncio.shield(asyncio.wrap_future(content))
    except DataError:
        raise
    except AgentGymError as error:
        content = failure(error)
    return Response(content, 200, media_type="application/octet-stream")


def _name(value: object) -> str:
    """Validate the id that a client chose for a sandbox."""
    if not isinstance(value, str) or not 16 <= len(value) <= 64 or not value.isalnum():
        raise Refused(400, f"expected an id of 16 to 64 letters and digits, got {value!r:.80}")
    return value


def _names(value: object) -> list[str]:
    """Validate a list of ids of sandboxes."""
    if not isinstance(value, list):
        raise Refused(400, f"expected a list of ids, got {value!r:.80}")
    return [_name(name) for name in value]


async def _health(request: Request) -> Response:
    return answer_json(200, {"status": "healthy"})


async def _answer_error(request: Request, error: Exception) -> Response:
    """Answer a request with an unknown path or method."""
    path = f"{request.method} {request.url.path:.200}"
    return answer_error(
        getattr(error, "status_code", 500), f"expected a request of a sandbox client, got {path}"
    )
