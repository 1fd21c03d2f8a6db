"""A collector of OpenTelemetry that keeps what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@contextmanager
def collecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Serve a collector, to which spans are sent by default."""
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()


class Collector(ThreadingHTTPServer):
    """A collector of OpenTelemetry."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def spans(self) -> list[dict[str, Any]]:
        """The spans that were sent."""
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

        requests = map(service.ExportTraceServiceRequest.FromString, self.bodies)
        return [
            plain(MessageToDict(span))
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        pass


def plain(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span or an event with its attributes by name."""
    attributes = {pair["key"]: pair["value"] for pair in span.get("attributes", ())}
    return {**span, "attributes": {key: _value(value) for key, value in attributes.items()}}


def _value(value: dict[str, Any]) -> Any:
    [(kind, content)] = value.items()
    if kind == "arrayValue":
        return [_value(item) for item in content["values"]]
    return int(content) if kind == "intValue" else content
