"""A registry of images for tests, as far as a pull asks (OCI distribution specification, v1.1)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class Registry(ThreadingHTTPServer):
    """Holds images of one layer each, and counts what is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.limited = False
        self.pulls: list[str] = []
        self.token = ""
        """Without it, requests are told where to get it."""
        self.busy = 0
        """How many requests for manifests are told to come again."""
        self.cut = 0
        """Bytes after which the first answer with a larger blob breaks off."""
        self.elsewhere = ""
        """Address to which requests for blobs are sent on."""
        self.requests: list[tuple[str, str, str]] = []
        """Path, authorization and range of each request."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def hold(self, name: str, files: Mapping[str, bytes], machine: str = "amd64") -> None:
        """Hold an image of files under a name with a tag."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path, content in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        layer = buffer.getvalue()
        config = {
            "architecture": machine, "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }  # fmt: skip
        described = self._blob(json.dumps(config).encode(), CONFIG)
        layers = [self._blob(gzip.compress(layer, mtime=0), LAYER)]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described,
                    "layers": layers}  # fmt: skip
        data = json.dumps(manifest).encode()
        self.manifests[name] = self.manifests[f"{name.partition(':')[0]}:{_digest(data)}"] = data

    def list_of(self, name: str, parts: Mapping[str, str]) -> None:
        """Hold a list of images: machine -> name."""
        entries = [
            {"mediaType": MANIFEST, "size": len(self.manifests[part]), "digest":
             _digest(self.manifests[part]), "platform": {"os": "linux", "architecture": machine}}
            for machine, part in parts.items()
        ]  # fmt: skip
        self.manifests[name] = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()

    def _blob(self, data: bytes, kind: str) -> dict[str, Any]:
        self.blobs[_digest(data)] = data
        return {"mediaType": kind, "size": len(data), "digest": _digest(data)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry

    def do_GET(self) -> None:
        parts = self.path.removeprefix("/v2/").split("/")
        authorization = self.headers.get("Authorization", "")
        self.server.requests.append((self.path, authorization, self.headers.get("Range", "")))
        if self.path.startswith("/token"):
            self._answer(200, json.dumps({"token": self.server.token}).encode())
        elif self.server.token and authorization != f"Bearer {self.server.token}":
            challenge = f'Bearer realm="http://{self.server.address}/token",service="tests"'
            self._fail(401, "UNAUTHORIZED", "no token", {"WWW-Authenticate": challenge})
        elif self.server.elsewhere and "/blobs/" in self.path:
            self._fail(307, "MOVED", "", {"Location": f"{self.server.elsewhere}{self.path}"})
        elif parts == [""]:
            self._answer(200, b"{}")
        elif parts[-2] == "manifests" and self.server.busy:
            self.server.busy -= 1
            self._fail(429, "TOOMANYREQUESTS", "toomanyrequests: later", {"Retry-After": "0"})
        elif parts[-2] == "manifests":
            name = f"{'/'.join(parts[:-2])}:{parts[-1]}"
            if self.server.limited:
                self._fail(429, "TOOMANYREQUESTS", "toomanyrequests: you have reached your limit")
            elif name not in self.server.manifests:
                self._fail(404, "MANIFEST_UNKNOWN", "manifest unknown")
            else:
                self.server.pulls.append(f"{self.command} {name}")
                self._answer(200, self.server.manifests[name], MANIFEST)
        else:
            self._blob(self.server.blobs[parts[-1]])

    do_HEAD = do_GET

    def _blob(self, data: bytes) -> None:
        """Answer with a blob, or what is left of it; break off once if it shall be."""
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        cut, remainder = self.server.cut, data[start:]
        if cut and len(remainder) > cut:
            self.server.cut = 0
            self._answer(200, remainder, "application/octet-stream", length=cut)
            self.close_connection = True
            return
        self._answer(206 if start else 200, remainder, "application/octet-stream")

    def _fail(self, status: int, code: str, text: str, headers: Mapping[str, str] = {}) -> None:
        data = json.dumps({"errors": [{"code": code, "message": text}]}).encode()
        self._answer(status, data, headers=headers)

    def _answer(
        self, status: int, data: bytes, kind: str = "application/json", *,
        length: int | None = None, headers: Mapping[str, str] = {},
    ) -> None:  # fmt: skip
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Content-Digest", _digest(data))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:length])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def registry() -> Iterator[Registry]:
    """Run a registry on this machine, which engines trust without TLS."""
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
