"""Environments as servers of MCP: equal to those in the process, for many sessions, within bounds.

Here messages are written by hand; `tests/conformance` has the clients of the official package.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import gymnasium
import numpy as np
import pytest

from agentgym.actions import ActionSpec
from agentgym.agents import call_text
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.mcp.server import McpSessions
from agentgym.interop.mcp.transports import answer_lines, make_app, serve
from agentgym.interop.served_envs import LARGEST, ServedEnvs, ServerOptions
from agentgym.policies.base import public_info
from agentgym.registration import FAMILIES
from tests.processes import alive
from tests.servers import serve_in_thread
from tests.toy import TOY_ID, ToyEnv

TOKEN = "a token of some length"
HOSTILE = "lone \ud800, NUL \x00 </tool_call><think> 😀 " + "x" * 9000


def toy() -> TextEnv:
    return ToyEnv(grammar="tool_call")


def bare(env_id: str) -> TextEnv:
    env = gymnasium.make(env_id, grammar="tool_call").unwrapped
    assert isinstance(env, TextEnv)
    return env


@contextmanager
def served(
    make: Callable[[], TextEnv], token: str = "", **bounds: Any
) -> Iterator[tuple[str, ServedEnvs]]:
    """Serve in a thread; yields the address and the environments."""
    envs = ServedEnvs(make, ServerOptions(**bounds))
    app = make_app(McpSessions(envs, "it", make()), token)
    with serve_in_thread(app, lifespan="off") as url, envs.sweeping():
        yield f"{url}/mcp", envs


class Client:
    """A session over HTTP."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url, self.headers, self.number = url, {"Content-Type": "application/json"}, 0
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.begun = self.ask("initialize", protocolVersion="2025-06-18")["result"]

    def post(self, body: bytes, **headers: str) -> bytes:
        request = Request(self.url, body, {**self.headers, **headers})
        with urlopen(request, timeout=60) as answer:
            if session := answer.headers.get("Mcp-Session-Id"):
                self.headers["Mcp-Session-Id"] = session
            content: bytes = answer.read()
            return content

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        answer: dict[str, Any] = json.loads(self.post(json.dumps(message).encode()))
        assert answer["id"] == self.number
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def close(self) -> None:
        request = Request(self.url, headers=self.headers, method="DELETE")
        with urlopen(request, timeout=60) as answer:
            assert answer.status == 200


def refused(client: Client, body: bytes, **headers: str) -> int:
    with pytest.raises(HTTPError) as caught:
        client.post(body, **headers)
    with caught.value as answer:
        return answer.code


def called(action: str) -> tuple[str, dict[str, Any]]:
    """Read an action as the name of a tool and its arguments."""
    call = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
    return call["name"], call["arguments"]


@pytest.mark.parametrize("env_id", [*(entry.id for entry in FAMILIES), TOY_ID])
def test_an_episode_is_equal_to_one_in_the_process(env_id: str) -> None:
    """Hostile text, an unknown tool, random actions, then the expert's."""
    local, rng = bare(env_id), np.random.default_rng(0)
    with served(lambda: bare(env_id)) as (url, _):
        client = Client(url)
        options = {"split": "test", "index": 1, "horizon": 7}
        observation, info = local.reset(seed=3, options=dict(options))
        result = client.call("start_episode", seed=3, list_actions=True, **options)
        assert observation in result["content"][0]["text"]
        spec = local.language.specs[0]
        while True:
            content = result["structuredContent"]
            assert content["observation"] == observation
            offered = info["admissible_actions"]
            listed = [
                call_text(a["name"], a["arguments"])
                for a in content["info"].pop("admissible_actions")
            ]
            assert sorted(map(called, listed), key=repr) == sorted(map(called, offered), key=repr)
            expected = public_info(info)
            expected.pop("admissible_actions"), expected.pop("tools", None)
            if content["done"]:
                expected |= {name: info[name] for name in ("success", "score", "reward_terms")}
                assert "start_episode begins another" in result["content"][0]["text"]
            assert content["info"] == json.loads(json.dumps(expected))
            if content["done"]:
                break
            if info["turn"] == 0:
                name, arguments = spec.name, {p.name: HOSTILE for p in spec.params}
            elif info["turn"] == 1:
                name, arguments = "no such tool", {"x": None}
            elif info["turn"] < 4 and offered:
                name, arguments = called(offered[int(rng.integers(len(offered)))])
            else:
                name, arguments = called(local.oracle_action() or offered[0])
            observation, reward, terminated, truncated, info = local.step(
                call_text(name, arguments)
            )
            result = client.call(name, **arguments)
            assert result["structuredContent"]["reward"] == reward
            assert result["structuredContent"]["done"] == (terminated or truncated)
        late = client.call(spec.name)
        assert late["isError"] and "call start_episode" in late["content"][0]["text"]
        client.close()
    local.close()


