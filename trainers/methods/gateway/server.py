"""The endpoint: an HTTP server on this machine alone, with a token for every episode.

    POST /v1/chat/completions   a chat completion, whole or as a stream
    POST /v1/responses          the same in the form of the responses API, whole
    GET  /v1/models             the one model
    GET  /v1/session            the episode: instruction, observation, tools, turns
    POST /v1/session            a turn: {"text"} or {"name", "arguments"}; the same answer
    POST /v1/mcp                the episode by the Model Context Protocol, whose tools are actions

A token opens its own episode and nothing else, and only as long as that is played.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies_environment

from agentgym.agents import ModelAddress
from agentgym.errors import require
from agentgym.support.http_server import (
    KEEP_ALIVE,
    Refused,
    answer_json,
    check_request,
    listen,
    parse_object,
    read_body,
)
from agentgym.support.strict_json import dump_json
from trainers.methods.gateway.agents import MODEL_NAME
from trainers.methods.gateway.chat_answer import chunks, completion
from trainers.methods.gateway.chat_request import read_request
from trainers.methods.gateway.episode import AgentEpisode
from trainers.methods.gateway.mcp_door import answer_message
from trainers.methods.gateway.responses import read_responses_request, response

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["GatewayServer"]

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
LARGEST = 4 << 20
"""Most bytes of a request."""
WORKERS = 256
"""Calls that are under way at the same time, of all episodes together."""
STOP_SECONDS = 30.0
"""How long the server may take to stop."""


class GatewayServer:
    """Answer the agents of all open episodes.

    It runs in a separate thread from the first episode on.
    """

    def __init__(self) -> None:
        self._episodes: dict[str, AgentEpisode] = {}
        self._lock = threading.Lock()
        self._url = ""
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._pool: ThreadPoolExecutor | None = None

    def address(self) -> ModelAddress:
        """Return where an episode that is still to be opened will be answered."""
        with self._lock:
            if self._thread is None:
                self._start()
        base = f"{self._url}/v1"
        return ModelAddress(base, secrets.token_urlsafe(24), MODEL_NAME, f"{base}/mcp")

    def open(self, address: ModelAddress, episode: AgentEpisode) -> None:
        """Answer an episode at its address."""
        self._episodes[address.api_key] = episode

    def shut(self, address: ModelAddress) -> None:
        """Answer an episode no more."""
        self._episodes.pop(address.api_key, None)

    def close(self) -> None:
        """Stop the server; calling it twice is allowed."""
        with self._lock:
            server, thread, self._server, self._thread = self._server, self._thread, None, None
            if server is None or thread is None:
                return
            self._episodes.clear()
            server.should_exit = server.force_exit = True
            thread.join(STOP_SECONDS)
            assert self._pool is not None
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Begin to answer."""
        uvicorn = require("uvicorn", "serve")
        self._pool = ThreadPoolExecutor(WORKERS, "agentgym-gateway")
        listening = listen(HOST, 0)
        call_directly(HOST)
        config = uvicorn.Config(
            self._app(), access_log=False, log_level="error", server_header=False, ws="none",
            lifespan="off", timeout_graceful_shutdown=1, timeout_keep_alive=KEEP_ALIVE,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._url = f"http://{HOST}:{listening.getsockname()[1]}"
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), name="agentgym-gateway", daemon=True
        )
        self._thread.start()

    def _app(self) -> Starlette:
        """Return the application."""
        require("starlette", "serve")
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route

        def models(episode: AgentEpisode, body: Mapping[str, Any]) -> Response:
            model = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "agentgym"}
            return answer_json(200, {"object": "list", "data": [model]})

        def session(episode: AgentEpisode, body: Mapping[str, Any]) -> Response:
            return answer_json(200, episode.act(body))

        def mcp(episode: AgentEpisode, body: Mapping[str, Any]) -> Response:
            answer = answer_message(episode, body)
            return Response(status_code=202) if answer is None else answer_json(200, answer)

        routes = [
            Route("/v1/chat/completions", self._guarded(self._complete), methods=["POST"]),
            Route("/v1/responses", self._guarded(self._respond), methods=["POST"]),
            Route("/v1/models", self._guarded(models), methods=["GET"]),
            Route("/v1/session", self._guarded(session), methods=["GET", "POST"]),
            Route("/v1/mcp", self._guarded(mcp), methods=["POST"]),
        ]
        return Starlette(routes=routes)

    def _guarded(
        self, answer: Callable[[AgentEpisode, Mapping[str, Any]], Response]
    ) -> Callable[[Request], Any]:
        """Return the handler for a request of an open episode."""

        async def respond(request: Request) -> Response:
            try:
                check_request(request, "", any_host=True)  # containers reach this machine by others
            except Refused as problem:
                return _refusal(problem)
            episode = self._episode(request)
            if episode is None:
                return _refusal(Refused(401, "expected the token of an episode under way"))
            # Ending an episode waits for its running turn, which here would block all others.
            in_thread = partial(asyncio.get_running_loop().run_in_executor, self._pool)
            try:
                body = await read_body(request, LARGEST)
            except Refused as problem:
                if problem.status != 413:  # hung up, and may ask again
                    return _refusal(problem)
                words = f"sent more than {LARGEST:,} bytes"
                return _refusal(await in_thread(episode.ended, problem.status, words))
            try:
                payload = parse_object(body) if body.strip() else {}
                return await in_thread(answer, episode, payload)
            except Refused as problem:
                return _refusal(problem)
            except Exception as error:  # such as of tools that are nested too deeply
                logger.warning("a request of an agent could not be answered", exc_info=error)
                words = f"asked what could not be answered ({type(error).__name__})"
                return _refusal(await in_thread(episode.ended, 400, words))

        return respond

    def _episode(self, request: Request) -> AgentEpisode | None:
        """Return the episode of a request's token; None if there is none."""
        # Found by its hash: how long that takes tells nothing of another token.
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return self._episodes.get(token.strip()) if kind.lower() == "bearer" else None

    def _complete(self, episode: AgentEpisode, body: Mapping[str, Any]) -> Response:
        """Answer a chat completion."""
        answer = episode.ask(body, read_request)
        name = str(next(episode.numbers))
        if body.get("stream") is not True:
            return answer_json(200, completion(answer, name, MODEL_NAME))
        from starlette.responses import StreamingResponse

        options = body.get("stream_options")
        counts = isinstance(options, Mapping) and options.get("include_usage") is True
        parts = chunks(answer, name, MODEL_NAME, counts)
        return StreamingResponse(_events(parts), media_type="text/event-stream")

    def _respond(self, episode: AgentEpisode, body: Mapping[str, Any]) -> Response:
        """Answer a request of the responses API."""
        answer = episode.ask(body, read_responses_request)
        return answer_json(200, response(answer, str(next(episode.numbers)), MODEL_NAME))


async def _events(parts: Iterator[dict[str, Any]]) -> AsyncIterator[str]:
    """Yield the parts of a stream as server-sent events."""
    for part in parts:
        yield f"data: {dump_json(part)}\n\n"
    yield "data: [DONE]\n\n"


def _refusal(problem: Refused) -> Response:
    """Return an error in OpenAI's format."""
    kind = "invalid_request_error" if problem.status < 500 else "server_error"
    return answer_json(
        problem.status, {"error": {"message": str(problem), "type": kind, "code": None}}
    )


def call_directly(host: str) -> None:
    """Exempt a host from the environment's proxies, in this process and its children.

    Clients of models obey ``HTTP_PROXY``. A remote proxy cannot reach this machine's loopback, and
    would learn the tokens of episodes.

    Args:
        host: The host, as it is called.
    """
    if not {"http", "all"} & getproxies_environment().keys():
        return
    # Clients differ in which of the two names they read.
    names = ("no_proxy", "NO_PROXY")
    default = next(filter(None, map(os.environ.get, names)), "")
    for name in names:
        direct = os.environ.get(name) or default
        is_listed = direct == "*" or host in direct.split(",")
        os.environ[name] = direct if is_listed else ",".join(filter(None, (direct, host)))
