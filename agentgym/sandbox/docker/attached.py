"""A connection to a process in a container, as a stream of bytes.

The engine sends the process's output in frames: one byte for the stream (1 standard output, 2
standard error), three zeros, the length (four bytes, big endian), the content (Docker Engine API,
"Attach to a container: stream format"). Bytes sent to it are standard input, without frames.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

from agentgym.sandbox.channel import SocketStream
from agentgym.sandbox.docker.engine import DockerEngine

HEADER = 8
ERRORS = 2
KEPT = 2000
"""Maximum size of the stored standard error, in bytes, for messages about an early end."""


def attach(engine: DockerEngine, container: str) -> AttachedStream:
    """Attach to process 1 of a container before the container starts."""
    params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    return AttachedStream(engine.api.attach_socket(container, params=params))


class AttachedStream:
    """Standard input and output of a process in a container.

    Args:
        file: The SDK's connection.
        together: Return standard error together with standard output, instead of storing its end.
    """

    def __init__(self, file: Any, together: bool = False) -> None:
        self._file = file
        self._apart = not together
        # The SDK returns a read-only file around the socket; over TLS it returns the socket itself.
        # It keeps more references to the socket, so closing the file would not end the connection.
        self._socket = SocketStream(getattr(file, "_sock", file))
        self._head = b""
        self._frame_left = 0
        self._kind = 1
        self.errors = b""
        """The end of what it wrote to standard error."""

    def sendall(self, data: bytes) -> None:
        """Send to standard input."""
        self._socket.sendall(data)

    def recv(self, size: int) -> bytes:
        """Return the next bytes of standard output; empty when the container has ended."""
        while True:
            if not self._frame_left and not self._frame():
                return b""
            data: bytes = self._socket.recv(min(size, self._frame_left))
            self._frame_left -= len(data)
            if not (self._apart and self._kind == ERRORS and data):
                return data
            self.errors = (self.errors + data)[-KEPT:]

    def settimeout(self, seconds: float | None) -> None:
        """Set the time after which operations raise ``TimeoutError``."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close the connection, which ends the container; a fork closes only its copy."""
        with suppress(OSError):
            self._socket.close()
            # The SDK's response object also keeps the connection open.
            getattr(self._file, "_response", self._file).close()

    def _frame(self) -> bool:
        """Receive the head of the next frame; return whether there is one."""
        while not self._frame_left:
            while len(self._head) < HEADER:
                data = self._socket.recv(HEADER - len(self._head))
                if not data:
                    return False
                self._head += data
            self._kind, self._frame_left = struct.unpack(">BxxxI", self._head)
            self._head = b""
        return True
