"""The client of ``pid1.py``'s protocol, over any stream of bytes."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

from agentgym.sandbox.base import SandboxDied

CHUNK = 1 << 16
LARGEST = 256 << 20
"""Maximum size of a message or body, in bytes."""


class ByteStream(Protocol):
    """The connection of a channel."""

    def sendall(self, data: bytes, /) -> None:
        """Send all bytes."""

    def recv(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; empty when the other side has closed."""
        ...

    def settimeout(self, seconds: float | None, /) -> None:
        """Set the time after which operations raise ``TimeoutError``."""

    def close(self) -> None:
        """Close the connection, visibly for the other side."""


class SocketStream:
    """A socket as a stream.

    Args:
        connection: The socket.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._maker = os.getpid()
        self.sendall = connection.sendall
        self.recv = connection.recv
        self.settimeout = connection.settimeout

    def close(self) -> None:
        """Close the connection and all copies of it; in a fork close only this copy."""
        if self._maker == os.getpid():
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Channel:
    """Sends requests and waits for their answers.

    Args:
        stream: A connection to a server that was just started.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._deadline = 0.0

    def call(
        self, operation: str, *, seconds: float = 60.0, body: bytes | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Send a request and return its answer.

        Args:
            operation: The operation.
            seconds: Time limit of the answer, after which the sandbox is considered dead.
            body: Bytes that follow the request.
            **fields: Its arguments.

        Returns:
            The answer; the bytes after it, if any, are under ``"body"``.

        Raises:
            OSError: The operation failed inside.
            SandboxDied: The other side closed, or did not answer in time.
        """
        request = {"op": operation, **fields, **({} if body is None else {"body": True})}
        self._deadline = time.monotonic() + seconds
        try:
            self._stream.settimeout(seconds)
            self._stream.sendall(b"".join(_framed(request, body)))
            answer = self._message()
            if answer.get("body"):
                answer["body"] = self._body()
                answer.update(self._message())
        except (OSError, EOFError, ValueError, RecursionError) as error:
            # After a partial answer, the start of the next one is unknown.
            self.close()
            raise SandboxDied(
                f"expected an answer to {operation!r} within {seconds:.0f} seconds, got "
                f"{_describe_failure(error)}; reset the sandbox"
            ) from error
        if "error" in answer:
            raise OSError(answer.get("errno") or 0, answer["error"])
        return answer

    def close(self) -> None:
        """Close the stream, which stops the other end."""
        self._stream.close()

    def _message(self) -> dict[str, Any]:
        """Receive one message."""
        message = json.loads(self._exactly(self._size()))
        if not isinstance(message, dict):
            raise ValueError("a message that is no JSON object")
        return message

    def _body(self) -> bytes:
        """Receive all chunks up to the empty one."""
        chunks: list[bytes] = []
        room = LARGEST
        while size := self._size():
            room -= size
            if room < 0:
                raise ValueError(f"a body of more than {LARGEST} bytes")
            chunks.append(self._exactly(size))
        return b"".join(chunks)

    def _size(self) -> int:
        """Receive a length."""
        (size,) = struct.unpack(">I", self._exactly(4))
        if size > LARGEST:
            raise ValueError(f"a length of {size} bytes")
        return int(size)

    def _exactly(self, size: int) -> bytes:
        """Receive exactly ``size`` bytes before the deadline."""
        parts: list[bytes] = []
        while size:
            # Not 0, which would make the socket non-blocking.
            self._stream.settimeout(max(0.001, self._deadline - time.monotonic()))
            part = self._stream.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def unpacked(text: str) -> bytes:
    """Decode bytes of a message."""
    return base64.b64decode(text)


def packed(data: bytes) -> str:
    """Encode bytes for a message."""
    return base64.b64encode(data).decode("ascii")


def _framed(message: dict[str, Any], body: bytes | None) -> Iterator[bytes]:
    """Yield the bytes of a message and its body."""
    data = json.dumps(message).encode("ascii")
    yield struct.pack(">I", len(data)) + data
    if body is not None:
        for start in range(0, len(body), CHUNK):
            chunk = body[start : start + CHUNK]
            yield struct.pack(">I", len(chunk)) + chunk
        yield struct.pack(">I", 0)


def _describe_failure(error: Exception) -> str:
    """Describe in words what was received instead of an answer."""
    if isinstance(error, EOFError | ConnectionError | BrokenPipeError):
        return "the end of the stream"
    if isinstance(error, TimeoutError):
        return "nothing"
    return str(error) or type(error).__name__
