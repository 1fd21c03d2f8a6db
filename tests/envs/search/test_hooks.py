"""Reward hooks over searches, answers and evidence, played through the environment."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.envs.search.env import SearchEnv
from agentgym.errors import ConfigurationError
from agentgym.rewards import (
    Format,
    GoldEvidence,
    NoSearchPenalty,
    Progressive,
    RetrievalHit,
    SearchCost,
    ShapedReward,
    parse_hooks,
)
from agentgym.rewards.table import hooks_from_json, hooks_to_json
from tests.envs.search.library import CountingRetriever, write_questions
from tests.toy import TOY_ID

NAMES = ["format", "retrieval_hit", "gold_evidence", "search_cost", "no_search_penalty"]
ACTIONS = [
    "<search>Belden mayor</search>", "<search>BELDEN mayor</search>", "search[Kit Sorrel born]",
    "search[glass]", "search[]", "hm", "<information>Harrow</information>", "answer[Harrow]",
    "answer[x]",
]  # fmt: skip


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path)


def make(questions: Path, hooks: Any, **kwargs: Any) -> SearchEnv:
    env = gymnasium.make(
        "agentgym/Search-v0",
        corpus=CountingRetriever(),
        questions=questions,
        reward_hooks=parse_hooks(hooks) if all(isinstance(hook, str) for hook in hooks) else hooks,
        topk=1,
        **kwargs,
    ).unwrapped
    assert isinstance(env, SearchEnv)
    return env


def terms(env: SearchEnv, *actions: str) -> list[dict[str, float]]:
    """Play and return the terms of every turn."""
    env.reset(options={"split": "train", "index": 1})
    return [env.step(action)[4]["reward_terms"] for action in actions]


def test_every_hook_pays_when_it_should(questions: Path) -> None:
    env = make(questions, NAMES)
    turns = terms(env, *ACTIONS[:3], "answer[Harrow]")
    paid = [{name: value for name, value in turn.items() if value} for turn in turns]
    assert paid == [
        {"gold_evidence": 0.5, "search_cost": -0.01},
        {"search_cost": -0.01},
        {"gold_evidence": 0.5, "search_cost": -0.01, "retrieval_hit": 0.1},
        {"task": 1.0, "format": 0.2},
    ]


def test_an_answer_without_a_search_is_penalised(questions: Path) -> None:
    env = make(questions, ["no_search_penalty=0.3", "format"])
    assert terms(env, "answer[x]") == [{"task": 0.0, "no_search_penalty": -0.3, "format": 0.2}]
    assert terms(env, "search[x]", "answer[x]")[-1]["no_search_penalty"] == 0.0
    env = make(questions, ["no_search_penalty=0.3"], answer_attempts=2)
    assert [turn["no_search_penalty"] for turn in terms(env, "answer[x]", "answer[y]")] == [
        0.0,
        -0.3,
    ]


def test_format_is_lost_by_one_bad_turn_or_without_an_answer(questions: Path) -> None:
    env = make(questions, ["format"], horizon=2)
    assert [turn["format"] for turn in terms(env, "hm", "answer[x]")] == [0.0, 0.0]
    assert [turn["format"] for turn in terms(env, "search[x]", "hm")] == [0.0, 0.0]
    assert [turn["format"] for turn in terms(env, "search[x]", "answer[x]")] == [0.0, 0.2]
    env = make(questions, ["format"], horizon=2, tries=2)
    turns = terms(env, "hm", "answer[x]", "search[x]", "answer[x]")
    assert [turn["format"] for turn in turns] == [0.0, 0.0, 0.0, 0.2]


def test_a_hit_in_the_first_observation_earns_nothing(questions: Path) -> None:
    env = make(questions, ["retrieval_hit"], first_search=True)
    env.reset(options={"split": "train", "index": 0})
    info = env.step("search[Who founded Wern Tools?]")[4]
    assert info["details"]["answer_in_obs"] and info["reward_terms"]["retrieval_hit"] == 0.0


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=12))
def test_gold_evidence_telescopes_and_cannot_be_farmed(questions: Path, actions: list[str]) -> None:
    env = make(questions, ["gold_evidence=0.3", "retrieval_hit=0.5"], horizon=10)
    env.reset(options={"split": "train", "index": 1})
    evidence = hits = 0.0
    info: dict[str, Any] = {"stop_reason": "", "details": {"gold_recall": 0.0}}
    for action in actions:
        if info["stop_reason"]:
            break
        info = env.step(action)[4]
        evidence += info["reward_terms"]["gold_evidence"]
        hits += info["reward_terms"]["retrieval_hit"]
        assert info["reward_terms"]["gold_evidence"] >= 0.0
    assert evidence == pytest.approx(0.3 * info["details"]["gold_recall"])
    assert hits == (0.5 if info["details"]["answer_seen"] else 0.0)


def test_progressive_mixes_in_gold_evidence(questions: Path) -> None:
    for step in (None, GoldEvidence()):
        hook = Progressive(0.5) if step is None else Progressive(0.5, step=step)
        env = make(questions, [hook])
        total = sum(
            value for turn in terms(env, *ACTIONS[:3], "answer[Harrow]") for value in turn.values()
        )
        assert total == pytest.approx(0.5 * 1.0 + 0.5 * 1.0 / 4)


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_that_reports_nothing_refuses_them(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name!r}, which needs"):
        gymnasium.make(TOY_ID, reward_hooks=parse_hooks([name]))
    with pytest.raises(ConfigurationError, match=f"{name!r}, which needs"):
        ShapedReward(gymnasium.make(TOY_ID), parse_hooks([name]))


def test_what_a_mix_needs_is_asked_for() -> None:
    with pytest.raises(ConfigurationError, match=r"'progressive', which needs .*gold_recall"):
        gymnasium.make(TOY_ID, reward_hooks=[Progressive(0.5, step=GoldEvidence())])


def test_hooks_are_copied_stored_and_wrapped(questions: Path) -> None:
    hooks = [Format(0.3), RetrievalHit(0.2), GoldEvidence(), SearchCost(0.1), NoSearchPenalty()]
    stored = hooks_to_json(hooks)
    assert stored is not None and hooks_from_json(stored) == hooks
    assert pickle.loads(pickle.dumps(hooks)) == copy.deepcopy(hooks) == hooks
    plain_env = make(questions, [])
    wrapped = ShapedReward(plain_env, hooks)
    env = make(questions, hooks)
    options = {"split": "train", "index": 1, "hops": None}
    wrapped.reset(options=options)
    env.reset(options=options)
    for action in ACTIONS[1:5]:
        assert wrapped.step(action)[4]["reward_terms"] == env.step(action)[4]["reward_terms"]


@pytest.mark.parametrize("text", ["format=-1", "search_cost=x", "gold_evidence=1e999"])
def test_wrong_sizes_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_hooks([text])


def test_a_fork_keeps_what_hooks_remember(questions: Path) -> None:
    env = make(questions, ["format"], horizon=3)
    terms(env, "hm")
    fork = env.snapshot()
    terms(env, "search[x]")
    env.restore(fork)
    assert env.step("answer[x]")[4]["reward_terms"]["format"] == 0.0
