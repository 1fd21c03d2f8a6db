"""Spans of episodes: sent over OTLP, named as OpenTelemetry's conventions say, shown by Phoenix."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel")

from agentgym import make
from agentgym.episodes import Episode, Recorder
from agentgym.episodes.spans import is_tracing, trace, tracing
from tests.cli.test_commands import run, wide
from tests.episodes.collector import ENDPOINT, Collector, collecting, plain
from tests.toy import TOY_ID

__all__ = ["wide"]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting(monkeypatch) as server:
        yield server


def play(raw_text: str | None = "<think>hm</think>press red") -> Episode:
    """Play a first turn, an expert's turns, and return the episode."""
    with Recorder(make(TOY_ID), None, policy="me") as env:
        base: Any = env.unwrapped
        env.reset(seed=3)
        env.annotate(raw_text, 11, 7, cached_tokens=5, finish_reason="length")
        env.step("press red")
        while env.last is None:
            env.step(base.oracle_action())
        return env.last


def children(spans: list[dict[str, Any]], root: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(
        (span for span in spans if span.get("parentSpanId") == root["spanId"]),
        key=lambda span: int(span["startTimeUnixNano"]),
    )


def test_an_evaluation_sends_its_episodes(
    capsys: Any, collector: Collector, tmp_path: Path
) -> None:
    flags = ("--policy", "oracle", "--num-tasks", "3", "--no-scale")
    assert run(capsys, "eval", f"tests.toy:{TOY_ID}", *flags)[0] == 0
    assert not collector.bodies
    out = tmp_path / "out"
    otel_flags = ("--otel", "--out", str(out))
    assert run(capsys, "eval", f"tests.toy:{TOY_ID}", *flags, *otel_flags)[0] == 0
    records = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    spans = collector.spans
    roots = {span["attributes"]["agentgym.task_id"]: span
             for span in spans if "parentSpanId" not in span}  # fmt: skip
    assert len(roots) == len(records) == 3
    for record in records:
        root = roots[record["task_id"]]
        assert root["name"] == "invoke_agent oracle"
        assert root["attributes"]["agentgym.stop_reason"] == record["stop_reason"]
        events = [plain(event)["attributes"] for event in root["events"]]
        scores = {event["gen_ai.evaluation.name"]: event["gen_ai.evaluation.score.value"]
                  for event in events}  # fmt: skip
        assert scores == {name: float(record[name]) for name in ("score", "success", "reward")}
        tools = children(spans, root)
        assert [tool["name"] for tool in tools] == ["execute_tool act"] * len(record["turns"])
        for tool, turn in zip(tools, record["turns"], strict=True):
            attributes = tool["attributes"]
            assert (
                json.loads(attributes["gen_ai.tool.call.arguments"])["action"] == turn["executed"]
            )
            assert attributes["gen_ai.tool.call.result"] == turn["after"]["observation"]
            assert root["traceId"] == tool["traceId"]
            times = [int(span[name]) for span, name in (
                (root, "startTimeUnixNano"), (tool, "startTimeUnixNano"),
                (tool, "endTimeUnixNano"), (root, "endTimeUnixNano"),
            )]  # fmt: skip
            assert times == sorted(times)


def test_what_a_model_wrote_is_a_chat(collector: Collector) -> None:
    with tracing():
        assert is_tracing()
        episode = play()
    assert not is_tracing()
    play()
    spans = collector.spans
    [root] = (span for span in spans if "parentSpanId" not in span)
    chat, tool, *other_children = children(spans, root)
    assert (chat["name"], chat["kind"], tool["name"]) == (
        "chat me", "SPAN_KIND_CLIENT", "execute_tool act"
    )  # fmt: skip
    assert chat["endTimeUnixNano"] == tool["startTimeUnixNano"]
    assert {span["name"] for span in other_children} == {"execute_tool act"}
    attributes = chat["attributes"]
    usage = [attributes[f"gen_ai.usage.{name}"] for name in (
        "input_tokens", "output_tokens", "cache_read.input_tokens"
    )]  # fmt: skip
    assert usage == [11, 7, 5] and attributes["gen_ai.response.finish_reasons"] == ["length"]
    [message] = json.loads(attributes["gen_ai.output.messages"])
    assert message == {
        "role": "assistant",
        "parts": [{"type": "text", "content": "<think>hm</think>press red"}],
        "finish_reason": "length",
    }
    [message] = json.loads(attributes["gen_ai.input.messages"])
    assert message["parts"][0]["content"] == episode.start.observation


def test_lone_surrogates_and_failures_are_sent(collector: Collector) -> None:
    with tracing(), Recorder(make(TOY_ID), None, policy="me") as env:
        env.reset(seed=3)
        env.annotate("lone \ud800")
        env.step("press \ud800")
        env.end("error", "the endpoint is gone")
    [root] = (span for span in collector.spans if "parentSpanId" not in span)
    assert root["status"] == {"message": "the endpoint is gone", "code": "STATUS_CODE_ERROR"}
    assert "lone ?" in str(collector.spans)


def test_the_names_are_those_of_the_conventions(collector: Collector) -> None:
    conventions = pytest.importorskip(
        "opentelemetry.semconv._incubating.attributes.gen_ai_attributes"
    )
    with tracing():
        play()
    names = {name for span in collector.spans for name in span["attributes"]}
    names |= {name for span in collector.spans for event in span.get("events", ())
              for name in plain(event)["attributes"]}  # fmt: skip
    official = {value for value in vars(conventions).values() if isinstance(value, str)}
    assert {name for name in names if name.startswith("gen_ai.")} <= official
    operations = {span["attributes"]["gen_ai.operation.name"] for span in collector.spans}
    known_names = {member.value for member in conventions.GenAiOperationNameValues}
    assert operations == {"invoke_agent", "chat", "execute_tool"} and operations <= known_names


def test_without_tracing_nothing_is_imported() -> None:
    code = (
        "import sys; from agentgym.episodes.spans import trace; trace(None, []); "
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    trace(play(), [])


@pytest.mark.slow
def test_phoenix_shows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its server takes the spans, and shows agents, models and tools with their texts."""
    pytest.importorskip("phoenix.server", reason="phoenix is in .ci/peers")
    with (
        socket.create_server(("127.0.0.1", 0)) as first_socket,
        socket.create_server(("", 0)) as other_socket,
    ):
        ports = [server.getsockname()[1] for server in (first_socket, other_socket)]
    address = f"http://127.0.0.1:{ports[0]}"
    monkeypatch.setenv(ENDPOINT, address)
    variables = {
        "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_PORT": str(ports[0]),
        "PHOENIX_GRPC_PORT": str(ports[1]), "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_HOST": "127.0.0.1",
    }  # fmt: skip
    command = [str(Path(sys.executable).with_name("phoenix")), "serve"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log)
    try:
        _fetch(f"{address}/healthz")
        with tracing():
            episode = play()
        url = f"{address}/v1/projects/default/spans?limit=100"
        spans = json.loads(_fetch(url, until=b"invoke_agent"))["data"]
    finally:
        server.terminate()
        server.wait()
    kinds = [span["span_kind"] for span in spans]
    assert sorted(kinds) == ["AGENT", "LLM", *["TOOL"] * len(episode.turns)]
    [model] = (span["attributes"] for span in spans if span["span_kind"] == "LLM")
    reply = model["llm.output_messages.0.message.content"]
    assert reply == "<think>hm</think>press red"
    assert model["llm.token_count.prompt"] == 11 and model["llm.token_count.completion"] == 7
    outputs = {span["attributes"]["output.value"] for span in spans if span["span_kind"] == "TOOL"}
    assert outputs == {turn.after.observation for turn in episode.turns}


def _fetch(url: str, until: bytes = b"") -> bytes:
    """Return what an address answers as soon as it has some text."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                body: bytes = answer.read()
            if until in body:
                return body
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer of {url}")