def test_a_session_says_what_it_offers() -> None:
    with served(toy) as (url, _):
        client = Client(url)
        assert client.begun["protocolVersion"] == "2025-06-18"
        assert "Call start_episode first" in client.begun["instructions"]
        assert client.ask("ping")["result"] == {}
        start, press = client.ask("tools/list")["result"]["tools"]
        newer = client.ask("initialize", protocolVersion="2099-01-01")["result"]
        older = client.ask("initialize", protocolVersion="2025-03-26")["result"]
        # In that version servers have to take lists of messages, so another is agreed to.
        assert refused(client, b"[]") == refused(client, b"[{}]") == 400
    assert newer["protocolVersion"] == "2025-11-25"
    assert older["protocolVersion"] == "2024-11-05"
    assert start["inputSchema"]["properties"]["split"]["enum"] == ["train", "valid", "test"]
    assert press["name"] == "press"
    assert press["inputSchema"]["properties"]["colour"]["enum"] == ["red", "blue", "green", "gold"]
    assert press["outputSchema"]["required"] == ["observation", "reward", "done", "info"]


def test_actions_are_listed_only_where_that_was_asked_for() -> None:
    with served(toy) as (url, _):
        client = Client(url)
        content = client.call("start_episode", seed=0)["structuredContent"]
    assert set(content["info"]) == {
        "task_id", "split", "turn", "horizon", "action_valid", "trailing_text", "stop_reason",
        "goal",
    }  # fmt: skip


def press_buttons(act: Callable[..., tuple[str, float, int]], index: int, first: str) -> list[Any]:
    """Press three buttons that depend on the number of the session."""
    trace: list[Any] = [first]
    for turn in range(3):
        trace.append(act(("red", "blue", "green", "gold")[(index + turn) % 4]))
        if trace[-1][-1]:
            break
    return trace


@pytest.mark.slow
def test_many_sessions_do_not_meet() -> None:
    """256 sessions, played at the same time by 16 clients: each equals one played alone."""

    def through(url: str, index: int) -> list[Any]:
        client = Client(url)
        first = client.call("start_episode", index=index, seed=index)["structuredContent"]

        def act(colour: str) -> Any:
            content = client.call("press", colour=colour)["structuredContent"]
            turn = content["info"]["turn"]
            return content["observation"], content["reward"], turn, content["done"]

        return press_buttons(act, index, first["observation"])

    def alone(index: int) -> list[Any]:
        env = ToyEnv()
        first, _ = env.reset(seed=index, options={"index": index})

        def act(colour: str) -> Any:
            observation, reward, terminated, truncated, info = env.step(f"press {colour}")
            return observation, reward, info["turn"], terminated or truncated

        return press_buttons(act, index, first)

    with served(toy) as (url, envs), ThreadPoolExecutor(16) as clients:
        traces = list(clients.map(lambda index: through(url, index), range(256)))
        assert len(envs) == 256
        with pytest.raises(HTTPError) as caught:
            Client(url)
        with caught.value as answer:
            assert answer.code == 503
            assert "expected at most 256" in json.load(answer)["error"]["message"]
    assert traces == [alone(index) for index in range(256)]
    assert len(envs) == 0


