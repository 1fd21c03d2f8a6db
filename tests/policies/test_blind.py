from __future__ import annotations

import gymnasium
import pytest

from agentgym.errors import ConfigurationError
from agentgym.evaluation import demonstrate, evaluate
from agentgym.evaluation.policy_names import load_policy
from agentgym.policies import (
    BLIND,
    BlindPolicy,
    ConstantPolicy,
    Policy,
    PolicyWithSeed,
    blind_policy,
    fit_blind,
)
from agentgym.policies.blind import FITTED, UNFITTED, rank_verbs, verb
from tests.toy import TOY_ID

OFFERED = ["open box", "go north", "take a key", "look", "take key"]


def info(task: str = "t/1", offered: list[str] | None = None) -> dict[str, object]:
    return {"task_id": task, "admissible_actions": OFFERED if offered is None else offered}


def typed(policy: Policy, turns: int = 3, task: str = "t/1") -> list[str]:
    if isinstance(policy, BlindPolicy):
        policy.reset("", info(task))
    return [policy.act("", info(task)) for _ in range(turns)]


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("blind-first", ["open box"] * 3),
        ("blind-last", ["take key"] * 3),
        ("blind-shortest", ["look"] * 3),
        ("blind-longest", ["take a key"] * 3),
        ("blind-alphabet-first", ["go north"] * 3),
        ("blind-alphabet-last", ["take key"] * 3),
        ("blind-first-new", OFFERED[:3]),
        ("blind-last-new", OFFERED[:1:-1]),
        ("blind-shortest-new", ["look", "open box", "go north"]),
        ("blind-longest-new", ["take a key", "open box", "go north"]),
        ("blind-alphabet-first-new", ["go north", "look", "open box"]),
        ("blind-alphabet-last-new", ["take key", "take a key", "open box"]),
    ],
)
def test_each_chooses_by_what_its_name_says(name: str, actions: list[str]) -> None:
    policy = blind_policy(name)
    assert typed(policy) == actions == typed(policy), "an episode remembers the one before"


def test_new_ones_repeat_themselves_only_when_all_was_typed() -> None:
    assert typed(blind_policy("blind-first-new"), 6) == [*OFFERED, OFFERED[0]]
    assert blind_policy("blind-first").act("", info(offered=[])) == ""


def test_draws_depend_on_seed_and_task_and_not_on_the_order_of_tasks() -> None:
    policy, other_policy = (
        blind_policy("blind-random-new"),
        blind_policy("blind-random-new", seed=1),
    )
    first, second = typed(policy, 5), typed(policy, 5, "t/2")
    assert sorted(first) == sorted(OFFERED)
    assert first != second and first != typed(other_policy, 5)
    assert (typed(policy, 5, "t/2"), typed(policy, 5)) == (second, first)


def test_each_sample_of_a_task_draws_for_itself() -> None:
    policy = blind_policy("blind-random-new")
    assert isinstance(policy, PolicyWithSeed), "an evaluation seeds each episode"
    drawn = []
    for seed in (3, 4, 3):
        policy.seed(seed)
        drawn.append(typed(policy, 5))
    assert drawn[0] == drawn[2] != drawn[1]


def test_verbs_are_ranked_by_how_often_they_were_typed_when_on_offer() -> None:
    turns = [
        (["go north", "take key", "take a key"], "take key"),
        (["go north", "take key", "take a key", "open box"], "open box"),
        (["go north", "take key", "take a key", "eat pie"], "go north"),
    ]
    # open 1 of 1, take 1 of 3, go 1 of 3 (it was not typed before), eat 0 of 1
    assert rank_verbs([turns]) == ["open", "go", "take", "eat"]
    # What was typed before is not on offer: take stands in the second turn no more.
    assert rank_verbs([[(["take key"], "take key"), (["take key", "go on"], "go on")]]) == [
        "go", "take",
    ]  # fmt: skip
    policy = fit_blind("blind-verbs", [turns])
    assert typed(policy, 5) == ["open box", "go north", "take a key", "take key", "look"]


def test_the_constant_is_the_commonest_end() -> None:
    episodes = [[([], "b"), ([], "stop")], [([], "a")], [([], "stop")], []]
    policy = fit_blind("blind-constant", episodes)
    assert isinstance(policy, ConstantPolicy) and typed(policy) == ["stop"] * 3
    assert typed(fit_blind("blind-constant", [])) == [""] * 3


def test_a_verb_is_the_first_word() -> None:
    assert [verb(text) for text in ("Go north", "click[buy now]", "9", "")] == [
        "go", "click", "", "",
    ]  # fmt: skip


def test_unknown_names_are_refused() -> None:
    for make in (lambda: blind_policy("blind-verbs"), lambda: fit_blind("blind-first", [])):
        with pytest.raises(ConfigurationError, match="expected one of blind-"):
            make()


def test_eval_offers_every_blind_policy() -> None:
    env = gymnasium.make(TOY_ID)
    assert all(load_policy(name, env).facts["kind"] == name for name in BLIND)
    assert {*BLIND} == {*UNFITTED, *FITTED}


@pytest.mark.parametrize("name", BLIND)
def test_each_plays_the_same_on_every_back_end(name: str) -> None:
    report = evaluate(name, TOY_ID, "test", 12)
    assert report.policy == name and report.n == 12
    assert evaluate(name, TOY_ID, "test", 12, backend="thread", concurrency=3) == report


def test_demonstrations_are_what_the_expert_types() -> None:
    env = gymnasium.make(TOY_ID)
    episodes = demonstrate(env, 7)
    assert episodes == demonstrate(env, 7) != demonstrate(env, 7, seed=1)
    assert len(episodes) == 7
    for episode in episodes:
        assert 2 <= len(episode) <= 5
        assert all(action in offered for offered, action in episode)
