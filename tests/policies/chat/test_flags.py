"""`agentgym eval --policy chat`: each setting has a flag, and the key stays secret."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgym.cli import main
from agentgym.cli.arguments import Eval
from agentgym.cli.parsing import parse
from agentgym.evaluation import evaluate as run
from agentgym.evaluation.suites.chat_settings import chat_policy
from agentgym.policies import ChatConfig
from tests.policies.endpoint import KEY, Answer, ChatServer, completion, press_next, refusal
from tests.toy import TOY_ID

pytest.importorskip("openai")

OTHER_KEY = "sk-of-another-variable-0815"
Serve = Callable[[Answer], ChatServer]


def evaluate(server: ChatServer, out: Path, *flags: str, n: int = 1) -> dict[str, Any]:
    chat = ("--policy", "chat", "--model", "m", "--base-url", server.url)
    assert main(["eval", TOY_ID, *chat, "--num-tasks", str(n), "--out", str(out), *flags]) == 0
    return dict(json.loads((out / "report.json").read_text()))


FLAGS: dict[str, tuple[list[str], Any]] = {
    "model": (["--model", "other"], "other"),
    "base_url": (["--base-url", "http://127.0.0.1:9/v1"], "http://127.0.0.1:9/v1"),
    "api_key_env": (["--api-key-env", "OTHER_KEY"], "OTHER_KEY"),
    "instructions": (["--instructions", "Be brief."], "Be brief."),
    "window": (["--window", "3"], 3),
    "tools": (["--grammar", "tool_call"], True),
    "max_tokens": (["--max-tokens", "77"], 77),
    "temperature": (["--temperature", "0.25"], 0.25),
    "top_p": (["--top-p", "0.5"], 0.5),
    "seed": (["--sampling-seed", "9"], 9),
    "timeout": (["--timeout", "8.5"], 8.5),
    "retries": (["--retries", "2"], 2),
    "extra": (["--extra", "top_k=20"], {"top_k": 20}),
    "stream": (["--stream"], True),
    "max_tokens_parameter": (
        ["--max-tokens-parameter", "max_completion_tokens"], "max_completion_tokens",
    ),
    "send_reasoning": (["--send-reasoning"], True),
    "invalid_reasons": (["--invalid-reasons"], True),
    "requests_per_minute": (["--requests-per-minute", "30"], 30.0),
}  # fmt: skip
"""By field of `ChatConfig`: a flag with another value than the default, and what arrives."""


@pytest.mark.parametrize("field", dataclasses.fields(ChatConfig), ids=lambda field: field.name)
def test_every_setting_of_the_policy_has_a_flag_whose_value_arrives(
    field: dataclasses.Field[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", OTHER_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    flags, expected = FLAGS[field.name]
    command = parse(["eval", TOY_ID, "--policy", "chat", "--model", "m", *flags])
    assert isinstance(command, Eval)
    policy = chat_policy(command, "how to act", command.grammar or "native")
    assert getattr(policy.config, field.name) == expected != field.default
    usual = chat_policy(replace(command, **_defaults(field.name)), "", "native").config
    other_fields = {f.name for f in dataclasses.fields(ChatConfig)} - {field.name}
    assert {n: getattr(policy.config, n) for n in other_fields} == {
        n: getattr(usual, n) for n in other_fields
    }


def _defaults(name: str) -> dict[str, Any]:
    """The flag of a setting as it is when it is left out."""
    flag = {"seed": "sampling_seed", "tools": "grammar"}.get(name, name)
    usual = {field.name: field.default for field in dataclasses.fields(Eval)}
    return {flag: "m" if flag == "model" else usual[flag]}


@pytest.mark.parametrize("backend", ["sync", "thread"])
def test_the_rate_limit_is_one_of_all_episodes_together(
    serve: Serve, tmp_path: Path, backend: str
) -> None:
    arrived: list[float] = []

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        arrived.append(time.monotonic())
        return press_next(body, number)

    server, start = serve(answer), time.monotonic()
    limit = ("--requests-per-minute", "1200", "--concurrency", "4", "--backend", backend)
    evaluate(server, tmp_path, *limit, n=6)
    assert len(arrived) >= 12
    early = [k for k, arrival in enumerate(sorted(arrived)) if arrival < start + k * 60 / 1200]
    assert not early, "a request came before the limit allowed it"


MAKER = """
from agentgym.policies import ChatConfig, ChatPolicy

MADE = []

def make():
    MADE.append(ChatPolicy(ChatConfig("m", URL, requests_per_minute=1200), ""))
    return MADE[-1]