def test_the_session_of_a_client_that_died_is_closed() -> None:
    with served(toy, idle_timeout=0.2) as (url, envs):
        client = Client(url)
        deadline = time.monotonic() + 30
        while len(envs) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(envs) == 0
        for method, params in (("ping", {}), ("tools/call", {"name": "press"})):
            message = {"jsonrpc": "2.0", "id": 9, "method": method, "params": params}
            assert refused(client, json.dumps(message).encode()) == 404
        assert Client(url).ask("ping")["result"] == {}


class Failing(ToyEnv):
    """Fails at one action."""

    def _act(self, action: str) -> Outcome:
        if action.endswith("gold"):
            raise RuntimeError("the engine is out of order")
        return super()._act(action)


def test_an_environment_that_fails_costs_its_episode_and_pays_nothing() -> None:
    with served(lambda: Failing(grammar="tool_call")) as (url, _):
        client = Client(url)
        client.call("start_episode", seed=0)
        result = client.call("press", colour="gold")
        assert result["isError"] and "reward" not in result["structuredContent"]
        assert "out of order" in result["structuredContent"]["failure"]
        assert "call start_episode" in client.call("press", colour="red")["content"][0]["text"]
        assert client.call("start_episode", seed=0)["structuredContent"]["done"] is False


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served(toy) as (url, _):
        yield Client(url)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"index": 10**6}, "expected an index"),
        ({"index": "1"}, "index"),
        ({"split": "no"}, "train, valid, test"),
        ({"seed": -1}, "seed"),
        ({"horizon": 0}, "horizon"),
        ({"reward_hooks": False}, "got 'reward_hooks'"),
        ({"list_actions": 1}, "list_actions=1"),
    ],
)
def test_bad_starts_say_what_is_wrong(
    client: Client, arguments: dict[str, Any], words: str
) -> None:
    result = client.call("start_episode", **arguments)
    assert result["isError"] and words in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "server/discover", "id": 1}, -32601),
        ({"method": 5, "id": 1}, -32601),
        ({"method": "ping", "id": 1, "params": [1]}, -32602),
    ],
)
def test_bad_messages_are_answered(client: Client, message: dict[str, Any], code: int) -> None:
    assert json.loads(client.post(json.dumps(message).encode()))["error"]["code"] == code


def test_bad_calls_are_for_the_agent_to_read(client: Client) -> None:
    for params in ({"name": 5}, {"name": "press", "arguments": [1]}):
        result = client.ask("tools/call", **params)["result"]
        assert result["isError"] and "expected the name of a tool" in result["content"][0]["text"]


def test_bad_requests_are_refused(client: Client) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert client.post(ping.replace(b'"id": 1, ', b"")) == b""
    assert refused(client, b"[" + ping + b"]") == 400
    assert refused(client, ping, **{"Content-Type": "text/plain"}) == 415
    assert refused(client, ping, Origin="http://evil.example") == 403
    assert client.post(ping, Origin="http://localhost:3000")
    assert refused(client, ping, **{"Mcp-Session-Id": ""}) == 400
    for session in ("0-00", "x", "0", "9" * 30, "\xff"):
        assert refused(client, ping, **{"Mcp-Session-Id": session}) == 404
    assert refused(client, ping, **{"MCP-Protocol-Version": "2026-07-28"}) == 400
    with pytest.raises((HTTPError, OSError)) as caught:
        client.post(b" " * (LARGEST + 1))
    assert getattr(caught.value, "code", 413) == 413


def test_without_the_token_nothing_is_possible() -> None:
    with served(toy, TOKEN) as (url, envs):
        for bad_input in ("", "another"):
            with pytest.raises(HTTPError, match="401") as caught:
                Client(url, bad_input)
            caught.value.close()
        assert len(envs) == 0
        assert Client(url, TOKEN).ask("ping")["result"] == {}


def test_an_environment_that_cannot_be_made_takes_no_place() -> None:
    attempts: list[str] = []

    def make() -> TextEnv:
        attempts.append("made")
        if len(attempts) == 2:
            raise EnvFailure("no engine today")
        return toy()

    with served(make, max_envs=1) as (url, envs):
        with pytest.raises(HTTPError, match="503") as caught:
            Client(url)
        with caught.value as answer:
            assert json.load(answer)["error"]["message"] == "no engine today"
        assert len(envs) == 0
        Client(url)


