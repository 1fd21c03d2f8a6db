"""A local server of chat completions that answers as a function says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, bytes]
"""Status and body of a response."""


def completion(text: str) -> Reply:
    """Return a response with one message of the model."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    common = {"id": "1", "object": "chat.completion", "created": 0, "model": "script"}
    return 200, json.dumps({**common, "choices": [choice], "usage": usage}).encode()


class Endpoint(ThreadingHTTPServer):
    """Answers every chat completion with what a function returns for the body of the request.

    Args:
        answer: The function; called in the thread of the connection, so it may wait.
        port: Port on the loopback interface; 0: a free one.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer: Callable[[bytes], Reply], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer = answer
        self.lock = threading.Lock()
        self.in_flight = self.most = self.requests = 0

    @property
    def url(self) -> str:
        """Its address, up to /v1."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that are gone."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.lock:
            server.requests += 1
            server.in_flight += 1
            server.most = max(server.most, server.in_flight)
        try:
            status, data = server.answer(body)
        finally:
            with server.lock:
                server.in_flight -= 1
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status >= 500:
            self.send_header("retry-after-ms", "100")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(answer: Callable[[bytes], Reply]) -> Iterator[Endpoint]:
    """Serve in a thread."""
    server = Endpoint(answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
