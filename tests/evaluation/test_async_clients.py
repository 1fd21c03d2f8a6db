"""Async agents that keep a client open: its connections serve every episode of a process."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from agentgym import Session
from agentgym.evaluation import evaluate
from agentgym.support.event_loop import EventLoop, shared_event_loop
from tests.toy import TOY_ID


class Kept:
    """A client that is made once and never closed, as those of frameworks are."""

    def __init__(self, port: int) -> None:
        self.port, self.opened = port, 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._one_at_a_time = threading.Lock()
        self.left: list[asyncio.Task[None]] = []

    async def ask(self) -> str:
        """Send a line and wait for its echo."""
        if self._streams is None:
            self.opened += 1
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(b"red\n")
        await writer.drain()
        return (await reader.readline()).decode().strip()

    async def play(self, session: Session) -> None:
        """Press what the server says; leave a task behind."""
        self.left.append(asyncio.create_task(asyncio.sleep(600)))  # type: ignore[arg-type]
        session.tools[0](await self.ask())


@pytest.fixture
def port() -> Iterator[int]:
    """A server that sends back what it gets, on a loop of its own."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)

    with closing(EventLoop()) as loop:
        server = loop.run(asyncio.start_server(echo, "127.0.0.1", 0))
        yield server.sockets[0].getsockname()[1]


def test_a_connection_outlives_its_episode(port: int, caplog: pytest.LogCaptureFixture) -> None:
    client = Kept(port)
    for _ in range(2):
        report = evaluate(client.play, TOY_ID, num_tasks=3, concurrency=1)
        assert [row.error for row in report.rows] == [""] * 3
    assert client.opened == 1
    assert "Event loop is closed" not in caplog.text
    assert all(task.cancelled() for task in client.left), "what an episode leaves ends with it"


def test_an_agent_that_holds_the_loop_keeps_no_other_from_playing() -> None:
    first, hold_begun, go_on = shared_event_loop(), threading.Event(), threading.Event()

    async def hold() -> None:
        hold_begun.set()
        go_on.wait(30)

    async def name() -> str:
        return threading.current_thread().name

    blocked = threading.Thread(target=lambda: first.run_episode(hold()))
    blocked.start()
    assert hold_begun.wait(30)
    other_loop = shared_event_loop()
    assert other_loop is not first and other_loop.run_episode(name()) == "agentgym-event-loop"
    go_on.set()
    blocked.join(30)
    while not first.answers():
        time.sleep(0.01)
    assert shared_event_loop() is first, "it is shared again once it is free"


def test_tasks_of_other_episodes_go_on() -> None:
    loop = shared_event_loop()
    started, end = threading.Event(), threading.Event()

    async def wait_long() -> str:
        task = asyncio.create_task(asyncio.sleep(0, "done"))
        started.set()
        while not end.is_set():
            await asyncio.sleep(0.01)
        return await task

    async def leave_one() -> None:
        asyncio.create_task(asyncio.sleep(600))  # noqa: RUF006

    results: list[str] = []
    other_thread = threading.Thread(target=lambda: results.append(loop.run_episode(wait_long())))
    other_thread.start()
    assert started.wait(30)
    loop.run_episode(leave_one())
    end.set()
    other_thread.join(30)
    assert results == ["done"]


def test_an_abandoned_task_that_fails_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def leave_one() -> None:
        async def fail() -> None:
            try:
                await asyncio.sleep(600)
            finally:
                raise RuntimeError("closed")

        asyncio.create_task(fail())  # noqa: RUF006
        await asyncio.sleep(0)

    with caplog.at_level(logging.ERROR, "asyncio"):
        shared_event_loop().run_episode(leave_one())
    assert "never retrieved" not in caplog.text