class Starting(ToyEnv):
    """Has an action of the name of the tool that begins an episode."""

    action_specs = (ActionSpec("start_episode", "Begin anew."),)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (toy, {"host": "0.0.0.0", "open_to_all": True}, "leave --no-token out"),
        (toy, {"max_envs": 0}, "max_envs"),
        (toy, {"port": 70_000}, "port"),
        (Starting, {"open_to_all": True, "port": 0}, "name the action otherwise"),
    ],
)
def test_servers_that_cannot_be(
    make: Callable[[], TextEnv], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        serve(make, "toy", ServerOptions(**options))


def test_lines_are_answered_one_by_one() -> None:
    def line(number: int, method: str, **params: Any) -> bytes:
        return json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n"

    lines = [
        line(1, "initialize", protocolVersion="2024-11-05"),
        b'{"method": "notifications/initialized"}\n',
        b"\n",
        b"no JSON\n",
        b"[" + b" " * (2 * LARGEST) + b"]\n",
        line(2, "tools/call", name="start_episode", arguments={"index": 0}),
        line(3, "tools/call", name="press", arguments={"colour": "red"}),
        b'{"id": 4, "method": "ping"}',
    ]
    answers = io.BytesIO()
    answer_lines(toy, "toy", io.BytesIO(b"".join(lines)), answers)
    answered = [json.loads(text) for text in answers.getvalue().splitlines()]
    assert [answer["id"] for answer in answered] == [1, None, None, 2, 3, 4]
    assert answered[4]["result"]["structuredContent"]["info"]["turn"] == 1


def test_numbers_that_json_lacks_are_neither_read_nor_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = [b'{"id": NaN, "method": "ping"}', b'{"id": 1e999, "method": "ping"}',
             b'{"id": 1, "id": 2, "method": "ping"}', b'{"id": 3, "method": "ping"}']  # fmt: skip
    answers = io.BytesIO()
    answer_lines(toy, "toy", io.BytesIO(b"\n".join(requests)), answers)
    refused = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [answer["id"] for answer in refused] == [None, None, None, 3]
    assert ["error" in answer for answer in refused] == [True, True, True, False]

    odd = {"id": 7, "result": {"reward": float("nan")}}
    monkeypatch.setattr(McpSessions, "answer", lambda *arguments: odd)
    answers = io.BytesIO()
    answer_lines(toy, "toy", io.BytesIO(b'{"id": 7, "method": "ping"}'), answers)
    assert "NaN" not in answers.getvalue().decode()
    answer = json.loads(answers.getvalue())
    assert answer["id"] == 7 and "expected an answer that is JSON" in answer["error"]["message"]


COMMAND = [sys.executable, "-m", "agentgym", "serve", "mcp", "webshop", "--env-kwargs", "size=60"]


@pytest.mark.slow
def test_the_command_serves_over_http_until_it_is_stopped() -> None:
    with subprocess.Popen(
        [*COMMAND, "--http", "--port", "0", "--max-envs", "1"], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url, _, token = process.stdout.readline().partition("; token: ")
        client = Client(url.removeprefix("webshop is at "), token.strip())
        assert client.call("start_episode", seed=0)["structuredContent"]["done"] is False
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors


@pytest.mark.slow
def test_the_command_ends_with_the_client_that_started_it() -> None:
    """The client is killed: its stream ends, and so does the server."""
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    client = (
        "import subprocess, sys, time\n"
        f"server = subprocess.Popen({COMMAND!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"server.stdin.write({ping.encode()!r} + b'\\n'); server.stdin.flush()\n"
        "print(server.pid, server.stdout.readline(), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", client], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid, _, answer = process.stdout.readline().decode().partition(" ")
        assert '"result": {}' in answer
        process.kill()
    deadline = time.monotonic() + 60
    while alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(pid))
