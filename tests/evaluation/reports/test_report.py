"""What a report says: samples, kinds of task, tokens, the scale, and what identifies it."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import itertools
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agentgym.agents import Session
from agentgym.episodes import read_episodes, replay
from agentgym.errors import (
    ConfigurationError,
    DataError,
    EnvFailure,
    EvaluationFailed,
    PolicyFailure,
)
from agentgym.evaluation import (
    EpisodeResult,
    Limits,
    Prices,
    Report,
    Scale,
    compare,
    evaluate,
    pass_at_k,
    pass_hat_k,
    read_report,
    report_from_dict,
)
from agentgym.policies import ModelOutput
from agentgym.support.statistics import mcnemar
from tests.toy import TOY_ID, ToyEnv


class Model:
    """A solver with tokens, which gives up in every third episode of a seed."""

    def __init__(self, name: str = "tiny-1", fails: int = 3) -> None:
        self.name, self.fails, self.seeded = name, fails, 0
        self.last_output: ModelOutput | None = None

    def facts(self) -> Mapping[str, Any]:
        return {"kind": "test", "model": self.name, "temperature": 0.5}

    def copy(self) -> Model:
        return Model(self.name, self.fails)

    def seed(self, seed: int) -> None:
        self.seeded = seed

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        gives_up = self.seeded % self.fails == 0
        action = "press pink" if gives_up else f"press {observation.split()[-1]}"
        self.last_output = ModelOutput(
            action, 100, 10, 40, 4, "hm", "length" if gives_up else "stop"
        )
        return action


def row_of(task: str, success: bool, sample: int = 0, **more: Any) -> EpisodeResult:
    return EpisodeResult(task, float(success), success, 1, 0.0, "", sample=sample, **more)


def test_a_report_identifies_itself() -> None:
    env_kwargs = {"grammar": "xml"}
    outputs: list[ModelOutput] = []
    report = evaluate(
        Model(),
        TOY_ID,
        num_tasks=6,
        on_output=outputs.append,
        env_kwargs=env_kwargs,
        horizon=7,
        prices=Prices(2.0, 10.0, 1.0),
    )
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["policy"] == "tiny-1" and data["policy_facts"]["temperature"] == 0.5
    assert data["env_kwargs"] == env_kwargs and data["horizon"] == 7
    assert {"python", "gymnasium"} <= set(data["versions"]) and data["machine"]["cores"]
    assert data["started"].endswith("+00:00") and data["seconds"] > 0
    turns = sum(row.turns for row in report.rows)
    assert data["tokens"] == {
        "prompt": 100 * turns,
        "completion": 10 * turns,
        "cached": 40 * turns,
        "reasoning": 4 * turns,
    }
    assert len(outputs) == turns and {output.completion_tokens for output in outputs} == {10}
    assert data["tokens_per_second"] == pytest.approx(10 * turns / data["seconds"])
    assert data["cost"] == pytest.approx(turns * (60 * 2.0 + 40 * 1.0 + 10 * 10.0) / 1e6)
    assert set(data["finish_reasons"]) <= {"stop", "length"}
    assert report_from_dict(data) == report
    with pytest.raises(DataError, match=r"agentgym\.report/1"):
        report_from_dict({**data, "format": "agentgym.report/9"})
    with pytest.raises(DataError, match="whole report"):
        report_from_dict({"format": data["format"]})


def damaged(data: Any, place: str, value: Any) -> None:
    """Put a value in a place such as ``rows.0.score``."""
    *steps, last = place.split(".")
    for step in steps:
        data = data[int(step)] if isinstance(data, list) else data[step]
    data[last] = value


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("rows.0.score", "0.5"),
        ("rows.0.score", None),
        ("rows.0.score", float("nan")),
        ("rows.0.success", "yes"),
        ("rows.0.turns", None),
        ("rows.0.prompt_tokens", "5"),
        ("rows.0.labels", [1]),
        ("rows.0.labels", {"kind": 1}),
        ("rows.0.finish_reasons", 3),
        ("rows.0.stop_reason", ["a"]),
        ("rows.0.task_id", [1]),
        ("rows.0.error", None),
        ("rows.0.sample", 2),
        ("rows", {}),
        ("samples", 0),
        ("samples", "2"),
        ("planned", "8"),
        ("policy", None),
        ("panel_sha256", None),
        ("policy_facts", None),
        ("env_kwargs", [1]),
        ("machine", None),
        ("seed", "x"),
        ("limits", {"tokens": "x", "cost": None}),
        ("limits", {"tokens": 0, "cost": None}),
        ("prices.prompt", "1"),
        ("prices.prompt", -1),
        ("scale.random", "x"),
        ("protocol", {"name": "x"}),
    ],
)
def test_an_edited_report_is_refused(tmp_path: Path, place: str, value: Any) -> None:
    scale, prices = Scale(0.0, 1.0, 1.0), Prices(1.0, 1.0)
    evaluate("random", TOY_ID, num_tasks=2, samples=2, out=tmp_path, scale=scale, prices=prices)
    file = tmp_path / "report.json"
    data = json.loads(file.read_text())
    damaged(data, place, value)
    file.write_text(json.dumps(data))
    with pytest.raises(DataError, match=r"expected .*remove it, and run the same agentgym eval"):
        read_report(tmp_path)
    file.unlink()
    assert evaluate("random", TOY_ID, num_tasks=2, samples=2, out=tmp_path).n == 4


def test_a_report_with_an_episode_twice_is_refused() -> None:
    data = evaluate("random", TOY_ID, num_tasks=2, samples=2).to_dict()
    data["rows"].append(data["rows"][0])
    with pytest.raises(DataError, match=r"each task once in the report, got sample 0 of .* again"):
        report_from_dict(data)


@given(n=st.integers(1, 8), data=st.data())
def test_draws_without_bias(n: int, data: st.DataObject) -> None:
    solved, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = [*itertools.combinations([True] * solved + [False] * (n - solved), k)]
    assert pass_at_k(n, solved, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(n, solved, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_samples_of_a_task_are_one_observation() -> None:
    report = evaluate(Model(), TOY_ID, num_tasks=20, samples=4)
    assert [row.sample for row in report.rows[:5]] == [0, 1, 2, 3, 0]
    assert len({row.task_id for row in report.rows}) == 20
    rates = [sum(row.success for row in rows) / 4 for rows in report.by_task.values()]
    assert len({*rates}) > 1 and report.success == pytest.approx(sum(rates) / 20)
    assert report.pass_at(1).value == pytest.approx(report.success)
    assert report.pass_hat(4).value < report.success < report.pass_at(4).value
    single = Report("", "", "", 0, "", tuple(row_of(str(i), i % 2 == 0) for i in range(80)))
    repeated = Report(
        "", "", "", 0, "", tuple(row_of(str(i % 20), i % 2 == 0, i // 20) for i in range(80))
    )
    widths = [high - low for low, high in (single.success_ci95, repeated.success_ci95)]
    assert widths[1] > 1.5 * widths[0]
    with pytest.raises(ConfigurationError, match="more samples"):
        report.pass_at(5)


def test_results_by_kind_of_task() -> None:
    rows = tuple(
        row_of(str(i), i % 4 == 0, labels={"kind": "ab"[i % 2], "id": str(i), "same": "x"})
        for i in range(40)
    )
    report = Report("e", "p", "test", 0, "", rows)
    groups = report.by_label()
    assert list(groups) == ["kind"] and [len(group) for group in groups["kind"].values()] == [
        20,
        20,
    ]
    assert report.to_dict()["by_label"]["kind"]["a"]["success"] == 0.5
    printed = " ".join(_printed(report).split())
    assert "│ kind │ score, success, episodes │ │ a │ 0.500 [" in printed
    assert "| kind | score | success | episodes |\n" in report.markdown()
    [line] = [line for line in report.markdown().splitlines() if line.startswith("| a |")]
    assert line.count(" | ") == 3 and line.endswith(" | 20 |")
    assert "<script>" not in Report("<script>", "p", "test", 0, "", rows)._repr_html_()


def test_the_scale_and_its_two_ends() -> None:
    report = evaluate(Model(fails=2), TOY_ID, num_tasks=20, scale=True)
    assert report.scale is not None and report.scale.expert == 1.0
    floor = report.scale.random
    assert report.scaled == pytest.approx(100 * (report.score_mean - floor) / (1 - floor))
    short = evaluate(Model(), TOY_ID, num_tasks=20, scale=True, horizon=1)
    assert short.scaled is None and short.scale is not None
    assert "longer horizon" in short.scale.problem and "longer horizon" in _printed(short)
    assert "no expert" in Scale(0.5, None).problem and "no skill" in Scale(1.0, 1.0, 1.0).problem


def test_limits_end_an_episode_as_it_stands() -> None:
    report = evaluate(Model(), TOY_ID, num_tasks=8, limits=Limits(tokens=220))
    assert {row.turns for row in report.rows} == {2}
    reasons = {row.stop_reason for row in report.rows}
    assert "token_limit" in reasons and report.errors == 0
    cheap = evaluate(
        Model(), TOY_ID, num_tasks=8, limits=Limits(cost=1e-9), prices=Prices(1.0, 1.0)
    )
    assert {(row.turns, row.stop_reason) for row in cheap.rows} == {(1, "cost_limit")}
    for bad_input in (
        lambda: evaluate(Model(), TOY_ID, limits=Limits(cost=1.0)),
        lambda: Limits(tokens=0),
        lambda: Prices(-1.0, 1.0),
    ):
        with pytest.raises(ConfigurationError):
            bad_input()


def test_consecutive_invalid_actions_end_an_episode_and_count(tmp_path: Path) -> None:
    limited = {"num_tasks": 6, "horizon": 5, "end_after_invalid": 2}
    report = evaluate(Model(fails=1), TOY_ID, **limited, out=tmp_path)
    ends = {(row.turns, row.invalid, row.stop_reason) for row in report.rows}
    assert ends == {(2, 2, "invalid_actions")} and report.errors == 0
    assert (report.n, report.success) == (6, 0.0)
    assert report.rows == tuple(map(EpisodeResult.of, read_episodes(tmp_path / "episodes.jsonl")))
    with pytest.raises(ConfigurationError, match="end_after_invalid was"):
        evaluate(Model(fails=1), TOY_ID, num_tasks=6, horizon=5, out=tmp_path)
    full_report = evaluate(Model(fails=1), TOY_ID, num_tasks=6, horizon=5)
    assert {row.turns for row in full_report.rows} == {5}
    with pytest.raises(ConfigurationError, match="end_after_invalid"):
        evaluate(Model(), TOY_ID, end_after_invalid=-1)

    def agent(session: Session) -> None:
        while not session.over:
            session.call("press", {"colour": "pink"})

    calls = evaluate(agent, TOY_ID, env_kwargs={"grammar": "tool_call"}, **limited)
    assert {(row.turns, row.stop_reason) for row in calls.rows} == {(2, "invalid_actions")}


def test_limits_end_the_episode_of_an_agent_that_owns_the_loop(tmp_path: Path) -> None:
    answers: list[str] = []

    def agent(session: Session) -> None:
        for _ in range(3):
            session.annotate(ModelOutput("blue", prompt_tokens=100, completion_tokens=10))
            answers.append(session.call("press", {"colour": "blue"}))

    limited = {
        "env": TOY_ID,
        "env_kwargs": {"grammar": "tool_call"},
        "num_tasks": 2,
        "out": tmp_path,
    }
    report = evaluate(agent, **limited, limits=Limits(tokens=200))
    ends = [(row.turns, row.stop_reason, row.prompt_tokens) for row in report.rows]
    assert ends == [(2, "token_limit", 200)] * 2 and "over (token_limit)" in answers[1]
    assert report.rows == tuple(map(EpisodeResult.of, read_episodes(tmp_path / "episodes.jsonl")))
    with pytest.raises(ConfigurationError, match="limits was"):
        evaluate(agent, **limited)


def test_a_report_says_what_limited_its_episodes(tmp_path: Path) -> None:
    dear = {"limits": Limits(cost=1e-9), "out": tmp_path}
    report = evaluate(Model(), TOY_ID, num_tasks=3, prices=Prices(1.0, 1.0), **dear)
    assert report.limits == Limits(cost=1e-9) == read_report(tmp_path).limits
    assert "1e-09 US dollars" in _printed(report) and "1e-09" in report.markdown()
    with pytest.raises(ConfigurationError, match="prices was"):
        evaluate(Model(), TOY_ID, num_tasks=3, prices=Prices(0.1, 0.1), **dear)
    free = evaluate(Model(), TOY_ID, num_tasks=3, limits=Limits())
    assert free.limits is None and report_from_dict(free.to_dict()) == free
    assert compare(report, free).differing["limits"] == ({"tokens": None, "cost": 1e-9}, None)
    earlier = {key: value for key, value in free.to_dict().items() if key != "limits"}
    assert report_from_dict(earlier) == free


def test_functions_and_coroutines_are_policies() -> None:
    together, most_together, lock = 0, 0, threading.Lock()

    async def wait(observation: str, info: Mapping[str, Any]) -> str:
        nonlocal together, most_together
        together += 1
        most_together = max(most_together, together)
        await asyncio.sleep(0.01)
        together -= 1
        return f"press {observation.split()[-1]}"

    report = evaluate(wait, TOY_ID, num_tasks=12)
    assert report.success == 1.0 and report.policy == "wait" and 1 < most_together <= 8
    threads = set[int]()

    def think(observation: str, info: Mapping[str, Any]) -> str:
        with lock:
            threads.add(threading.get_ident())
        return f"press {observation.split()[-1]}"

    assert evaluate(think, TOY_ID, num_tasks=12).rows == report.rows and len(threads) == 1

    class Asks:
        async def act(self, observation: str, info: Mapping[str, Any]) -> Any:
            if info["turn"] == 1 and info["task_id"] == "toy/gold-red":
                raise TimeoutError("no answer")
            return 5 if observation.split()[-1] == "red" else f"press {observation.split()[-1]}"

    rows = evaluate(Asks, TOY_ID, tasks=["toy/gold-red", "toy/red-gold", "toy/gold-gold"]).rows
    errors = [row.error for row in rows]
    assert "raised TimeoutError: no answer" in errors[0] and "got int" in errors[1]
    assert rows[2].success


def test_agents_that_own_the_loop_are_evaluated(tmp_path: Path) -> None:
    def agent(session: Session) -> None:
        while not session.over and session.turns < 4:
            session.call("press", {"colour": session.observation.split()[-1]})

    tools = {"env_kwargs": {"grammar": "tool_call"}, "num_tasks": 40}
    report = evaluate(agent, TOY_ID, out=tmp_path, **tools)
    assert report.policy == "agent" and {*report.stop_reasons} == {"success", "stopped"}
    assert all(row.turns == 4 for row in report.rows if row.stop_reason == "stopped")
    records = read_episodes(tmp_path / "episodes.jsonl")
    assert tuple(EpisodeResult.of(record) for record in records) == report.rows
    assert report.success == evaluate("oracle", TOY_ID, num_tasks=40, horizon=4).success

    def broken(session: Session) -> None:
        raise KeyError("no tool")

    with pytest.raises(EvaluationFailed, match="raised KeyError"):
        evaluate(broken, TOY_ID, **tools)


def test_the_same_report_at_any_concurrency() -> None:
    alone = evaluate(Model(), TOY_ID, num_tasks=10, samples=2, concurrency=1)
    assert evaluate(Model(), TOY_ID, num_tasks=10, samples=2, concurrency=7) == alone
    env = gymnasium.make(TOY_ID)
    assert evaluate(Model, env, num_tasks=10, samples=2, concurrency=3) == alone
    assert evaluate("random", env, num_tasks=10, concurrency=3) == evaluate(
        "random", env, num_tasks=10
    )


def test_tasks_that_were_named() -> None:
    report = evaluate("oracle", TOY_ID, tasks=["toy/gold-red", "toy/red-red"])
    assert [row.task_id for row in report.rows] == ["toy/gold-red", "toy/red-red"]
    assert report.panel_sha256 != evaluate("oracle", TOY_ID, tasks=["toy/red-red"]).panel_sha256


def test_two_reports_are_compared_task_by_task() -> None:
    good, bad = (
        evaluate("oracle", TOY_ID, num_tasks=40),
        evaluate(Model(fails=2), TOY_ID, num_tasks=40),
    )
    comparison = compare(good, bad)
    failures = sum(not row.success for row in bad.rows)
    assert (comparison.only_first, comparison.only_second) == (failures, 0) and comparison.n == 40
    assert comparison.success.value == pytest.approx(failures / 40) and comparison.success.low > 0
    assert comparison.p_value == pytest.approx(mcnemar(failures, 0))
    assert comparison.p_value == pytest.approx(2 * 0.5**failures)
    assert comparison.differing["policy.model"] == (None, "tiny-1")
    assert json.loads(json.dumps(comparison.to_dict()))["format"] == "agentgym.comparison/1"
    assert "oracle minus tiny-1" in _printed(comparison) and "| score |" in comparison.markdown()
    with pytest.raises(ConfigurationError, match="on one panel"):
        compare(good, evaluate("oracle", TOY_ID, num_tasks=39))

    def down(observation: str, info: Mapping[str, Any]) -> str:
        if info["task_id"] == good.rows[0].task_id:
            raise PolicyFailure("down")
        return "press pink"

    assert (compare(good, evaluate(down, TOY_ID, num_tasks=40)).n) == 39
    assert compare(good, evaluate(Model(), TOY_ID, num_tasks=40, samples=2)).p_value is None
    assert mcnemar(0, 0) == 1.0 and mcnemar(5, 5) == 1.0


def _printed(renderable: Any) -> str:
    text = io.StringIO()
    Console(file=text, width=160).print(renderable.table())
    return text.getvalue()


def test_an_env_that_is_given_is_left_open() -> None:
    env = ToyEnv()
    evaluate("oracle", env, num_tasks=2)
    env.reset(seed=0)


class DownEnv(ToyEnv):
    """Fails at the second action of every other task."""

    def _act(self, action: str) -> Any:
        if self.turn == 1 and self.task.index % 2:
            raise EnvFailure("the retriever is down")
        return super()._act(action)


def test_tokens_count_also_where_no_turn_came_of_them(tmp_path: Path) -> None:
    gymnasium.register("Down-v0", entry_point=DownEnv)
    try:
        report = evaluate(Model(fails=99), "Down-v0", num_tasks=8, out=tmp_path)
    finally:
        del gymnasium.registry["Down-v0"]
    failed = next(row for row in report.rows if not row.valid)
    assert (failed.turns, failed.prompt_tokens, failed.finish_reasons) == (1, 200, {"stop": 2})
    records = list(read_episodes(tmp_path / "episodes.jsonl"))
    assert tuple(EpisodeResult.of(record) for record in records) == report.rows
    assert "unused_outputs" in next(r for r in records if r.stop_reason == "error").extra


def test_what_an_agent_thinks_without_acting_counts(tmp_path: Path) -> None:
    def agent(session: Session) -> None:
        session.annotate(ModelOutput("let me see", 5, 3))
        session.annotate(ModelOutput("press", 7, 2, finish_reason="tool_calls"))
        session.call("press", {"colour": "red"})
        session.annotate(ModelOutput("I give up", 9, 4, finish_reason="stop"))
        session.end()
        session.annotate(ModelOutput("after the end", 100, 100))

    kwargs = {"grammar": "tool_call"}
    report = evaluate(agent, TOY_ID, num_tasks=3, env_kwargs=kwargs, out=tmp_path)
    for row in report.rows:
        assert (row.prompt_tokens, row.completion_tokens) == (21, 9)
        assert row.finish_reasons == {"stop": 1, "tool_calls": 1}
    records = list(read_episodes(tmp_path / "episodes.jsonl"))
    assert tuple(EpisodeResult.of(record) for record in records) == report.rows
    assert all(replay(record).equal for record in records)


def test_reward_hooks_are_shown_as_they_are_typed_and_uncut() -> None:
    shop = {"class": "my_rewards_of_today:MyRewardForShops", "fields": {"weight": 0.01, "free": 2}}
    cost = {"class": "TurnCost", "fields": {"cost": 0.25, "weight": 1.0, "name": "turn_cost"}}
    kwargs = {"size": 300, "reward_hooks": [shop, cost, "damaged"]}
    report = Report(TOY_ID, "m", "test", 0, "", (row_of("a", True),), env_kwargs=kwargs)
    hooks = "my_rewards_of_today:MyRewardForShops:weight=0.01,free=2 turn_cost:cost=0.25 damaged"
    assert f"size=300, reward_hooks {hooks}" in report.markdown().replace("\\", "")


def test_markdown_shows_quotes_as_they_are() -> None:
    report = evaluate("random", TOY_ID, num_tasks=2)
    markdown = dataclasses.replace(report, policy='it\'s <b>a</b> "#1"').markdown()
    assert 'it\'s &lt;b&gt;a&lt;/b&gt; "\\#1"' in markdown and "x27" not in markdown
