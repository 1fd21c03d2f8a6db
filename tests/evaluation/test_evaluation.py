from __future__ import annotations

import io
import json
import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agentgym.core.outcome import Outcome
from agentgym.errors import ConfigurationError, EnvFailure, EvaluationFailed, TaskNotFound
from agentgym.evaluation import (
    Limits,
    Prices,
    evaluate,
    mean_ci95,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    scaled,
    wilson_ci95,
)
from agentgym.policies import PUBLIC_INFO, CallablePolicy
from agentgym.support.statistics import mcnemar
from tests.toy import TOY_ID, ToyEnv


def test_mean_interval_against_tables():
    assert mean_ci95([1.0, 3.0]) == pytest.approx((2.0, 2 - 12.7062, 2 + 12.7062), abs=1e-3)
    for n, quantile in ((6, 2.5706), (11, 2.2281), (31, 2.0423), (1001, 1.9623)):
        values = [0.0, 1.0] * (n // 2) + [0.5] * (n % 2)
        half = quantile * np.std(values, ddof=1) / math.sqrt(n)
        assert mean_ci95(values).high == pytest.approx(0.5 + half, rel=1e-3)
    assert mean_ci95([0.3], (0.0, 1.0)) == (0.3, 0.0, 1.0)
    assert mean_ci95([0.0, 1.0], (0.0, 1.0)) == (0.5, 0.0, 1.0)


def test_wilson_against_published_values():
    assert wilson_ci95(0, 10) == pytest.approx((0.0, 0.0, 0.2775), abs=1e-4)
    assert wilson_ci95(10, 10) == pytest.approx((1.0, 0.7225, 1.0), abs=1e-4)
    assert wilson_ci95(81, 263) == pytest.approx((0.3080, 0.2553, 0.3662), abs=1e-4)


@given(n=st.integers(1, 5000), share=st.floats(0, 1))
def test_wilson_holds_the_rate(n, share):
    rate, low, high = wilson_ci95(round(share * n), n)
    assert 0.0 <= low <= rate <= high <= 1.0 and low < high


def test_paired_difference_is_tighter_than_two_samples():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.1, 1.0, size=200)
    worse = base - 0.05 + rng.normal(0, 0.01, 200)
    difference = paired_difference(base, worse)
    apart = [mean_ci95(scores, (0.0, 1.0)) for scores in (base, worse)]
    assert difference.low < 0.05 < difference.high
    assert difference.high - difference.low < 0.25 * sum(
        estimate.high - estimate.low for estimate in apart
    )


def test_scaled():
    assert scaled(0.1, 0.1, 0.9) == 0.0
    assert scaled(0.9, 0.1, 0.9) == 100.0
    assert scaled(0.5, 0.1, 0.9) == pytest.approx(50.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mean_ci95([]),
        lambda: mean_ci95([1.0, float("nan")]),
        lambda: wilson_ci95(2, 1),
        lambda: wilson_ci95(0, 0),
        lambda: paired_difference([1.0], [1.0, 2.0]),
        lambda: scaled(0.5, 0.9, 0.9),
        lambda: evaluate("genius", TOY_ID),
        lambda: evaluate(lambda observation: "", TOY_ID),
        lambda: evaluate("random", TOY_ID, samples=0),
        lambda: evaluate("random", TOY_ID, tasks=[]),
        lambda: evaluate("random", TOY_ID, tasks=["toy/gold-red"] * 2),
        lambda: pass_at_k(3, 4, 1),
        lambda: pass_hat_k(3, 1, 4),
        lambda: mcnemar(-1, 2),
        lambda: evaluate("random", TOY_ID, num_tasks=0),
        lambda: evaluate("random", TOY_ID, num_tasks=1, seed=-1),
        lambda: evaluate("random", TOY_ID, num_tasks="3"),
        lambda: evaluate("random", TOY_ID, num_tasks=1, seed=None),
        lambda: evaluate("random", TOY_ID, num_tasks=1, tasks=5),
        lambda: evaluate("random", TOY_ID, num_tasks=1, limits=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, prices=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, scale="x"),
        lambda: evaluate("random", TOY_ID, num_tasks=1, env_kwargs=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, concurrency="2"),
        lambda: evaluate("random", TOY_ID, num_tasks=1, backend="thread", step_timeout="2"),
        lambda: evaluate("random", TOY_ID, num_tasks=1, protocol=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, out=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, record=3),
        lambda: evaluate("random", TOY_ID, num_tasks=1, on_episode=3),
        lambda: Limits(cost=math.inf),
        lambda: Limits(tokens="5"),
        lambda: Limits(tokens=1.5),
        lambda: Prices("1", 1),
        lambda: Prices(math.inf, 1),
        lambda: Prices(10**400, 1),
    ],
)
def test_bad_arguments_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def test_oracle_and_random_on_a_fixed_panel():
    oracle = evaluate("oracle", TOY_ID, "test", 40)
    random = evaluate("random", TOY_ID, "test", 40)
    assert oracle.panel_sha256 == random.panel_sha256
    assert (oracle.score_mean, oracle.success, oracle.n) == (1.0, 1.0, 40)
    assert oracle.success_ci95[0] > 0.9
    assert random.score_mean < 0.9 and random.turns_mean > oracle.turns_mean
    assert random == evaluate("random", gymnasium.make(TOY_ID), "test", 40)
    assert random != evaluate("random", TOY_ID, "test", 40, seed=1)
    assert len(evaluate("oracle", TOY_ID, "valid", None).rows) == 160
    with pytest.raises(TaskNotFound):
        evaluate("random", TOY_ID, "exam")


