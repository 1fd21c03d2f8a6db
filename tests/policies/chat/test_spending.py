"""What an evaluation will take, and a limit on all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.cli import main
from agentgym.conversation import Prompt
from agentgym.errors import ConfigurationError, EvaluationFailed
from agentgym.evaluation import Limits, Prices, evaluate, read_report
from agentgym.evaluation.forecast import ANSWER, CHARACTERS, forecast
from agentgym.evaluation.plan import plan
from agentgym.policies import ChatConfig, ChatPolicy
from tests.policies.endpoint import Answer, ChatServer, press_next, refusal
from tests.toy import TOY_ID, ToyEnv

pytest.importorskip("openai")
Serve = Callable[[Answer], ChatServer]
TOKENS = 14
"""Tokens of each answer of the endpoint, read and written."""


def eval_chat(server: ChatServer, out: Path, *flags: str) -> int:
    chat = ("--policy", "chat", "--model", "m", "--base-url", server.url, "--retries", "0")
    return main(
        ["eval", TOY_ID, *chat, "--num-tasks", "6", "--no-scale", "--out", str(out), *flags]
    )


def squeezed(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("flags", [("--limit-total-tokens", "100"), ("--limit-total-cost", "1e-4")])
def test_a_limit_on_all_episodes_keeps_what_was_played_and_goes_on(
    serve: Serve, tmp_path: Path, capsys: Any, flags: tuple[str, str]
) -> None:
    server = serve(press_next)
    prices = ("--price", "1", "1", "--concurrency", "1")
    assert eval_chat(server, tmp_path, *prices, *flags) == 3
    output = squeezed(capsys.readouterr().out)
    assert "is reached: raise --limit-total-tokens or --limit-total-cost to resume" in output
    first_report = read_report(tmp_path)
    spent = TOKENS * len(server.requests)
    assert 100 <= spent < 100 + 5 * TOKENS, "the episode that reached it was played to its end"
    assert (
        0 < len(first_report.rows) < 6 and not first_report.finished and first_report.success == 1.0
    )
    assert eval_chat(server, tmp_path, *prices, *flags) == 3, "what was spent before counts"
    assert TOKENS * len(server.requests) == spent
    assert eval_chat(server, tmp_path, *prices, flags[0], "1000") == 0
    report = read_report(tmp_path)
    assert report.finished and report.rows[: len(first_report.rows)] == first_report.rows
    assert sum(report.tokens.values()) == TOKENS * len(server.requests)


def test_in_python_too_with_several_in_flight(serve: Serve, tmp_path: Path) -> None:
    server = serve(press_next)
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    options: dict[str, Any] = {"out": tmp_path, "concurrency": 3}
    part = evaluate(policy, TOY_ID, num_tasks=30, **options, total_limits=Limits(tokens=200))
    assert not part.finished and "200 tokens, is reached: raise `total_limits`" in part.unfinished
    assert 3 <= len(part.rows) < 12
    assert not (tmp_path / "report.json").exists()
    report = evaluate(policy, TOY_ID, num_tasks=30, **options)
    assert report.finished and report.unfinished == ""
    with pytest.raises(ConfigurationError, match="prices of tokens with a limit on cost"):
        evaluate(policy, TOY_ID, total_limits=Limits(cost=1.0))


def test_a_limit_that_broken_episodes_have_used_up(serve: Serve, tmp_path: Path) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        return press_next(body, number) if len(body["messages"]) < 3 else refusal("no", 401)

    policy = ChatPolicy(ChatConfig("m", serve(answer).url, retries=0), "")
    limits = Limits(tokens=2 * TOKENS)
    for message in ("failed", "was already reached: raise `total_limits`"):
        with pytest.raises(EvaluationFailed, match=message):
            evaluate(policy, TOY_ID, num_tasks=2, out=tmp_path, concurrency=1, total_limits=limits)


def test_the_limit_of_several_evaluations_is_one(serve: Serve, tmp_path: Path, capsys: Any) -> None:
    server = serve(press_next)
    file = tmp_path / "two.yaml"
    policies = [{"policy": "chat", "model": name, "base_url": server.url} for name in "ab"]
    file.write_text(json.dumps({"environments": [TOY_ID], "policies": policies, "num_tasks": 4}))
    argv = ["eval", "--config", str(file), "--out", str(tmp_path / "o"), "--no-scale"]
    argv += ["--trust", f"base_url={server.url}", "--concurrency", "1", "--limit-total-tokens"]
    assert main([*argv, "60"]) == 1
    assert {body["model"] for body in server.requests} == {"a"}
    message = "b on agentgym-test/Toy-v0 failed: expected the limit on all episodes"
    assert message in capsys.readouterr().out
    assert main([*argv, "2000"]) == 0
    assert TOKENS * len(server.requests) < 2000


def test_a_dry_run_says_what_would_be_played_and_sends_nothing(
    serve: Serve, tmp_path: Path, capsys: Any
) -> None:
    server = serve(press_next)
    assert eval_chat(server, tmp_path / "o", "--dry-run", "--price", "1", "2") == 0
    output = squeezed(capsys.readouterr().out)
    assert "m on agentgym-test/Toy-v0: not played" in output and "chat, model m" in output
    assert "US dollars" in output and "4 characters a token" in output and "episodes 6" in output
    assert not server.requests and not (tmp_path / "o").exists()
    argv = ["eval", TOY_ID, "--policy", "oracle", "--policy", "random", "--dry-run"]
    assert main(argv) == 0
    assert "oracle on" in capsys.readouterr().out and not (tmp_path / "o").exists()
    for bad_flags, words in (
        (("nonsense",), "blind-first"),
        (("random", "--policy-kwargs", "x=1"), "got x"),
        (("chat", "--model", "m", "--agent", "tests.toy:none"), "tests.toy"),
    ):
        assert main(["eval", TOY_ID, "--dry-run", "--policy", *bad_flags]) == 2
        assert words in "".join(capsys.readouterr().err.split("\n"))


@pytest.mark.parametrize("window", [1, None])
def test_the_forecast_is_what_its_rule_gives(window: int | None) -> None:
    env = ToyEnv()
    prompt = Prompt.at(env).windowed(window)
    estimate = forecast(env, plan(env.tasks, "test", 2, 0, None, 1), None, prompt)
    turns = [len(env.tasks.find(job.task_id).content["buttons"])
             for job in plan(env.tasks, "test", 2, 0, None, 1).jobs]  # fmt: skip
    assert estimate.turns == (sum(turns) / 2, 8)
    assert estimate.least.completion_tokens == ANSWER * sum(turns)
    assert estimate.most.completion_tokens == ANSWER * 2 * 8
    assert estimate.least.prompt_tokens < estimate.most.prompt_tokens
    past_turns = sum(min(turn, window or turn) for turn in range(8))
    answers = 2 * past_turns * ANSWER
    head = 2 * 8 * len(prompt.opening("")[0]["content"]) / CHARACTERS
    assert answers + head < estimate.most.prompt_tokens < 1.5 * (answers + head)


def test_the_forecast_holds_for_a_model_that_answers_so(serve: Serve) -> None:
    """Count the characters that a real conversation sends."""

    def answer(body: dict[str, Any], number: int) -> Any:
        reply = press_next(body, number)
        text = reply["choices"][0]["message"]["content"]
        reply["choices"][0]["message"]["content"] = text.rjust(ANSWER * CHARACTERS)
        return reply

    server, env = serve(answer), gymnasium.make(TOY_ID)
    policy = ChatPolicy(ChatConfig("m", server.url), env.unwrapped.action_prompt())
    assert evaluate(policy, env, num_tasks=3, concurrency=1).success == 1.0
    characters = sum(len(m["content"]) for body in server.requests for m in body["messages"])
    toy = ToyEnv()
    estimate = forecast(toy, plan(toy.tasks, "test", 3, 0, None, 1), None, Prompt.at(toy))
    assert estimate.least.prompt_tokens == pytest.approx(characters / CHARACTERS, rel=0.05)


def test_prices_of_the_forecast() -> None:
    env = ToyEnv(grammar="tool_call")
    estimate = forecast(env, plan(env.tasks, "test", 2, 0, None, 1), None, Prompt.at(env))
    cost = Prices(0.0, 1.0).cost(estimate.most)
    assert cost == pytest.approx(ANSWER * 16 / 1e6)
