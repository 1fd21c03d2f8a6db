from __future__ import annotations

import json
import threading
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401  (registers the ids)
from agentgym.cli import main
from agentgym.conversation import Prompt
from agentgym.episodes import read_episodes
from agentgym.episodes.atif import to_atif
from agentgym.errors import ConfigurationError
from agentgym.evaluation import evaluate
from agentgym.policies import ChatConfig, ChatPolicy, begin
from agentgym.policies.play import play
from tests.policies.endpoint import KEY, call, completion, events, press_next
from tests.toy import TOY_ID

pytest.importorskip("openai")


def last(policy: ChatPolicy, env: gymnasium.Env, task_id: str = "toy/gold-red") -> dict[str, Any]:
    return dict([*play(policy, env, seed=4, options={"task_id": task_id})][-1].info)


def test_a_model_plays_an_episode(serve):
    server = serve(press_next)
    env = gymnasium.make(TOY_ID)
    config = ChatConfig("m", server.url, instructions="Play.", temperature=0.5, seed=1)
    policy = ChatPolicy(config, env.unwrapped.action_prompt())
    info = last(policy, env)
    assert info["success"] and info["turn"] == len(server.requests)
    first, final = server.requests[0], server.requests[-1]
    [system_message] = Prompt.at(env.unwrapped).opening("")
    assert first["messages"][0]["content"] == f"Play.\n\n{system_message['content']}"
    assert (first["model"], first["temperature"], first["seed"]) == ("m", 0.5, 1)
    assert (first["max_tokens"], "top_p" in first, "stream" in first) == (4096, False, False)
    assert [m["role"] for m in final["messages"][1:4]] == ["user", "assistant", "user"]
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert policy.prompt_tokens == 11 * info["turn"]
    assert policy.last_output is not None and policy.last_output.completion_tokens == 3
    assert policy.last_output.text.startswith("<think>")


def test_a_model_shops(serve):
    words = ["search[red shoes]", "click[back to search]", "search[blue shirt]"]
    server = serve(lambda body, number: completion(words[(number - 1) % 3]))
    env = gymnasium.make("agentgym/WebShop-v0")
    policy = ChatPolicy(ChatConfig("m", server.url, window=2), env.unwrapped.action_prompt())
    report = evaluate(policy, env, "test", 2, horizon=4, concurrency=1)
    assert report.errors == 0 and [row.turns for row in report.rows] == [4, 4]
    assert [len(request["messages"]) for request in server.requests] == [2, 4, 6, 6] * 2


def test_what_the_model_produced_is_recorded(serve, tmp_path):
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        reply = completion(press_next(body, number)["choices"][0]["message"]["content"], "length")
        reply["choices"][0]["message"]["reasoning_content"] = "Which one?"
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 7}
        reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": 2}
        return reply

    server = serve(answer)
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    evaluate(policy, TOY_ID, "test", 1, record=tmp_path / "episodes.jsonl")
    (episode,) = read_episodes(tmp_path / "episodes.jsonl")
    for turn in episode.turns:
        assert turn.raw_text == turn.action and turn.action.startswith("<think>press pink?")
        assert (turn.prompt_tokens, turn.completion_tokens) == (11, 3)
        assert (turn.cached_tokens, turn.reasoning_tokens) == (7, 2)
        assert (turn.reasoning, turn.finish_reason) == ("Which one?", "length")
    assert KEY not in (tmp_path / "episodes.jsonl").read_text()


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_token_ids_and_log_probabilities_are_recorded(serve, tmp_path, kind):
    """The second prompt goes on after the first answer, the third does not."""
    prompts = [[1, 2], [1, 2, 7, 8, 3], [1, 2, 3]]

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        reply = completion("press pink")
        entries = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -2}]
        (choice,) = reply["choices"]
        choice["logprobs"] = {"content": entries}
        choice["token_ids" if kind == "vllm" else "response_token_ids"] = [7, 8]
        (reply if kind == "vllm" else choice)["prompt_token_ids"] = prompts[number - 1]
        return reply

    config = ChatConfig("m", serve(answer).url, extra={"return_token_ids": True, "logprobs": True})
    evaluate(ChatPolicy(config, ""), TOY_ID, "test", 1, horizon=3, record=tmp_path / "e.jsonl")
    (episode,) = read_episodes(tmp_path / "e.jsonl")
    tokens = episode.extra["tokens"]
    assert [(turn["fresh"], turn["context"]) for turn in tokens] == [
        (True, [1, 2]), (False, [3]), (True, [1, 2, 3]),
    ]  # fmt: skip
    assert all((turn["ids"], turn["logprobs"]) == ([7, 8], [-0.5, -2.0]) for turn in tokens)
    steps = to_atif(episode)["steps"][1:]
    assert [step["metrics"]["prompt_token_ids"] for step in steps] == prompts