def test_horizon_and_progress():
    task_ids: list[str] = []
    report = evaluate(
        CallablePolicy(lambda observation, info: "press pink"),
        TOY_ID,
        num_tasks=3,
        horizon=2,
        on_episode=lambda row: task_ids.append(row.task_id),
    )
    assert [row.turns for row in report.rows] == [2, 2, 2]
    assert report.rows[0].stop_reason == "horizon" and report.policy == "CallablePolicy"
    assert task_ids == [row.task_id for row in report.rows]


class FragileEnv(ToyEnv):
    """Fails on long tasks."""

    def _act(self, action: str) -> Outcome:
        if len(self._buttons) == 5 or self.task.split == "valid":
            raise EnvFailure("the machine is down")
        return super()._act(action)


def test_failed_episodes_are_listed_but_not_averaged():
    report = evaluate("oracle", FragileEnv(), num_tasks=40)
    assert 0 < report.errors < 40 and report.n + report.errors == 40
    assert report.score_mean == 1.0
    assert {row.error for row in report.rows} == {"", "the machine is down"}
    with pytest.raises(EvaluationFailed, match="all 5 failed; first: the machine is down"):
        evaluate("oracle", FragileEnv(), "valid", 5)


def test_policies_see_the_public_part_of_info_only():
    env = ToyEnv(expose_oracle=True, worker_turns=6)
    key_sets: list[set[str]] = []

    class Spy:
        """Remembers what it is shown, and spoils it."""

        def reset(self, observation, info):
            key_sets.append(set(info))

        def act(self, observation, info):
            key_sets.append(set(info))
            info["admissible_actions"].clear()
            info.clear()
            return env.oracle_action()

    report = evaluate(Spy(), env, num_tasks=3)
    assert report.success == 1.0
    # Workers and summaries exclude each other.
    assert set.union(*key_sets) == set(PUBLIC_INFO) - {"forgets"}
    _, full = env.reset(seed=0)
    hidden = {"score", "success", "state_key", "oracle_turns", "oracle_action", "reward_terms"}
    assert hidden <= set(full) - set(PUBLIC_INFO)
    with pytest.raises(EvaluationFailed, match="raised KeyError: 'state_key'"):
        evaluate(CallablePolicy(lambda observation, info: info["state_key"]), env, num_tasks=1)


def test_invalid_actions_are_counted():
    turns = iter(["dance", "press red"] * 50)
    report = evaluate(
        CallablePolicy(lambda observation, info: next(turns)), TOY_ID, num_tasks=4, horizon=4
    )
    assert [row.invalid for row in report.rows] == [2, 2, 2, 2]
    assert report.invalid_share == report.to_dict()["invalid_share"] == 0.5
    assert [row.repeated for row in report.rows] == [1, 1, 1, 1], "of two, one repeats the other"
    assert report.repeated_share == report.to_dict()["repeated_share"] == 0.25
    text = io.StringIO()
    Console(file=text, width=100).print(report.table())
    output = " ".join(text.getvalue().split())
    assert "50.0% of them with an invalid action, 25.0% repeat an earlier one" in output
    assert evaluate("oracle", TOY_ID, num_tasks=4).invalid_share == 0.0


def test_report_is_json_and_prints():
    report = evaluate("random", TOY_ID, num_tasks=5)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["n"] == 5 and len(data["rows"]) == 5 and len(data["panel_sha256"]) == 64
    text = io.StringIO()
    Console(file=text, width=100).print(report.table())
    assert f"{report.score_mean:.3f}  [" in text.getvalue()
    assert "random on agentgym-test/Toy-v0" in text.getvalue()


class TrainAlone(ToyEnv):
    """The toy, all of whose tasks are for training."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tasks.splits = ("train",)


def test_where_there_is_no_test_the_split_that_is_played_is_said(caplog):
    for times in (1, 2):
        report = evaluate("oracle", TrainAlone(), num_tasks=2)
        assert report.split == "train" and report.n == 2
        assert caplog.text.count("no split test: the split train is played") == 1, times
    with pytest.raises(TaskNotFound, match="'test'"):
        evaluate("oracle", TrainAlone(), "test", num_tasks=2)


def test_all_splits_are_played_together():
    env = ToyEnv()
    report = evaluate("oracle", env, "all", num_tasks=40)
    assert report.split == "all" and report.success == 1.0 and report.n == 40
    assert {env.tasks.find(row.task_id).split for row in report.rows} == {*env.tasks.splits}
