#!/usr/bin/env bash
# Package: openai 3.57.0
# Behaviour: `timeout` bounds each wait for the next bytes, and each attempt anew. A server that keeps
#   a connection alive with line ends (as gateways do while a model thinks) is never timed out; one
#   that is too slow is asked three times and works three times; Retry-After is waited for on top.
# Seen: with timeout=1 an answer comes after 3 s of line ends; a server that needs 2 s is asked three
#   times, and the error comes after more than 3 s; a Retry-After of 4 takes 4 s.
# What to do: bound the call from outside (asyncio.wait_for, a thread), and set max_retries yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "openai==3.57.0"
"$work/venv/bin/python" - <<'PYTHON'
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai

MESSAGE = {"role": "assistant", "content": "hello"}
CHOICE = {"index": 0, "finish_reason": "stop", "message": MESSAGE}
BODY = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [CHOICE]}
ANSWER = json.dumps(BODY).encode()
requests = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        requests.append(self.path)
        if self.path.startswith("/busy") and len(requests) == 1:
            self.send_response(429)
            self.send_header("Retry-After", "4")
            self.end_headers()
            return
        if self.path.startswith("/slow"):
            time.sleep(2)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        for _ in range(6 if self.path.startswith("/alive") else 0):
            self.wfile.write(b"\n")
            self.wfile.flush()
            time.sleep(0.5)
        self.wfile.write(ANSWER)

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *arguments):
        pass  # the client is gone


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(path):
    requests.clear()
    address = f"http://127.0.0.1:{server.server_address[1]}/{path}"
    client = openai.OpenAI(api_key="none", base_url=address, timeout=1.0)
    started = time.monotonic()
    try:
        answer = client.chat.completions.create(model="m", messages=[MESSAGE])
        result = answer.choices[0].message.content
    except openai.APITimeoutError as error:
        result = type(error).__name__
    seconds = time.monotonic() - started
    print(f"{path}: {result} after {seconds:.1f} s and {len(requests)} requests")
    return result, seconds, len(requests)


print("openai", openai.__version__)
result, seconds, count = ask("alive")
assert result == "hello" and seconds > 2.5 and count == 1, "the whole answer is bounded now"
result, seconds, count = ask("slow")
assert result == "APITimeoutError" and seconds > 3 and count == 3, "all attempts are bounded now"
result, seconds, count = ask("busy")
assert result == "hello" and seconds > 3.5 and count == 2, "waits are bounded now"
PYTHON
