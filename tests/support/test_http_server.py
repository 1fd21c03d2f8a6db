"""Every server refuses pages of other sites and what is no JSON, and bears clients that hang up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from agentgym.interop import http_server
from agentgym.interop.mcp import transports
from agentgym.interop.mcp.server import McpSessions
from agentgym.interop.served_envs import ServedEnvs
from agentgym.retrieval.remote import server as search_server
from agentgym.sandbox.remote import server as sandbox_server
from agentgym.sandbox.remote.leased_boxes import LeasedBoxes
from agentgym.support.http_server import (
    Application,
    GuardedApp,
    answer_json,
    is_foreign,
    names_this_machine,
)
from tests.asgi import FOREIGN, HERE, send
from tests.retrieval.servers import Fixed
from tests.toy import ToyEnv

TOKEN = "a token of some length"


async def other_project(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers 200 to all."""
    await receive()
    await answer_json(200, {})(scope, receive, send)


class Served(NamedTuple):
    app: Application
    path: str
    headers: Mapping[str, str]
    open: bool
    """Whether it asks for no token."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with ExitStack() as stack:
        envs, tools = ServedEnvs(ToyEnv), ServedEnvs(lambda: ToyEnv(grammar="tool_call"))
        stack.callback(envs.close_all)
        stack.callback(tools.close_all)
        sessions = McpSessions(tools, "toy", ToyEnv(grammar="tool_call"))
        boxes = LeasedBoxes(lambda config: pytest.fail("no box"), max_boxes=1, lease=60.0)
        stack.callback(boxes.close)
        about = http_server.describe("toy", ToyEnv())
        yield {
            "http": Served(http_server.make_app(envs, about), "/reset", {}, True),
            "http with a token": Served(
                http_server.make_app(envs, about, TOKEN), "/reset", bearer, False
            ),
            "mcp": Served(transports.make_app(sessions), "/mcp", {}, True),
            "mcp with a token": Served(transports.make_app(sessions, TOKEN), "/mcp", bearer, False),
            "openenv": Served(GuardedApp(other_project, "", 1000), "/reset", {}, True),
            "openenv with a token": Served(
                GuardedApp(other_project, TOKEN, 1000), "/reset", bearer, False
            ),
            "search": Served(
                search_server.make_app(Fixed(), any_host=False), "/retrieve", {}, True
            ),
            "search for others": Served(search_server.make_app(Fixed()), "/retrieve", {}, False),
            "sandbox": Served(sandbox_server.make_app(boxes, TOKEN), "/boxes", bearer, False),
        }


NAMES = (
    "http", "http with a token", "mcp", "mcp with a token", "openenv", "openenv with a token",
    "search", "search for others", "sandbox",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("origin", FOREIGN)
def test_no_page_of_another_site_is_answered(
    servers: dict[str, Served], name: str, origin: str
) -> None:
    served = servers[name]
    answer = send(served.app, served.path, origin=origin, **served.headers)
    assert answer.status == 403, answer.body
    assert b"page of another site" in answer.body


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.example", "localhost.elsewhere.example:8000", "127.0.0.1@elsewhere.example",
        "[", "[::1", "elsewhere[::1]", "192.168.0.7:8000", "0.0.0.0", "", "localhost:1:2",
        "127.0.0.1,elsewhere.example",
    ],
)  # fmt: skip
def test_where_no_token_is_asked_for_only_this_machine_is_named(
    servers: dict[str, Served], name: str, host: str
) -> None:
    """A page can make a name of its own lead to this machine, but not name this machine."""
    served = servers[name]
    answer = send(served.app, served.path, host=host, **served.headers)
    assert (answer.status == 403) == served.open, answer.body
    assert (b"expected an address of this machine as host" in answer.body) == served.open


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost", "http://localhost:3000"), ("[::1]:8000", "http://[::1]:8000"),
        ("127.0.0.1:1", "https://127.9.9.9"), ("LocalHost:80", None), (None, None),
    ],
)  # fmt: skip
def test_this_machine_is_answered_by_all_its_names(
    servers: dict[str, Served], name: str, host: str | None, origin: str | None
) -> None:
    served = servers[name]
    headers = {**served.headers, **({} if origin is None else {"origin": origin})}
    assert send(served.app, served.path, host=host, **headers).status not in (401, 403)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [
        b'{"seed": NaN}', b'{"id": -Infinity}', b'{"env_idx": 1e400}', b'{"id": 1, "id": 2}',
        b'{"x": ' + b"[" * 200 + b"]" * 200 + b"}", b"{", b"\xff",
    ],
)  # fmt: skip
def test_what_is_no_sound_json_is_refused(
    servers: dict[str, Served], name: str, body: bytes
) -> None:
    served = servers[name]
    payload = len(body).to_bytes(4, "big") + body if name == "sandbox" else body
    answer = send(served.app, served.path, payload, **served.headers)
    assert answer.status == 400, answer.body
    assert "error" in json.loads(answer.body)


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_hangs_up_leaves_no_stack_trace(
    servers: dict[str, Served], name: str
) -> None:
    served = servers[name]
    assert send(served.app, served.path, None, **served.headers).status == 400


@pytest.mark.parametrize("content", [{"reward": float("nan")}, [float("-inf")], {"x": object()}])
def test_an_answer_that_cannot_be_written_is_an_error(content: Any) -> None:
    answer = answer_json(200, content)
    assert answer.status_code == 500
    assert "expected an answer that is JSON" in json.loads(bytes(answer.body))["error"]


def test_the_messages_of_a_web_socket_are_sound_json() -> None:
    messages: list[str] = []
    texts = ['{"type": "reset"}', '{"seed": NaN}', "[" * 200 + "]" * 200, '{"a": 1, "a": 2}']

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            messages.append(message["text"])

    async def receive() -> MutableMapping[str, Any]:
        if not texts:
            return {"type": "websocket.disconnect"}
        return {"type": "websocket.receive", "text": texts.pop(0)}

    async def send_nothing(message: Any) -> None:
        pass

    scope = {"type": "websocket", "path": "/ws", "headers": [(b"host", HERE.encode())]}
    asyncio.run(GuardedApp(app, "", 1000)(scope, receive, send_nothing))
    assert messages == ['{"type": "reset"}', "", "", ""]


def test_a_web_socket_of_another_host_is_closed() -> None:
    messages: list[Any] = []

    async def keep(message: Any) -> None:
        messages.append(message)

    for header in ((b"host", b"elsewhere.example"), (b"origin", b"http://[")):
        scope = {"type": "websocket", "path": "/ws", "headers": [header]}
        asyncio.run(GuardedApp(other_project, "", 1000)(scope, keep, keep))  # type: ignore[arg-type]
    assert messages == [{"type": "websocket.close", "code": 1008}] * 2


@pytest.mark.parametrize(
    ("authority", "port", "expected"),
    [
        ("127.0.0.1:8010", 8010, True), ("localhost", 80, True), ("localhost", 8010, False),
        ("[::1]:8010", 8010, True), ("127.0.0.1:8011", 8010, False), ("127.0.0.1:8011", None, True),
    ],
)  # fmt: skip
def test_a_host_may_have_to_name_a_port(authority: str, port: int | None, expected: bool) -> None:
    assert names_this_machine(authority, port) is expected


def test_without_the_header_a_request_comes_from_no_page() -> None:
    assert not is_foreign("")
