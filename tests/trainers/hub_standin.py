"""A stand-in of the Hugging Face hub: as much of its API as an upload of a folder asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_secretOfTheTests"
"""The only token that is let in."""


@dataclass
class Hub:
    """What was uploaded, and what the next requests are answered with."""

    url: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by repository."""
    visibility: dict[str, str | None] = field(default_factory=dict)
    """What was asked for as the repository was made."""
    commits: list[str] = field(default_factory=list)
    """Their messages."""
    objects: dict[str, bytes] = field(default_factory=dict)
    """Large files by SHA-256, before they are committed."""
    refuse_at: str = ""
    """Part of the path of requests that are refused."""
    refusal: tuple[int, str] = (401, "Invalid username or password.")
    """Status and sentence of the refusal."""


@contextmanager
def running() -> Iterator[Hub]:
    """Serve a hub on a free port of this machine."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    state: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Say what a repository is, which an upload asks before it sends anything."""
        self._body()
        if not self._refused():
            name = self.path.split("/api/models/")[-1].split("/revision")[0]
            exists = name in self.state.repositories
            body = {"id": name, "sha": "0" * 40, "private": False, "siblings": []}
            self._answer(200 if exists else 404, body if exists else {"error": "not found"})

    def do_PUT(self) -> None:
        """Take a large file."""
        content = self._body()
        if self._refused():
            return
        self.state.objects[hashlib.sha256(content).hexdigest()] = content
        self._answer(200, {})

    def do_POST(self) -> None:
        """Make a repository, say how files are to be sent, or commit them."""
        content = self._body()
        if self._refused():
            return
        path = self.path.split("?")[0]
        if path == "/api/repos/create":
            self._create(json.loads(content))
        elif path == "/api/validate-yaml":
            self._answer(200, {"errors": [], "warnings": []})
        elif "/preupload/" in path:
            self._preupload(json.loads(content))
        elif path.endswith("/info/lfs/objects/batch"):
            self._batch(json.loads(content))
        elif "/commit/" in path:
            self._commit(path, [json.loads(line) for line in content.splitlines()])
        else:
            self._answer(404, {"error": f"no such call: {path}"})

    def _create(self, request: dict[str, Any]) -> None:
        name = f"{request['organization']}/{request['name']}"
        is_new = name not in self.state.repositories
        if is_new:
            self.state.repositories[name] = {}
            self.state.visibility[name] = request.get("visibility")
        url = {"url": f"{self.state.url}/{name}", "name": name}
        self._answer(200 if is_new else 409, url)

    def _preupload(self, request: dict[str, Any]) -> None:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                "shouldIgnore": False,
            }
            for file in request["files"]
        ]
        self._answer(200, {"files": files})

    def _batch(self, request: dict[str, Any]) -> None:
        def upload(blob: dict[str, Any]) -> dict[str, Any]:
            link = {"href": f"{self.state.url}/upload/{blob['oid']}"}
            return {"oid": blob["oid"], "size": blob["size"], "actions": {"upload": link}}

        objects = [upload(blob) for blob in request["objects"]]
        self._answer(200, {"transfer": "basic", "objects": objects})

    def _commit(self, path: str, lines: list[dict[str, Any]]) -> None:
        files = self.state.repositories[path.split("/api/models/")[1].split("/commit/")[0]]
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.state.commits.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            else:
                files[value["path"]] = self.state.objects[value["oid"]]
        self._answer(
            200, {"commitUrl": f"{self.state.url}/commit", "commitOid": "1" * 40, "success": True}
        )

    def _refused(self) -> bool:
        """Refuse a request without the token, and those that are to be refused."""
        status, sentence = self.state.refusal
        refused = self.state.refuse_at and self.state.refuse_at in self.path
        # The address that takes a large file is a secret of its own.
        authorized = self.headers.get("authorization") == f"Bearer {TOKEN}"
        if not refused and (authorized or self.path.startswith("/upload/")):
            return False
        self._answer(status if refused else 401, {"error": sentence})
        return True

    def _body(self) -> bytes:
        """Read what was sent, whole or in chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if status >= 400:
            self.send_header("x-error-message", content.get("error", ""))
        self.end_headers()
        self.wfile.write(body)
