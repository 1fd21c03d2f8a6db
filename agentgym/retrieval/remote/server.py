"""A search server for clients of Search-R1, verl, SkyRL and RAGEN.

=============== ================================================ =================================
request         body                                             answer
=============== ================================================ =================================
POST /retrieve  ``{"queries": [str], "topk", "return_scores"}``  ``{"result": [[item]]}``: an item
                                                                 is ``{"document", "score"}`` with
                                                                 scores, else the document, which
                                                                 is ``{"id", "contents"}``
POST /retrieve  ``{"query": str, "top_k"}``                      ``{"results": [{"id", "content",
                                                                 "score"}]}``
GET /health                                                      ``{"status": "healthy"}``
=============== ================================================ =================================

Errors are ``{"error": text}`` with a status that says whose they are.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from agentgym.core import options
from agentgym.errors import AgentGymError, EnvFailure, require
from agentgym.retrieval.passage_text import join_contents
from agentgym.retrieval.retriever import Hit, Retriever
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    check_request,
    is_loopback,
    parse_object,
    read_body,
    serve_app,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

LARGEST_BODY = 1 << 24
"""Most bytes of a request."""
LARGEST_TOPK = 100
MOST_QUERIES = 1024
"""Most queries of a request."""
_log = logging.getLogger(__name__)


def make_app(retriever: Retriever, topk: int = 3, *, any_host: bool = True) -> Starlette:
    """Make the server as an ASGI application, for use in another server.

    Args:
        retriever: The retriever; it is called from several threads at a time, and is not closed.
        topk: Documents per query where a request does not say how many.
        any_host: Answer requests by any name. Otherwise they must name this machine, which a page
            of another site cannot make them do.

    Raises:
        ConfigurationError: ``topk`` is out of range.
        DependencyNotInstalled: The package ``starlette`` is missing.
    """
    options.integer(topk, "topk", 1, LARGEST_TOPK)
    applications = require("starlette.applications", "search")
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    # Searches run in threads, so that a long one does not hold up the others.
    threads = ThreadPoolExecutor(min(8, os.cpu_count() or 1), "search")

    async def retrieve(request: Request) -> Response:
        try:
            check_request(request, "", any_host=any_host)
            body = parse_object(await read_body(request, LARGEST_BODY))
            answer = _prepare(body, topk)
            return await _in_thread(threads, answer, retriever)
        except Refused as problem:
            return answer_error(problem.status, str(problem))

    app: Starlette = applications.Starlette(
        routes=[
            Route("/retrieve", retrieve, methods=["POST"]),
            Route("/health", _health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _answer_error},
    )
    return app


def serve(
    retriever: Retriever,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    topk: int = 3,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Answer searches until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        retriever: The retriever.
        host: Address to listen at; others than this machine's own make the index public.
        port: Port to listen at; 0 selects a free one.
        topk: Documents per query where a request does not say how many.
        started: Called with the server's address when it answers.

    Raises:
        ConfigurationError: The address cannot be used, or an argument is out of range.
        DependencyNotInstalled: ``starlette`` or ``uvicorn`` is missing.
        KeyboardInterrupt: The user interrupted it; pending requests have been answered.
    """
    options.integer(port, "port", 0, 65535)
    app = make_app(retriever, topk, any_host=not is_loopback(host))
    serve_app(app, "search", host=host, port=port, started=started)


async def _health(request: Request) -> Response:
    return answer_json(200, {"status": "healthy"})


async def _answer_error(request: Request, error: Exception) -> Response:
    """Answer a request of another path or method."""
    path = f"{request.method} {request.url.path:.200}"
    return answer_error(
        getattr(error, "status_code", 500), f"expected POST /retrieve or GET /health, got {path}"
    )


Answer = Callable[[Retriever], "Response"]


def _prepare(body: dict[str, Any], default: int) -> Answer:
    """Validate a request and return its handler."""
    if "queries" in body:
        queries, scored = body["queries"], body.get("return_scores", False)
        _check_queries(queries)
        if not isinstance(scored, bool | None):
            raise Refused(400, f"expected return_scores to be true or false, got {scored!r:.60}")
        k = _topk(body, "topk", default)
        return lambda retriever: _search_r1(retriever.search(queries, k), bool(scored))
    if "query" in body:
        _check_queries([body["query"]])
        k = _topk(body, "top_k", default)
        return lambda retriever: _ragen(retriever.search([body["query"]], k))
    raise Refused(
        400,
        'expected {"queries": [...], "topk": 3, "return_scores": true}, or {"query": "...", '
        f'"top_k": 3}}, got the fields {sorted(body)!s:.200}',
    )


def _check_queries(queries: Any) -> None:
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise Refused(400, f"expected queries as a list of strings, got {queries!r:.60}")
    if len(queries) > MOST_QUERIES:
        raise Refused(400, f"expected at most {MOST_QUERIES} queries, got {len(queries)}")


def _topk(body: dict[str, Any], name: str, default: int) -> int:
    """Return how many documents a request wants; none and 0 are the server's own number."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | None) or not (value or 0) >= 0:
        raise Refused(400, f"expected {name} to be an integer of at least 0, got {value!r:.60}")
    if (value or 0) > LARGEST_TOPK:
        raise Refused(400, f"expected {name} to be at most {LARGEST_TOPK}, got {value}")
    return value or default


def _search_r1(hit_lists: Sequence[Sequence[Hit]], scored: bool) -> Response:
    def item(hit: Hit) -> dict[str, Any]:
        passage = hit.passage
        contents = join_contents(passage.title, passage.text)
        document = {"id": passage.id, "contents": contents}
        return {"document": document, "score": hit.score} if scored else document

    return answer_json(200, {"result": [[item(hit) for hit in hits] for hits in hit_lists]})


def _ragen(hit_lists: Sequence[Sequence[Hit]]) -> Response:
    results = [
        {
            "id": hit.passage.id,
            "content": join_contents(hit.passage.title, hit.passage.text),
            "score": hit.score,
        }
        for hit in hit_lists[0]
    ]
    return answer_json(200, {"results": results, "num_results": len(results)})


async def _in_thread(threads: Executor, answer: Answer, retriever: Retriever) -> Response:
    """Search, and put failures into words."""
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, answer, retriever)
    except EnvFailure as error:
        raise Refused(503, f"the search failed: {error}") from error
    except AgentGymError as error:
        raise Refused(500, f"the search failed: {error}") from error
    except Exception as error:
        _log.exception("a search failed")
        raise Refused(500, f"the search failed with {type(error).__name__}: {error}") from error
