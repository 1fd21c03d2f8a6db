"""Serve a scripted judge that accepts every episode.

    python benchmarks/scripted_judge.py

Serves chat completions on the loopback interface until it is interrupted, and answers each question
of the hook ``judge_mask``. So a method with a judge can run completely on a toy environment, in
which a judge has nothing to reject.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8765
URL = f"http://127.0.0.1:{PORT}/v1"
"""The hook's URL."""
_MARK = re.compile(r"VERDICT (\w+) DECISION")


def answer(question: str) -> str:
    """Return the verdict on the episode of a question."""
    marks = _MARK.findall(question)  # the last one, because the episode's text may contain others
    return f"Nothing went wrong.\nVERDICT {marks[-1]} SOUND" if marks else "This is no question."


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": answer(request["messages"][-1]["content"])}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        body = json.dumps(
            {
                "id": "1", "object": "chat.completion", "created": 0, "model": "script",
                "choices": [choice], "usage": usage,
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve."""
    with ThreadingHTTPServer(("127.0.0.1", PORT), _Handler) as server:
        print(f"judging at {URL}; end with Ctrl-C")
        server.serve_forever()


if __name__ == "__main__":
    main()
