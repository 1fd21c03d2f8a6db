from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym import evaluate
from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.guard import GuardedEnv
from agentgym.errors import ConfigurationError, EnvFailure, NotSupported
from tests.interop.worlds import make


def test_the_expert_solves_what_the_rewards_reach() -> None:
    report = evaluate("oracle", make("x"), split="test", num_tasks=5)
    assert [(row.success, row.score, row.reward) for row in report.rows] == [(True, 1, 1)] * 5


def test_the_random_floor_does_nothing() -> None:
    report = evaluate("random", make("x", horizon=4), split="test", num_tasks=5)
    assert not any(row.success or row.error for row in report.rows)


FATAL = ["nan", "inf", "huge", "word", "none", "bytes", "raise", "exit"]


def hard(word: str, *before: str) -> Any:
    """Play words, and then ``word``, in the first task; solve the others."""

    def play(observation: str, info: Mapping[str, Any]) -> str:
        if not info["task_id"].endswith("/0"):
            return "next"
        return [*before, word][min(info["turn"], len(before))]

    return play


@pytest.mark.parametrize("reference", ["x", "unknown"])
@pytest.mark.parametrize("word", FATAL)
def test_an_action_on_which_a_world_fails_is_a_wrong_one(word: str, reference: str) -> None:
    """With an expert, whose action is known to be good, and without one."""
    env = make(reference, sizes={"test": 4})
    report = evaluate(hard(word, "next"), env, split="test", num_tasks=4)
    [failure] = [row for row in report.rows if row.task_id.endswith("/0")]
    assert (failure.stop_reason, failure.turns, failure.invalid) == ("action_error", 2, 1)
    assert (failure.success, failure.score, failure.reward) == (False, 0.25, 0.25)
    assert (report.n, report.errors, report.success) == (4, 0, 0.75)


def test_its_reason_is_in_the_details_and_not_in_the_observation() -> None:
    env = make("x")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("raise")
    assert (reward, terminated, truncated, info["action_valid"]) == (0.0, True, False, False)
    assert info["details"]["reason"] == "RuntimeError: the world broke"
    assert "broke" not in observation
    env.reset(seed=0)
    assert env.step("next")[0] == "at 1"


def test_a_world_that_fails_on_every_action_in_this_state_costs_its_episode() -> None:
    report = evaluate(
        hard("next", "next", "jam"), make("x", sizes={"test": 4}), split="test", num_tasks=4
    )
    [broken] = [row for row in report.rows if row.error]
    assert (broken.task_id, broken.error) == ("counting:x/test/0", "RuntimeError: it is jammed")
    assert broken.stop_reason == "error" and report.n == 3 and report.success == 1


def test_a_world_that_cannot_begin_costs_its_episode() -> None:
    env = GuardedEnv(make("x"))
    with pytest.raises(EnvFailure, match="OSError: no world today"):
        env.reset(options={"split": "train", "index": 13})
    assert env.reset(options={"split": "train", "index": 12})[0] == "at 0 of game 36"


def test_a_long_observation_is_cut() -> None:
    env = make("x")
    env.reset(seed=0)
    assert len(env.step("long")[0]) == OBSERVATION_LENGTH


def test_a_limit_of_the_world_is_the_turn_limit() -> None:
    env = make("x")
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step("cut")
    assert (terminated, truncated) == (False, True)
    assert info["stop_reason"] == "horizon" and not info["success"]


def test_a_limit_of_the_world_ends_a_try() -> None:
    env = make("x", tries=2, horizon=4)
    env.reset(seed=0)
    observation, _, terminated, truncated, info = env.step("cut")
    assert (terminated, truncated) == (False, False)
    assert info["try"] == 2 and "it begins anew" in observation


def test_what_is_not_understood_says_why() -> None:
    env = make("x")
    env.reset(seed=0)
    *_, info = env.step("hello")
    assert not info["action_valid"] and info["details"]["reason"] == "say next"


def test_it_says_what_it_cannot_do() -> None:
    env = make("unknown")
    env.reset(seed=0)
    assert env.oracle_action() is None
    assert env.limits == (
        "there is no expert: the other project has none",
        "an episode cannot be forked: the other project's worlds have no snapshots",
    )
    with pytest.raises(NotSupported, match="cannot fork"):
        env.snapshot()


def test_splits_share_no_seed_and_panels_have_a_hash() -> None:
    tasks = make("x").tasks
    seeds = [{task.content["seed"] for task in tasks.iterate(split)} for split in tasks.splits]
    assert sum(map(len, seeds)) == len(set.union(*seeds)) == 2050
    assert tasks.panel("test", 3).sha256 == make("x").tasks.panel("test", 3).sha256
    assert tasks.panel("test", 3).sha256 != make("y").tasks.panel("test", 3).sha256


def test_tasks_are_found_by_their_ids() -> None:
    tasks = make("http://host/a b").tasks
    task = tasks.task("valid", 7)
    assert tasks.find(task.id) == task


@pytest.mark.parametrize("value", [math.inf, math.nan, "1"])
def test_solved_at_is_a_finite_number(value: object) -> None:
    with pytest.raises(ConfigurationError, match="solved_at"):
        make("x", solved_at=value)


@given(st.text())
def test_any_text_is_an_action(text: str) -> None:
    env = make("x")
    env.reset(seed=0)
    observation, reward, *_ = env.step(text)
    assert observation and math.isfinite(reward)
