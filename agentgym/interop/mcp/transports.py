"""Transports of the Model Context Protocol: standard streams, and HTTP.

With standard streams the client starts the server; when the client dies, the stream ends and so
does the server. With HTTP (the protocol's "streamable HTTP") an unused session is closed after a
timeout.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, TypeVar

from agentgym.core.env import TextEnv
from agentgym.errors import require
from agentgym.interop.mcp.server import McpSessions
from agentgym.interop.served_envs import LARGEST, TURNS, ServedEnvs, ServerOptions, UnknownEnv
from agentgym.support import json_rpc
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    check_request,
    interrupted_by_sigterm,
    parse_object,
    read_body,
    serve_app,
)
from agentgym.support.strict_json import dump_json

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Found = TypeVar("Found")

PATH = "/mcp"
SESSION, VERSION = "Mcp-Session-Id", "MCP-Protocol-Version"


# -- standard streams ------------------------------------------------------------------------------


def serve_stdio(make: Callable[[], TextEnv], name: str) -> None:
    """Answer the parent process until it closes the stream.

    All other output goes to standard error: the stream contains only messages.

    Args:
        make: Makes the environment.
        name: Name of the environment.

    Raises:
        AgentGymError: The environment cannot be made.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the environment has been closed.
    """
    with interrupted_by_sigterm(), _own_streams() as (reader, writer):
        answer_lines(make, name, reader, writer)


@contextmanager
def _own_streams() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Take standard input and output away from everybody else in this process."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    with os.fdopen(os.dup(0), "rb") as reader, os.fdopen(os.dup(1), "wb") as writer:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        yield reader, writer


def answer_lines(
    make: Callable[[], TextEnv], name: str, reader: IO[bytes], writer: IO[bytes]
) -> None:
    """Answer messages, one per line, until the end of the stream.

    Args:
        make: Makes the environment.
        name: Name of the environment.
        reader: Source of the messages.
        writer: Destination of the answers.
    """
    envs = ServedEnvs(make, ServerOptions(max_envs=1))
    sessions, key = McpSessions(envs, name, make()), envs.open()
    try:
        for line in _lines(reader):
            try:
                answer = sessions.answer(key, parse_object(line))
            except Refused as problem:
                answer = json_rpc.error(None, json_rpc.INVALID_REQUEST, str(problem))
            if answer is not None:
                writer.write(_encode(answer) + b"\n")
                writer.flush()
    except BrokenPipeError:
        pass  # the client has gone
    finally:
        envs.close_all()


def _encode(message: json_rpc.Message) -> bytes:
    """Return a message as JSON, an error in place of one with numbers that JSON lacks."""
    try:
        return dump_json(message).encode()
    except (TypeError, ValueError) as error:  # of an environment of somebody else
        words = f"expected an answer that is JSON, but: {error}"
        return dump_json(json_rpc.error(message["id"], json_rpc.INTERNAL_ERROR, words)).encode()


def _lines(reader: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream; of one that is too long only the beginning."""
    while line := reader.readline(LARGEST + 1):
        beginning = line
        while not line.endswith(b"\n") and (line := reader.readline(LARGEST)):
            pass
        if beginning.strip():
            yield beginning


# -- HTTP ------------------------------------------------------------------------------------------


def make_app(sessions: McpSessions, token: str = "") -> Starlette:
    """Make the server as an ASGI application.

    Args:
        sessions: The sessions; their environments are not closed.
        token: Token of every request (``Authorization: Bearer``); empty for none.

    Raises:
        DependencyNotInstalled: The package ``starlette`` is missing.
    """
    applications = require("starlette.applications", "serve")
    from starlette.routing import Route

    endpoint = _Endpoint(sessions)

    async def respond(request: Request) -> Response:
        try:
            check_request(request, token)
            return await endpoint.answer(request)
        except UnknownEnv as problem:
            return answer_error(404, str(problem))
        except Refused as problem:
            return answer_error(problem.status, str(problem))

    app: Starlette = applications.Starlette(
        routes=[Route(PATH, respond, methods=["POST", "DELETE"])]
    )
    return app


class _Endpoint:
    """Answer requests of HTTP, in threads.

    The id of a session is the number of its environment, signed, so that nobody guesses another's.
    """

    def __init__(self, sessions: McpSessions) -> None:
        self._sessions, self._secret = sessions, secrets.token_bytes(32)
        self._pool = ThreadPoolExecutor(TURNS, "turns")

    async def answer(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            Refused: It cannot be answered.
            UnknownEnv: Its session is over.
        """
        if request.method == "DELETE":
            await self._in_thread(self._sessions.envs.close, self._number(request))
            return _empty(200)
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":  # a page of another site can send other kinds unasked
            raise Refused(415, f"expected a body of type application/json, got {kind!r:.80}")
        message = parse_object(await read_body(request, LARGEST))
        if message.get("method") == "initialize":
            key, answer = await self._in_thread(self._sessions.open, message)
            response = answer_json(200 if key is not None else 503, answer)
            if key is not None:
                response.headers[SESSION] = self._signed(key)
            return response
        version = request.headers.get(VERSION, json_rpc.VERSIONS[0])
        if version not in json_rpc.VERSIONS:
            versions = ", ".join(json_rpc.VERSIONS)
            words = (
                f"expected a version that begins with a session ({versions}), got {version!r:.80}"
            )
            error = json_rpc.error(message.get("id"), json_rpc.INVALID_REQUEST, words)
            return answer_json(400, error)
        answered = await self._in_thread(self._sessions.answer, self._number(request), message)
        return _empty(202) if answered is None else answer_json(200, answered)

    async def _in_thread(self, call: Callable[..., Found], *arguments: object) -> Found:
        # What it waits for goes on if the client goes away, so that no turn is half taken.
        work = asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
        return await asyncio.shield(work)

    def _signed(self, key: int) -> str:
        """Return the id of the session of an environment."""
        return f"{key}-{hmac.new(self._secret, str(key).encode(), hashlib.sha256).hexdigest()}"

    def _number(self, request: Request) -> int:
        """Return the number of the environment of a request's session."""
        session_id = request.headers.get(SESSION, "")
        if not session_id:
            raise Refused(400, f"expected the header {SESSION}, got none: initialize first")
        number = session_id.partition("-")[0]
        is_number = number.isascii() and number.isdigit() and len(number) <= 16
        if not is_number or not hmac.compare_digest(
            session_id.encode(), self._signed(int(number)).encode()
        ):
            raise UnknownEnv("expected the id of a session of this server: initialize again")
        return int(number)


def _empty(status: int) -> Response:
    from starlette.responses import Response

    return Response(status_code=status)


def serve(make: Callable[[], TextEnv], name: str, options: ServerOptions) -> None:
    """Serve an environment over HTTP until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        make: Makes the environment of a client.
        name: Name of the environment.
        options: Address, token and limits.

    Raises:
        ConfigurationError: A field is out of range, or the address cannot be used.
        DependencyNotInstalled: ``starlette`` or ``uvicorn`` is missing.
        KeyboardInterrupt: The user interrupted it; all environments have been closed.
    """
    token = options.choose_token()
    envs = ServedEnvs(make, options)
    app = make_app(McpSessions(envs, name, make()), token)
    with envs.sweeping():
        serve_app(
            app,
            "serve",
            host=options.host,
            port=options.port,
            started=lambda url: options.started(f"{url}{PATH}", token),
        )
