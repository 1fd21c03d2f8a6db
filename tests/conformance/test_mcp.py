"""The clients of the official package of MCP, in version 1 or 2, at our server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is in .ci/peers")

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

from agentgym.agents import call_text
from tests.conformance.episodes import HOSTILE, IDS, Turn, bare, digest, episodes, reset_options
from tests.toy import ToyEnv

NEWER = hasattr(mcp, "Client")
"""Whether this is version 2, whose client asks for a session only where there is no other way."""
SERVE = ["-m", "agentgym", "serve", "mcp"]

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def connected(url: str = "", arguments: tuple[str, ...] = ()) -> AsyncIterator[Any]:
    """Begin a session: at an address, or with a server that is started for it."""
    if url:
        try:
            from mcp.client.streamable_http import streamable_http_client
        except ImportError:
            from mcp.client.streamable_http import streamablehttp_client as streamable_http_client
        transport = streamable_http_client(url)
    else:
        argv = [*SERVE, *arguments]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        transport = stdio_client(
            StdioServerParameters(command=sys.executable, args=argv, env=environment)
        )
    if NEWER:
        async with mcp.Client(transport) as client:
            yield client
    else:
        async with (
            transport as (reading, writing, *_),
            mcp.ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            yield session


async def call(client: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    answer: dict[str, Any] = result.model_dump(by_alias=True)
    return answer


def turn(answer: dict[str, Any]) -> Turn:
    assert not answer["isError"], answer
    content = answer["structuredContent"]
    assert content["observation"] in answer["content"][0]["text"]
    return content["observation"], content["reward"], content["done"]


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Serve over HTTP; yields the address."""
    argv = [sys.executable, *SERVE, *arguments, "--http", "--no-token", "--port", "0"]
    with subprocess.Popen(
        argv, text=True, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"}
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split(" is at ")[1].split(";")[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


async def play_episodes(client: Any, expected: list[Any]) -> list[list[Turn]]:
    """Play episodes by calls of tools."""
    transcripts = []
    for episode in expected:
        options = {**reset_options(episode.index), "seed": episode.index}
        turns = [turn(await call(client, "start_episode", options))]
        for action in episode.actions:
            request = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
            turns.append(turn(await call(client, request["name"], request["arguments"])))
        transcripts.append(turns)
    return transcripts


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    """Over standard streams and over HTTP; hostile text stands in an argument, or is a tool."""
    env = bare(env_id, "tool_call")
    spec = env.language.specs[0]
    # A client cannot send what is no Unicode.
    text = HOSTILE[1].replace("\ud800", "?")
    hostile = [
        call_text(spec.name, {param.name: text for param in spec.params}),
        call_text("no tool", {"x": text}),
    ]
    expected = episodes(env, env_id, hostile)
    env.close()

    async def through(url: str) -> list[list[Turn]]:
        async with connected(url, (env_id,)) as client:
            return await play_episodes(client, expected)

    expected_digest = digest([episode.turns for episode in expected])
    assert digest(asyncio.run(through(""))) == expected_digest
    with served(env_id) as url:
        assert digest(asyncio.run(through(url))) == expected_digest


@pytest.mark.slow
def test_sessions_over_http_do_not_meet() -> None:
    """256 sessions at the same time: each equals one played alone."""

    async def play_session(url: str, index: int, room: asyncio.Semaphore) -> list[Turn]:
        async with connected(url) as client:
            turns = [turn(await call(client, "start_episode", {"seed": index, "index": index}))]
            async with room:
                for n in range(3):
                    if not turns[-1][2]:
                        colour = ("red", "blue", "green", "gold")[(index + n) % 4]
                        turns.append(turn(await call(client, "press", {"colour": colour})))
            return turns

    async def all_of_them(url: str) -> list[list[Turn]]:
        room = asyncio.Semaphore(32)
        return await asyncio.gather(*(play_session(url, index, room) for index in range(256)))

    def alone(index: int) -> list[Turn]:
        env = ToyEnv(grammar="tool_call")
        turns = [(env.reset(seed=index, options={"index": index})[0], 0.0, False)]
        for n in range(3):
            if not turns[-1][2]:
                colour = ("red", "blue", "green", "gold")[(index + n) % 4]
                text, reward, terminated, cut, _ = env.step(call_text("press", {"colour": colour}))
                turns.append((text, reward, terminated or cut))
        return turns

    with served("tests.toy:agentgym-test/Toy-v0") as url:
        sessions = asyncio.run(all_of_them(url))
    assert sessions == [alone(index) for index in range(256)]


@pytest.mark.slow
def test_what_a_client_is_told_of_the_tools() -> None:
    async def list_tools() -> tuple[Any, Any]:
        async with connected("", ("tests.toy:agentgym-test/Toy-v0",)) as client:
            listed = (await client.list_tools()).model_dump(by_alias=True)["tools"]
            bad = await call(client, "start_episode", {"split": "no"})
            return listed, bad

    listed, bad = asyncio.run(list_tools())
    assert [tool["name"] for tool in listed] == ["start_episode", "press"]
    assert listed[1]["inputSchema"]["required"] == ["colour"]
    assert bad["isError"] and "train, valid, test" in bad["content"][0]["text"]
