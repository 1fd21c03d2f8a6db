"""What the model did counts; what the infrastructure did is left out, and nothing hides it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest
from rich.console import Console

from agentgym.agents import Session
from agentgym.cli import main
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError, EvaluationFailed
from agentgym.evaluation import EpisodeResult, compare, evaluate, read_report, report_from_dict
from agentgym.policies import ChatConfig, ChatPolicy
from tests.policies.endpoint import ChatServer, completion, refusal
from tests.toy import TOY_ID, ToyEnv

RAISING_ID = "agentgym-test/Raising-v0"


class RaisingEnv(ToyEnv):
    """Raises in the episodes of some tasks, at the reset or in the first turn."""

    def __init__(self, where: str, period: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.where, self.period = where, period

    def _start(self, task: Any, rng: Any) -> str:
        self._boom("reset", task)
        return super()._start(task, rng)

    def _act(self, action: str) -> Any:
        self._boom("step", self.task)
        return super()._act(action)

    def _boom(self, where: str, task: Any) -> None:
        if where == self.where and task.index % self.period == 0:
            raise RuntimeError("boom")


@pytest.fixture(autouse=True)
def registered() -> Any:
    gymnasium.register(RAISING_ID, entry_point=f"{__name__}:RaisingEnv")
    yield
    gymnasium.registry.pop(RAISING_ID)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["step", "reset"])
@pytest.mark.parametrize("backend", ["sync", "thread", "process"])  # ray: tests/vector/test_ray.py
def test_an_environment_that_raises_costs_one_episode_in_every_back_end(
    backend: str, where: str
) -> None:
    kwargs = {"where": where}
    report = evaluate("oracle", RAISING_ID, num_tasks=10, env_kwargs=kwargs, backend=backend)
    assert 0 < report.errors < 10 and report.success == 1.0
    assert {row.error for row in report.rows if not row.valid} == {"RuntimeError: boom"}


def test_an_environment_that_always_raises_ends_the_evaluation() -> None:
    for n, words in ((5, "all 5 failed; first: RuntimeError: boom"), (30, "the last 20 episodes")):
        with pytest.raises(EvaluationFailed, match=words):
            evaluate("oracle", RAISING_ID, num_tasks=n, env_kwargs={"where": "reset", "period": 1})


def full_after(limit: int) -> Any:
    """An endpoint that is right until a conversation has more messages than its model can read."""

    def answer(body: dict[str, Any], number: int) -> Any:
        if len(body["messages"]) > limit:
            return refusal("too long", code="context_length_exceeded")
        return completion(f"press {body['messages'][-1]['content'].split()[-1]}")

    return ChatServer(answer)


@pytest.mark.slow
def test_a_model_that_overflows_its_context_gets_no_perfect_score(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    server = full_after(8)  # four answers; tasks need two to five
    try:
        policy = ChatPolicy(ChatConfig("m", server.url), "")
        report = evaluate(policy, TOY_ID, num_tasks=60, out=tmp_path)
        sampled = evaluate(policy, TOY_ID, num_tasks=5, samples=3)
    finally:
        server.close()
    overflows = report.stop_reasons["context"]
    assert 0 < overflows < 60 and report.n == 60 and not report.incomplete
    assert report.success == pytest.approx((60 - overflows) / 60)
    assert "pass@3" in printed(sampled) and "3" in sampled.to_dict()["pass_at"]
    assert f"context full {overflows}" in printed(report) and "solved" in printed(report)
    better = evaluate("oracle", TOY_ID, num_tasks=60)
    assert compare(report, better).success.value == pytest.approx(-overflows / 60)
    [record, *_] = [e for e in read_episodes(tmp_path / "episodes.jsonl") if not e.success]
    assert "too long" in record.details["error"] and replay(record).equal
    assert read_report(tmp_path) == report


class BadRequest(Exception):
    """As the client of openai raises it."""

    status_code = 400
    code = "context_length_exceeded"
    body: ClassVar = {"message": "This model's maximum context length is 4096 tokens"}


class TooManyRequests(Exception):
    status_code = 429
    code = None
    body: ClassVar = {"error": {"message": "Too many tokens, please wait"}}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BadRequest("400"), "context"),
        (TooManyRequests("429"), "error"),
        (ConnectionResetError("gone"), "error"),
        (KeyError("memory"), "stopped"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_is_raised_means_the_same_wherever(
    error: Exception, reason: str, wrapped: bool
) -> None:
    def fail(task: str) -> None:
        if task.startswith("toy/gold"):
            if wrapped:
                raise RuntimeError("the framework failed") from error
            raise error

    def function(observation: str, info: Mapping[str, Any]) -> str:
        fail(info["task_id"])
        return f"press {observation.split()[-1]}"

    class Act:
        def act(self, observation: str, info: Mapping[str, Any]) -> str:
            return function(observation, info)

    def agent(session: Session) -> None:
        fail(session.moments[0].info["task_id"])
        while not session.over:
            session.call("press", {"colour": session.observation.split()[-1]})

    kwargs = {"env_kwargs": {"grammar": "tool_call"}}
    for policy, more in ((function, {}), (Act, {}), (agent, kwargs)):
        report = evaluate(policy, TOY_ID, num_tasks=20, **more)
        ends = {row.stop_reason for row in report.rows if row.task_id.startswith("toy/gold")}
        assert ends == {reason}
        assert (report.errors > 0) == (reason == "error")


def test_nothing_hides_what_is_broken(tmp_path: Path) -> None:
    kwargs = {"where": "step"}
    report = evaluate("oracle", RAISING_ID, num_tasks=20, env_kwargs=kwargs, out=tmp_path)
    bound = (20 - report.errors) / 20
    assert report.incomplete and report.success == 1.0
    assert report.success_lower_bound.value == pytest.approx(bound)
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["incomplete"] is True and data["success_lower_bound"] == pytest.approx(bound)
    for text in (printed(report), report.markdown(), report._repr_html_()):
        words = ("at least", f"{bound:.3f}", "retry_failed=True")
        assert all(word in text.replace("\\", "") for word in words), text
        # The bound is the first that is read.
        assert text.replace("\\", "").index(f"{bound:.3f}") < text.index("1.000")
    assert f"at least {bound:.3f}" in repr(report) and "incomplete" in repr(report)
    assert [*data].index("success_lower_bound") < [*data].index("success")
    assert data["headline"]["at_least"] and data["headline"]["success"] == pytest.approx(bound)
    assert data["headline"]["score"] == data["score_lower_bound"] == pytest.approx(bound)
    plain_report = evaluate("oracle", RAISING_ID, num_tasks=20, env_kwargs={"where": ""})
    comparison = compare(report, plain_report)
    assert comparison.success.value == 0.0 and comparison.all_counted is not None
    assert comparison.all_counted.success.value == pytest.approx(bound - 1)
    assert "broken" in printed(comparison) and "incomplete" in printed(comparison)
    assert printed(comparison).index(f"{bound - 1:.3f}") < printed(comparison).index("0.000")
    assert f"success {bound - 1:+.3f}" in repr(comparison)
    counted = evaluate(
        "oracle", RAISING_ID, num_tasks=20, env_kwargs=kwargs, out=tmp_path, failed="count"
    )
    assert counted.success == pytest.approx(bound) == counted.score_mean and counted.n == 20
    assert not counted.incomplete and read_report(tmp_path).failed == "count"
    assert "counted as unsolved" in printed(counted)
    assert report_from_dict(counted.to_dict()) == counted
    with pytest.raises(ConfigurationError, match="failed to be one of leave-out, count"):
        evaluate("oracle", TOY_ID, num_tasks=1, failed="ignore")


def test_broken_samples_take_no_draw_away() -> None:
    report = evaluate("oracle", TOY_ID, num_tasks=4, samples=3)
    rows = tuple(
        replace(row, stop_reason="error", error="down", score=0.5) if row.sample else row
        for row in report.rows
    )
    broken = replace(report, rows=rows)
    assert broken.pass_at(3).value == 1.0 and broken.pass_hat(3).value == 0.0
    assert "pass@3" in printed(broken) and broken.success == 1.0
    assert broken.success_lower_bound.value == pytest.approx(1 / 3)


def test_the_command_ends_with_a_code_of_its_own(tmp_path: Path, capsys: Any) -> None:
    argv = [
        "eval",
        RAISING_ID,
        "--policy",
        "oracle",
        "--num-tasks",
        "20",
        "--env-kwargs",
        "where=step",
    ]
    assert main(argv) == 3 and "incomplete" in capsys.readouterr().out
    assert main([*argv, "--failed", "count"]) == 0


def test_an_episode_that_a_wrapper_cuts_ends_by_the_horizon(tmp_path: Path) -> None:
    env = gymnasium.make(TOY_ID, max_episode_steps=2)
    reports = [
        evaluate(lambda observation, info: "press pink", env, num_tasks=3, out=tmp_path / name,
                 backend=name)
        for name in ("sync", "thread")
    ]  # fmt: skip
    for report in reports:
        assert report.stop_reasons == {"horizon": 3} and {row.turns for row in report.rows} == {2}
        assert report.env_kwargs["max_episode_steps"] == 2
    records = [*read_episodes(tmp_path / "sync" / "episodes.jsonl")]
    assert tuple(map(EpisodeResult.of, records)) == reports[0].rows
    assert all(replay(record).equal for record in records)


def printed(renderable: Any) -> str:
    text = io.StringIO()
    Console(file=text, width=400).print(renderable.table())
    return text.getvalue()
