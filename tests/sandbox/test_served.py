"""What a host makes of answers of a server inside that commands have taken over."""

from __future__ import annotations

import io
import os
import socket
import tarfile
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from agentgym.sandbox.base import Sandbox, SandboxConfig, SandboxDied
from agentgym.sandbox.channel import Channel, SocketStream
from agentgym.sandbox.pid1 import PeerGone, Wire
from agentgym.sandbox.served import ServedSandbox


class Forged(ServedSandbox):
    """A sandbox whose server answers what a test says."""

    isolation: ClassVar[str] = "none"
    capabilities = frozenset()  # type: ignore[assignment]

    def __init__(self, answer: Any, body: bytes | None) -> None:
        super().__init__(SandboxConfig())
        self._forged, self._body = answer, body

    def start(self) -> Forged:
        near, self._far = socket.socketpair()
        self._channel = Channel(SocketStream(near))
        self._maker = os.getpid()
        threading.Thread(target=self._serve, args=(self._far,), daemon=True).start()
        return self

    def _serve(self, far: socket.socket) -> None:
        wire = Wire(far.fileno(), far.fileno())
        try:
            wire.receive()
            if self._body is None:
                wire.send(self._forged)
            else:
                wire.send({**self._forged, "body": True})
                wire.write(self._body)
                wire.finish({})
        except PeerGone:
            pass

    def _launch(self) -> Channel:
        raise NotImplementedError

    def _dispose(self) -> None:
        self._far.close()

    def _rlimits(self) -> dict[str, int]:
        return {}


RESULT = {"exit_code": 0, "output": "", "truncated": 0, "timed_out": False, "flooded": False,
          "killed": 0, "seconds": 0}  # fmt: skip


def sparse() -> bytes:
    """Return a small archive of a file that says it is large."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        holes = tarfile.TarInfo("holes")
        holes.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40)}
        archive.addfile(holes)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("operation", "answer", "body"),
    [
        (lambda box: box.exec("true"), {"error": "Too many open files", "errno": 24}, None),
        (lambda box: box.exec("true"), {}, None),
        (lambda box: box.exec("true"), {**RESULT, "output": 5}, None),
        (lambda box: box.exec("true"), {**RESULT, "output": "a"}, None),
        (lambda box: box.exec("true"), {**RESULT, "exit_code": []}, None),
        (lambda box: box.changes(), {"deleted": 5}, b""),
        (lambda box: box.changes(), {}, b""),
        (lambda box: box.changes(), {"deleted": []}, b"no archive"),
        (lambda box: box.changes(), {"error": "No space left on device", "errno": 28}, None),
        (lambda box: box.snapshot(), {}, None),
    ],
)
def test_what_cannot_be_read_is_the_end_of_the_box(
    operation: Callable[[Sandbox], object], answer: dict[str, Any], body: bytes | None
) -> None:
    box = Forged(answer, body)
    with box, pytest.raises(SandboxDied, match="reset the sandbox"):
        operation(box)


def test_a_file_that_says_it_is_large_takes_no_memory() -> None:
    with Forged({"deleted": ["gone"]}, sparse()) as box:
        assert box.changes() == {"gone": None}