@pytest.mark.parametrize("stream", [False, True])
def test_a_finish_reason_is_cut(serve, stream):
    reply = "press red", "stop" + 10_000 * "!"

    def answer(body: dict[str, Any], number: int) -> Any:
        pieces = {"content": reply[0]}, {"finish_reason": reply[1]}
        return events(*pieces) if stream else completion(*reply)

    policy = ChatPolicy(ChatConfig("m", serve(answer).url, stream=stream), "")
    policy.act("next is red", {})
    assert policy.last_output is not None
    assert policy.last_output.finish_reason == "stop" + 56 * "!"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
@pytest.mark.parametrize("send", [False, True])
def test_thinking_apart_from_the_answer_goes_back_only_on_request(serve, field, send):
    server = serve(lambda body, number: completion("press red", **{field: "Red, then."}))
    policy = ChatPolicy(ChatConfig("m", server.url, send_reasoning=send), "")
    policy.act("next is red", {})
    assert policy.last_output is not None
    assert (policy.last_output.text, policy.last_output.reasoning) == ("press red", "Red, then.")
    policy.act("next is red", {})
    message = server.requests[1]["messages"][2]
    expected = {"role": "assistant", "content": "press red"}
    assert message == ({**expected, field: "Red, then."} if send else expected)


def test_tool_calls_become_text_that_the_environment_reads(serve):
    server = serve(
        lambda body, number: completion(None, tool_calls=[call('{"colour": "gold"}', "a")])
    )
    env = gymnasium.make(TOY_ID, grammar="tool_call")
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    observation, info = env.reset(options={"task_id": "toy/gold-gold"})
    begin(policy, observation, info)
    action = policy.act(observation, info)
    payload = {"name": "press", "arguments": '{"colour": "gold"}'}
    assert action == f"<tool_call>{json.dumps(payload)}</tool_call>"
    *_, info = env.step(action)
    assert info["action_valid"] and info["score"] == 0.5
    assert server.requests[0]["tools"][0]["function"]["name"] == "press"


def test_lone_surrogates_are_sent(serve):
    policy = ChatPolicy(ChatConfig("m", serve(press_next).url), "do \udfff")
    assert policy.act("a \ud800 red", {}).endswith("press red")


def test_lone_surrogates_of_calls_are_sent_back(serve):
    # \ud800 in JSON is one that the model may write anywhere.
    calls = [call('{"colour": "\ud800"}', "a\ud800", "press\ud800")]
    server = serve(lambda body, number: completion("\ud800", tool_calls=calls))
    policy = ChatPolicy(ChatConfig("m", server.url, tools=True), "")
    policy.reset("", {"tools": [{"type": "function", "function": {"name": "press"}}]})
    policy.act("look \ud800", {})
    policy.act("look", {})
    answer, tool_result = server.requests[1]["messages"][2:]
    assert answer["tool_calls"][0]["id"] == tool_result["tool_call_id"] == "a?"


def test_the_command_line_evaluates_a_model(serve, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where its folder goes
    server = serve(press_next)
    code = main(["eval", TOY_ID, "--policy", "chat", "--model", "m", "--base-url", server.url,
                 "--num-tasks", "2"])  # fmt: skip
    assert code == 0 and "1.000  [0.342, 1.000]" in capsys.readouterr().out
    assert server.requests


def test_the_command_line_plays_several_episodes_of_a_model_at_the_same_time(
    serve, capsys, tmp_path
):
    together = threading.Barrier(3, timeout=20)

    def patient(body: dict[str, Any], number: int) -> dict[str, Any]:
        if number <= 3:
            together.wait()  # answers none of the first three before all of them have asked
        return press_next(body, number)

    server = serve(patient)
    argv = ["eval", TOY_ID, "--policy", "chat", "--model", "m", "--base-url", server.url]
    code = main(
        [*argv, "--num-tasks", "6", "--out", str(tmp_path), "--concurrency", "3", "--top-p", "0.9"]
    )
    assert code == 0 and "1.000  [0.610, 1.000]" in capsys.readouterr().out
    assert {request["top_p"] for request in server.requests} == {0.9}


def test_a_key_is_asked_for_only_where_one_is_needed(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        ChatPolicy(ChatConfig("m"), "")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    assert ChatPolicy(ChatConfig("m"), "").facts()["endpoint"] == "http://localhost:9/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:port/v1")
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        ChatPolicy(ChatConfig("m"), "")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"model": ""}, "model"),
        ({"window": 0}, "window"),
        ({"retries": -1}, "retries"),
        ({"timeout": 0}, "timeout"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"temperature": float("nan")}, "temperature"),
        ({"requests_per_minute": 0.0}, "requests_per_minute"),
        ({"max_tokens_parameter": "max_new_tokens"}, "max_completion_tokens"),
        ({"extra": {"max_completion_tokens": 9}}, "max_tokens_parameter"),
        ({"extra": {"bias": float("inf")}}, "JSON"),
        ({"extra": {"bias": object()}}, "JSON"),
        ({"base_url": "localhost:8000/v1"}, "http://localhost:8000/v1"),
        ({"base_url": "http://localhost:port/v1"}, "base_url"),
    ],
)
def test_settings_are_checked(setting, expected):
    with pytest.raises(ConfigurationError, match=expected):
        ChatConfig(**{"model": "m", **setting})
