"""Search servers on this machine for tests: our own, and those that misbehave as they are told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentgym.retrieval import Hit, Passage, Retriever
from agentgym.retrieval.remote.server import make_app
from tests.servers import serve_in_thread

PASSAGES = [
    Passage("0", "Evan Morris", "Evan L. Morris was a lobbyist."),
    Passage("1", 'The "Quoted" House', "Two lines\nof text with \u00e9 and \U0001f469."),
    Passage("2", "", "no title"),
]


class Fixed:
    """Finds the same passages for every query that is not empty."""

    def __init__(self, passages: Sequence[Passage] = PASSAGES) -> None:
        self.passages = passages
        self.requests: list[tuple[list[str], int]] = []

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.requests.append((list(queries), k))
        hits = [Hit(passage, 1 / (i + 1)) for i, passage in enumerate(self.passages[:k])]
        return [hits if query else [] for query in queries]

    def close(self) -> None:
        pass


@contextmanager
def running(retriever: Retriever, topk: int = 3) -> Iterator[str]:
    """Run our server in a thread; yields its address."""
    with serve_in_thread(make_app(retriever, topk)) as url:
        yield url


Reply = Callable[[BaseHTTPRequestHandler, bytes], None]


class Script(ThreadingHTTPServer):
    """Answers request after request as it is told, and remembers what was asked."""

    daemon_threads = True

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.connections: set[Any] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Script

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.connections.add(self.client_address)
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        replies = self.server.replies
        (replies.pop(0) if len(replies) > 1 else replies[0])(self, body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def answer(
    content: Any, status: int = 200, kind: str = "application/json", **headers: str
) -> Reply:
    """Answer with JSON, or with text as it is."""
    data = (content if isinstance(content, str) else json.dumps(content)).encode()

    def reply(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        handler.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **headers,
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def hang_up(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def stop_early(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"result": ')
    handler.close_connection = True


def chunked(*chunks: bytes, complete: bool = True) -> Reply:
    """Answer in chunks, as servers do that do not know the length; perhaps without the last."""

    def reply(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in chunks:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        handler.wfile.write(b"0\r\n\r\n" if complete else b"ff\r\n[")
        handler.close_connection = not complete

    return reply


def then_hang_up(reply: Reply) -> Reply:
    """Answer, and close the connection without a word, as a server does that restarts."""

    def reply_and_close(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        reply(handler, body)
        handler.close_connection = True

    return reply_and_close


def say_nothing(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Keep the connection open."""
    time.sleep(1.5)


def trickle(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Send a byte now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(30):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


@contextmanager
def scripted(*replies: Reply) -> Iterator[Script]:
    """Run a server that answers as it is told; the last reply is repeated."""
    server = Script(replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
