"""The near side of the protocol, against answers that are late, cut or forged."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.sandbox.base import SandboxDied
from agentgym.sandbox.channel import Channel, SocketStream
from agentgym.sandbox.pid1 import Wire


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    near, far = socket.socketpair()
    channel = Channel(SocketStream(near))
    yield channel, far
    channel.close()
    far.close()


def framed(message: object) -> bytes:
    data = json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data


def test_an_answer_comes_back_with_its_body(pair: tuple[Channel, socket.socket]) -> None:
    channel, far = pair
    body = struct.pack(">I", 3) + b"abc" + struct.pack(">I", 2) + b"de" + struct.pack(">I", 0)
    far.sendall(framed({"a": 1, "body": True}) + body + framed({"b": 2}))
    assert channel.call("x") == {"a": 1, "body": b"abcde", "b": 2}


def test_an_error_inside_is_an_error_here(pair: tuple[Channel, socket.socket]) -> None:
    channel, far = pair
    far.sendall(framed({"error": "No space left on device", "errno": 28}) + framed({"fine": True}))
    with pytest.raises(OSError, match="No space") as caught:
        channel.call("x")
    assert caught.value.errno == 28
    assert channel.call("x") == {"fine": True}


def test_an_error_that_cuts_a_body_is_one_too(pair: tuple[Channel, socket.socket]) -> None:
    channel, far = pair
    far.sendall(framed({"body": True}) + struct.pack(">I", 0) + framed({"error": "I/O error"}))
    with pytest.raises(OSError, match="I/O error"):
        channel.call("x")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "the end of the stream"),
        (b"\0\0", "the end of the stream"),
        (struct.pack(">I", 5) + b"{", "the end of the stream"),
        (struct.pack(">I", 2) + b"[]", "no JSON object"),
        (struct.pack(">I", 2) + b"}{", "Expecting"),
        (b"\xff\xff\xff\xff", "a length of"),
        (struct.pack(">I", 50_000) + b"[" * 50_000, "recursion|Expecting value"),
    ],
)
def test_what_is_no_answer_is_the_end_of_a_box(
    pair: tuple[Channel, socket.socket], answer: bytes, message: str
) -> None:
    channel, far = pair
    far.sendall(answer)
    far.shutdown(socket.SHUT_WR)
    with pytest.raises(SandboxDied, match=message):
        channel.call("x", seconds=30)


def test_an_answer_that_drips_does_not_hold_the_caller(
    pair: tuple[Channel, socket.socket],
) -> None:
    channel, far = pair
    stop = threading.Event()

    def drip() -> None:
        far.sendall(struct.pack(">I", 1000))
        while not stop.wait(0.05):
            try:
                far.sendall(b" ")
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    with pytest.raises(SandboxDied, match="got nothing"):
        channel.call("x", seconds=0.5)
    stop.set()
    thread.join()


@settings(deadline=None, max_examples=50)
@given(st.text(), st.none() | st.binary(max_size=200_000))
def test_the_far_side_gets_what_was_sent(text: str, body: bytes | None) -> None:
    near, far = socket.socketpair()
    parts: list[object] = []

    def serve() -> None:
        wire = Wire(far.fileno(), far.fileno())
        request = wire.receive()
        content = b"".join(iter(lambda: wire.read(1000), b"")) if request.get("body") else None
        parts.extend([request["text"], content])
        wire.send({"body": True})
        wire.write(b"echo")
        wire.finish({})

    thread = threading.Thread(target=serve)
    thread.start()
    with near, far:
        assert Channel(SocketStream(near)).call("x", body=body, text=text)["body"] == b"echo"
        thread.join()
    assert parts == [text, body]