"""


@pytest.mark.parametrize("by_name", [False, True])
def test_what_a_maker_makes_is_shared_by_all_episodes(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_name: bool
) -> None:
    arrived: list[float] = []

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        arrived.append(time.monotonic())
        return press_next(body, number)

    name = f"own_chat_{by_name}"
    (tmp_path / f"{name}.py").write_text(MAKER)
    monkeypatch.syspath_prepend(tmp_path)
    module: Any = __import__(name)
    module.URL, start = serve(answer).url, time.monotonic()
    report = run(f"{name}:make" if by_name else module.make, TOY_ID, num_tasks=6, concurrency=4)
    assert report.success == 1.0 and len(module.MADE) == 1
    assert all(arrival >= start + k * 60 / 1200 for k, arrival in enumerate(sorted(arrived)))


def test_further_fields_of_the_request(serve: Serve, tmp_path: Path) -> None:
    server = serve(press_next)
    fields = ("top_k=20", 'chat_template_kwargs={"enable_thinking": false}')
    report = evaluate(server, tmp_path, "--extra", fields[0], "--extra", fields[1])
    for request in server.requests:
        assert request["top_k"] == 20
        assert request["chat_template_kwargs"] == {"enable_thinking": False}
    assert report["policy_facts"]["extra"]["top_k"] == 20


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--extra", "top_k"], "expected --extra as name=value"),
        (["--extra", "temperature=1"], "fields in extra that have no setting"),
        (["--extra", "top_k=1", "--extra", "top_k=2"], "expected one value of top_k in --extra"),
        (["--max-tokens-parameter", "max_new_tokens"], "max_completion_tokens"),
        (["--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
    ],
)
def test_what_cannot_be_sent_is_named(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    try:
        code = main(
            ["eval", TOY_ID, "--policy", "chat", "--model", "m", "--num-tasks", "1", *flags]
        )
    except SystemExit as stop:  # of the parser
        code = stop.code
    assert code == 2 and message in capsys.readouterr().err


def test_the_name_of_the_longest_answer(serve: Serve, tmp_path: Path) -> None:
    server = serve(press_next)
    evaluate(server, tmp_path, "--max-tokens-parameter", "max_completion_tokens")
    assert all(request["max_completion_tokens"] == 4096 for request in server.requests)
    assert all("max_tokens" not in request for request in server.requests)


def test_without_a_base_url_the_command_says_where_it_asks(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    server = serve(press_next)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    argv = ["eval", TOY_ID, "--policy", "chat", "--model", "m", "--num-tasks", "1", "--no-scale"]
    assert main([*argv, "--out", str(tmp_path)]) == 0
    message = f"Asking m at {server.url} with the key in OPENAI_API_KEY; --base-url names another"
    assert message in capsys.readouterr().out
    evaluate(server, tmp_path / "named")
    assert "Asking" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "flags",
    [("--temperature", "-1"), ("--limit-tokens", "0"), ("--extra", "top_k"), ("--chart", "x.bmp")],
)
def test_the_folder_is_named_when_the_arguments_were_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: Any, tmp_path: Path, flags: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    chat = ("--policy", "chat", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert main(["eval", TOY_ID, *chat, *flags]) == 2
    assert capsys.readouterr().out == "" and not list(tmp_path.iterdir())


@pytest.mark.parametrize("policies", [("random",), ("random", "oracle")])
def test_a_chart_that_cannot_be_drawn_is_refused_before_playing(
    capsys: pytest.CaptureFixture[str], monkeypatch: Any, tmp_path: Path, policies: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out, chart = tmp_path / "o", tmp_path / "a.png"
    named = [flag for policy in policies for flag in ("--policy", policy)]
    assert main(["eval", TOY_ID, *named, "--out", str(out), "--chart", str(chart)]) == 2
    assert "matplotlib" in capsys.readouterr().err and not out.exists()


def test_a_fixed_name_is_not_changed_when_it_is_refused(serve: Serve, tmp_path: Path) -> None:
    def answer(body: dict[str, Any], number: int) -> Any:
        if "max_tokens" in body:
            return refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        return press_next(body, number)

    server = serve(answer)
    chat = ["--policy", "chat", "--model", "m", "--base-url", server.url, "--num-tasks", "1"]
    fixed = ["--max-tokens-parameter", "max_tokens"]
    assert main(["eval", TOY_ID, *chat, *fixed, "--out", str(tmp_path / "fixed")]) != 0
    assert all("max_tokens" in request for request in server.requests)
    evaluate(server, tmp_path / "auto")
    assert "max_completion_tokens" in server.requests[-1]


@pytest.mark.parametrize("send", [False, True])
def test_thinking_goes_back_on_request(serve: Serve, tmp_path: Path, send: bool) -> None:
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        text = press_next(body, number)["choices"][0]["message"]["content"]
        return completion(text, reasoning_content="This one.")

    server = serve(answer)
    report = evaluate(server, tmp_path, *["--send-reasoning"] * send)
    messages = [m for m in server.requests[-1]["messages"] if m["role"] == "assistant"]
    assert messages and all(("reasoning_content" in message) == send for message in messages)
    assert report["policy_facts"]["send_reasoning"] == send


def test_the_key_of_another_variable_is_sent_and_written_nowhere(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("OTHER_KEY", OTHER_KEY)
    server = serve(press_next)
    # Some gateways want the key in the body, too.
    evaluate(server, tmp_path, "--api-key-env", "OTHER_KEY", "--extra", f"token={OTHER_KEY}")
    assert {*server.keys} == {f"Bearer {OTHER_KEY}"}
    assert {request["token"] for request in server.requests} == {OTHER_KEY}
    texts = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    output = capsys.readouterr()
    assert len(texts) >= 3
    assert not any(OTHER_KEY in text or KEY in text for text in [*texts, output.out, output.err])
