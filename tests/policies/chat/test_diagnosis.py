"""A report that a wrong set-up made says so, and what to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.conversation import DEFAULT
from agentgym.evaluation import Report, evaluate, read_report
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.prices import dollars
from agentgym.evaluation.reports.diagnosis import diagnoses
from agentgym.policies import ChatConfig, ChatPolicy
from tests.policies.endpoint import Answer, ChatServer, completion, press_next, refusal
from tests.toy import TOY_ID

pytest.importorskip("openai")
SHOP = "agentgym/WebShop-v0"
Serve = Callable[[Answer], ChatServer]


def eval_chat(server: ChatServer, out: Path, *flags: str, env: str = TOY_ID) -> int:
    chat = ("--policy", "chat", "--model", "m", "--base-url", server.url, "--retries", "0")
    return main(["eval", env, *chat, "--num-tasks", "3", "--no-scale", "--out", str(out), *flags])


def squeezed(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_answers_that_were_all_cut(serve: Serve, tmp_path: Path, capsys: Any) -> None:
    server = serve(lambda body, number: completion("<think>Hm, let me see", "length"))
    assert eval_chat(server, tmp_path, "--max-tokens", "512", "--horizon", "2") == 0
    diagnosis = "all 6 answers were cut at 512 tokens: raise"
    assert f"{diagnosis} --max-tokens" in squeezed(capsys.readouterr().out)
    report = read_report(tmp_path)
    assert diagnoses(report) == [f"{diagnosis} `max_tokens`"]
    assert diagnosis in report.markdown() and diagnosis in report._repr_html_()


def test_actions_that_were_all_invalid(serve: Serve, tmp_path: Path, capsys: Any) -> None:
    answer = "I'd like to search \x1b[31mfor shoes. " + 300 * "!"
    server = serve(lambda body, number: completion(answer))
    assert eval_chat(server, tmp_path, "--horizon", "2", env="webshop") == 0
    output = capsys.readouterr().out
    assert "\x1b[31m" not in output
    text = squeezed(output)
    assert "all 6 actions were invalid: the first was \"I'd like to search ^[[31m" in text
    assert "the grammar native expects search[" in text
    assert text.count("!") < 200 and "try --grammar react or --grammar tool_call" in text
    [line] = diagnoses(read_report(tmp_path))
    assert 'try `grammar="react"` or `grammar="tool_call"`' in line


def test_a_model_that_calls_no_tool_is_shown_no_notation(
    serve: Serve, tmp_path: Path, capsys: Any
) -> None:
    server = serve(lambda body, number: completion("Let me press red."))
    assert eval_chat(server, tmp_path, "--horizon", "2", "--grammar", "tool_call") == 0
    output = squeezed(capsys.readouterr().out)
    assert "'Let me press red.', where a call of one of the tools was expected" in output
    assert "--tool-call-parser), or try --grammar react" in output and "<tool_call>" not in output


def test_what_is_kept_of_an_invalid_answer_is_the_same_live_and_from_records(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(lambda body, number: completion("Hm \udc80 " + 300 * "!"))
    policy = ChatPolicy(ChatConfig("m", server.url), "")
    live = evaluate(policy, SHOP, num_tasks=2, horizon=2, out=tmp_path)
    (tmp_path / "report.json").unlink()
    assert read_report(tmp_path).rows == live.rows
    assert all(0 < len(row.invalid_answer) <= 200 for row in live.rows)


def test_the_first_invalid_action_is_shown_though_the_first_action_was_valid(
    serve: Serve, tmp_path: Path
) -> None:
    def act(body: dict[str, Any], number: int) -> Any:
        begun = any(message["role"] == "assistant" for message in body["messages"])
        return completion("click[nowhere]" if begun else "search[red shoes]")

    policy = ChatPolicy(ChatConfig("m", serve(act).url), "")
    live = evaluate(policy, "webshop", num_tasks=2, horizon=15, out=tmp_path)
    (tmp_path / "report.json").unlink()
    assert read_report(tmp_path).rows == live.rows
    assert "28 of 30 actions were invalid: the first was 'click[nowhere]'" in diagnoses(live)[0]


def test_a_sound_report_has_nothing_to_say(serve: Serve, tmp_path: Path) -> None:
    server = serve(press_next)
    assert eval_chat(server, tmp_path) == 0
    assert diagnoses(read_report(tmp_path)) == []


def report_of(*rows: EpisodeResult, env_id: str = TOY_ID) -> Report:
    return Report(env_id, "m", "test", 0, "", rows, policy_facts={"max_tokens": 64})


@pytest.mark.parametrize("kind", ["run", "hf"])
def test_a_trained_policy_is_not_advised_to_speak_another_grammar(kind: str) -> None:
    rows = (row(invalid=2, invalid_answer="gibberish"),)
    facts = {"kind": kind}
    [diagnosis] = diagnoses(Report(TOY_ID, "run:x", "test", 0, "", rows, policy_facts=facts))
    assert "the first was 'gibberish', where the grammar native expects" in diagnosis
    assert "try" not in diagnosis and "grammar=" not in diagnosis


def row(reason: str = "horizon", task: str = "a", **more: Any) -> EpisodeResult:
    return EpisodeResult(task, 0.0, False, 2, 0.0, reason, **more)


def test_episodes_that_outgrew_the_context() -> None:
    [diagnosis] = diagnoses(report_of(*(row("context", str(k)) for k in range(4))))
    assert diagnosis.startswith("all 4 episodes outgrew the model's context: lower `max_tokens`")
    assert diagnoses(report_of(*(row("context", str(k)) for k in range(4)), row())) == []


def test_a_higher_limit_is_not_advised_to_a_model_that_repeats_itself() -> None:
    cut: dict[str, Any] = {"invalid": 2, "repeated": 1, "finish_reasons": {"length": 2}}
    [diagnosis] = diagnoses(report_of(row(invalid_answer="3 cedar 3 cedar", **cut)))
    assert "50% of the turns repeat an earlier invalid action" in diagnosis
    assert "raise" not in diagnosis and "`shots=2`" in diagnosis
    [thinking] = diagnoses(report_of(row(invalid_answer="<think>Hm", **cut)))
    assert thinking.endswith("raise `max_tokens`")
    [fresh] = diagnoses(report_of(row(**{**cut, "repeated": 0})))
    assert fresh.endswith("raise `max_tokens`")


def test_an_answer_that_is_empty_and_an_environment_that_is_none_of_the_suite() -> None:
    [diagnosis] = diagnoses(report_of(row(invalid=2)))
    assert "the first was empty" in diagnosis and "as the action prompt shows it" in diagnosis


def test_broken_episodes_name_the_flag_that_plays_them_again(
    serve: Serve, tmp_path: Path, capsys: Any
) -> None:
    working: list[bool] = []

    def answer(body: dict[str, Any], number: int) -> Any:
        return press_next(body, number) if working or number > 1 else refusal("no", 401)

    server = serve(answer)
    eval_chat(server, tmp_path)
    assert "1 episode is broken: --retry-failed plays" in squeezed(capsys.readouterr().out)
    working.append(True)
    request_count = len(server.requests)
    eval_chat(server, tmp_path)
    assert len(server.requests) == request_count, "the same command alone reads it"
    assert eval_chat(server, tmp_path, "--retry-failed") == 0
    assert read_report(tmp_path).errors == 0


def takes_no_temperature(body: dict[str, Any], number: int) -> Any:
    if "temperature" in body:
        return refusal("Unsupported parameter: temperature", param="temperature")
    return press_next(body, number)


def test_advice_is_in_flags_at_the_terminal_and_works_when_it_is_followed(
    serve: Serve, tmp_path: Path, capsys: Any
) -> None:
    server = serve(takes_no_temperature)
    assert eval_chat(server, tmp_path, "--temperature", "1") == 2
    output = capsys.readouterr()
    for text in (output.err, output.out):
        assert "leave --temperature out" in squeezed(text) and "`" not in text
    advice = "Run the same command to resume, and to play 3 broken ones again."
    assert advice in squeezed(output.out)
    assert eval_chat(server, tmp_path) == 0, "no episode counted, so the folder is free"
    report = read_report(tmp_path)
    assert report.success == 1.0 and report.errors == 0
    assert report.policy_facts["sampling"]["temperature"] is None
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["success"] for line in lines] == [True] * 3
    assert eval_chat(server, tmp_path, "--temperature", "1") == 2, "now episodes count"
    assert "temperature" in capsys.readouterr().err and read_report(tmp_path) == report


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0.00"), (0.0036, "0.0036"), (0.000412, "0.00041"), (0.036, "0.036"), (0.36, "0.36"),
        (0.999, "1.00"), (1.5, "1.50"), (12_345.678, "12,345.68"),
    ],
)  # fmt: skip
def test_small_money_has_two_digits_that_count(amount: float, text: str) -> None:
    assert dollars(amount) == text


def test_the_policy_is_told_in_words_in_one_order(serve: Serve, tmp_path: Path) -> None:
    server = serve(press_next)
    assert eval_chat(server, tmp_path, "--temperature", "0", "--extra", "top_k=5") == 0
    markdown = read_report(tmp_path).markdown().replace("\\", "")
    assert (
        f"| policy | chat, model m, endpoint {server.url}, max_tokens 4,096, "
        f"prompt default {DEFAULT.sha256}, temperature 0.0, top_k 5 |"
    ) in markdown


PARSERS = {
    "<tool_call>\n<function=press>\n</function>\n</tool_call>": "--tool-call-parser qwen3_coder",
    '[press(colour="red")]': "--tool-call-parser pythonic",
    "[THINK]I wonder": "--reasoning-parser mistral",
    "<think>I wonder": "--reasoning-parser NAME",
    "<|begin_weighing|>I wonder": "begins with '<|begin_weighing|>'",
    "[PONDER]I wonder": "begins with '[PONDER]'",
}


@pytest.mark.parametrize("answer", PARSERS)
def test_the_parser_that_the_server_needs_is_named(answer: str) -> None:
    [diagnosis] = diagnoses(report_of(row(invalid=2, invalid_answer=answer)))
    assert PARSERS[answer] in diagnosis


@pytest.mark.parametrize("answer", ["I wonder", "<press>red</press>"])
def test_no_parser_is_named_for_plain_text(answer: str) -> None:
    [diagnosis] = diagnoses(report_of(row(invalid=2, invalid_answer=answer), env_id="agentgym/x"))
    assert "-parser NAME" not in diagnosis
