from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import gymnasium
import pytest

from agentgym.cli import main
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.policies import ChatConfig, ChatPolicy, begin
from tests.toy import TOY_ID

pytest.importorskip("openai")

Answer = Callable[[dict[str, Any], int], tuple[int, dict[str, Any]]]


class Endpoint:
    """A real HTTP server that speaks the chat-completions protocol on the loopback interface."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.keys.append(self.headers["Authorization"])
                status, payload = answer(body, len(endpoint.requests))
                data = json.dumps(payload).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("retry-after-ms", "5")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


def completion(text: str | None, **message: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [choice], "usage": usage,
    }  # fmt: skip


def press_next(body: dict[str, Any], count: int) -> tuple[int, dict[str, Any]]:
    colour = body["messages"][-1]["content"].split()[-1]
    return 200, completion(f"<think>press pink?</think>\npress {colour}")


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], Endpoint]]:
    opened: list[Endpoint] = []

    def start(answer: Answer) -> Endpoint:
        opened.append(Endpoint(answer))
        return opened[-1]

    yield start
    for endpoint in opened:
        endpoint.server.shutdown()
        endpoint.server.server_close()


def play(env: gymnasium.Env, policy: ChatPolicy) -> dict[str, Any]:
    observation, info = env.reset(seed=4)
    begin(policy, observation, info)
    over = False
    while not over:
        action = policy.act(observation, info)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return info


def test_a_model_plays_an_episode(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    endpoint = serve(press_next)
    env = gymnasium.make(TOY_ID)
    config = ChatConfig("m", endpoint.url, instructions="Play.", temperature=0.5, seed=1)
    policy = ChatPolicy(config, env.unwrapped.action_prompt())
    info = play(env, policy)
    assert info["success"] and info["turn"] == len(endpoint.requests)
    first, last = endpoint.requests[0], endpoint.requests[-1]
    assert first["messages"][0]["content"] == f"Play.\n\n{env.unwrapped.action_prompt()}"
    assert (first["model"], first["temperature"], first["seed"]) == ("m", 0.5, 1)
    assert [m["role"] for m in last["messages"][1:4]] == ["user", "assistant", "user"]
    assert set(endpoint.keys) == {"Bearer from-the-environment"}
    assert policy.prompt_tokens == 11 * info["turn"] and policy.last_output.completion_tokens == 3
    assert policy.last_output.text.startswith("<think>")


def test_the_window_keeps_the_task(serve):
    endpoint = serve(press_next)
    env = gymnasium.make(TOY_ID)
    policy = ChatPolicy(ChatConfig("m", endpoint.url, window=1), "")
    observation, info = env.reset(options={"task_id": "toy/red-blue-green-gold"})
    begin(policy, observation, info)
    for turn in range(4):
        observation, *_, info = env.step(policy.act(observation, info))
        sent = endpoint.requests[-1]["messages"][1:]
        assert len(sent) == (1 if turn == 0 else 3)
        assert "press red then blue" in sent[0]["content"]
    assert "[... 2 earlier turns ...]" in sent[0]["content"]


def test_tool_calls_become_text(serve):
    function = {"name": "press", "arguments": '{"colour": "gold"}'}
    calls = [{"id": "a", "type": "function", "function": function}]
    endpoint = serve(lambda body, count: (200, completion(None, tool_calls=calls)))
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", endpoint.url, tools=True), "")
    observation, info = env.reset(options={"task_id": "toy/gold-gold"})
    begin(policy, observation, info)
    *_, info = env.step(policy.act(observation, info))
    assert info["action_valid"] and info["score"] == 0.5
    assert endpoint.requests[0]["tools"][0]["function"]["name"] == "press"


def test_failures_are_retried(serve):
    def flaky(body: dict[str, Any], count: int) -> tuple[int, dict[str, Any]]:
        return press_next(body, count) if count > 2 else (503, {"error": {"message": "busy"}})

    endpoint = serve(flaky)
    policy = ChatPolicy(ChatConfig("m", endpoint.url, retries=2), "")
    assert policy.act("next is red", {}).endswith("press red")
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda body, count: (401, {"error": {"message": "no such key"}}), "no such key"),
        (lambda body, count: (500, {"error": {"message": "down"}}), "down"),
        (lambda body, count: (200, {"hello": "world"}), "with choices"),
    ],
)
def test_a_broken_endpoint_is_a_failure_and_not_an_action(serve, answer, reason):
    policy = ChatPolicy(ChatConfig("m", serve(answer).url, retries=1), "")
    with pytest.raises(EnvFailure, match=reason):
        policy.act("look", {})


def test_lone_surrogates_are_sent(serve):
    policy = ChatPolicy(ChatConfig("m", serve(press_next).url), "")
    assert policy.act("a \ud800 red", {})


def test_the_command_line_evaluates_a_model(serve, capsys):
    endpoint = serve(press_next)
    code = main(["eval", TOY_ID, "--policy", "chat", "--model", "m", "--base-url", endpoint.url,
                 "--n", "2"])  # fmt: skip
    assert code == 0 and "1.000  [0.342, 1.000]" in capsys.readouterr().out
    assert endpoint.requests


def test_the_command_line_plays_several_episodes_of_a_model_at_the_same_time(
    serve, capsys, tmp_path
):
    together = threading.Barrier(3, timeout=20)

    def patient(body: dict[str, Any], count: int) -> tuple[int, dict[str, Any]]:
        if count <= 3:
            together.wait()  # answers none of the first three before all of them have asked
        return press_next(body, count)

    endpoint = serve(patient)
    argv = ["eval", TOY_ID, "--policy", "chat", "--model", "m", "--base-url", endpoint.url]
    code = main([*argv, "--n", "6", "--out", str(tmp_path), "--concurrency", "3", "--top-p", "0.9"])
    assert code == 0 and "1.000  [0.610, 1.000]" in capsys.readouterr().out
    assert {request["top_p"] for request in endpoint.requests} == {0.9}


def test_settings_are_checked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        ChatPolicy(ChatConfig("m"), "")
    for bad in ({"model": ""}, {"model": "m", "window": 0}, {"model": "m", "retries": -1},
                {"model": "m", "top_p": 0.0}, {"model": "m", "top_p": 1.5}):  # fmt: skip
        with pytest.raises(ConfigurationError):
            ChatConfig(**bad)
