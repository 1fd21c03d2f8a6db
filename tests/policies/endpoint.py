"""A real HTTP server that speaks the chat-completions protocol on the loopback interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-of-the-environment-4711"


@dataclass
class Canned:
    """An answer with all that may be wrong with one."""

    body: Any
    """JSON data, or text or bytes as they are, or an iterator of bytes that ends when it likes."""
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})
    announced: int | None = None
    """Bytes announced, if not as many as are sent."""


Answer = Callable[[dict[str, Any], int], Any]


class ChatServer:
    """Answers requests with what ``answer(body, number)`` returns: a `Canned`, or its JSON body."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint.lock:
                    endpoint.requests.append(body)
                    endpoint.keys.append(self.headers["Authorization"])
                    number = len(endpoint.requests)
                    endpoint.in_flight += 1
                    endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
                try:
                    self.send(answer(body, number))
                finally:
                    with endpoint.lock:
                        endpoint.in_flight -= 1

            def send(self, reply: Any) -> None:
                canned = reply if isinstance(reply, Canned) else Canned(reply)
                data = canned.body
                if isinstance(data, Iterator):
                    return self.pour(canned, data)
                if not isinstance(data, str | bytes):
                    data = json.dumps(data)
                data = data if isinstance(data, bytes) else data.encode()
                self.send_response(canned.status)
                self.send_header("Content-Type", canned.kind)
                self.send_header("Content-Length", str(canned.announced or len(data)))
                for name, value in canned.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = True

            def pour(self, canned: Canned, pieces: Iterator[bytes]) -> None:
                self.send_response(canned.status)
                self.send_header("Content-Type", canned.kind)
                self.end_headers()
                self.close_connection = True
                with suppress(OSError):  # nobody listens any more
                    for piece in pieces:
                        self.wfile.write(piece)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def completion(text: Any, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [choice], "usage": usage,
    }  # fmt: skip


def call(arguments: str, id_: str | None = None, name: str = "press") -> dict[str, Any]:
    tool_call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return tool_call if id_ is None else {"id": id_, **tool_call}


def events(*pieces: Any, done: bool = True) -> Canned:
    """Return a stream of server-sent events, each a delta, or a whole chunk."""
    lines = [f"data: {json.dumps(piece)}\n\n" for piece in map(_chunk, pieces)]
    body = "".join([*lines, "data: [DONE]\n\n"] if done else lines)
    return Canned(body, kind="text/event-stream")


def _chunk(piece: dict[str, Any]) -> dict[str, Any]:
    if "choices" in piece or "error" in piece:
        return piece
    delta = {name: value for name, value in piece.items() if name != "finish_reason"}
    choice = {"index": 0, "delta": delta, "finish_reason": piece.get("finish_reason")}
    return {
        "id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [choice],
    }  # fmt: skip


def refusal(message: str, status: int = 400, **error: Any) -> Canned:
    return Canned({"error": {"message": message, **error}}, status)


def press_next(body: dict[str, Any], number: int) -> dict[str, Any]:
    colour = body["messages"][-1]["content"].split()[-1]
    return completion(f"<think>press pink?</think>\npress {colour}")


def texts(messages: Iterable[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in messages]
