"""The expert that can be imitated: it reads, compares, goes back, and still solves everything."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401  (registers the id)
from agentgym.core.env import TextEnv
from agentgym.envs.webshop.env import SPEAKING
from agentgym.errors import ConfigurationError

HORIZON = 9


def make(**kwargs: Any) -> TextEnv:
    kwargs = {"difficulty": "easy", "observation_mode": "compact", "horizon": HORIZON, **kwargs}
    env = gymnasium.make("agentgym/WebShop-v0", **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


def play(env: TextEnv, index: int) -> tuple[list[str], list[str], dict[str, Any]]:
    """Let the expert play a test task; check that its announced length shrinks by one a turn."""
    observation, info = env.reset(options={"split": "test", "index": index})
    turns_left = info["oracle_turns"]
    assert turns_left == env.tasks.oracle_turns(env.task)
    expert, over = env.demonstrator(), False
    actions, observations = [], [observation]
    while not over:
        actions.append(expert.act(observation, info))
        observation, _, terminated, truncated, info = env.step(actions[-1])
        observations.append(observation)
        over = terminated or truncated
        turns_left -= 1
        assert info["oracle_turns"] == turns_left
    return actions, observations, info


@pytest.mark.parametrize("expert", ["careful", "thinking"])
def test_solves_every_task_within_nine_turns(expert: str) -> None:
    env = make(expert=expert)
    lengths = set()
    for index in range(150):
        actions, _, info = play(env, index)
        assert info["success"], info["task_id"]
        lengths.add(len(actions))
    assert {3, 5, 7, 9} <= lengths


def test_search_uses_only_words_of_the_instruction() -> None:
    env = make(expert="careful")
    for index in range(100):
        actions, observations, _ = play(env, index)
        query = actions[0].removeprefix("search[").removesuffix("]")
        assert set(query.split()) <= set(observations[0].split())


def test_leaves_a_product_that_lacks_the_asked_feature() -> None:
    env = make(expert="careful")
    went_back = 0
    for index in range(60):
        actions, observations, _ = play(env, index)
        for action, page in zip(actions, observations[:-1], strict=True):
            if action == "click[back]":
                went_back += 1
                features = set(page.splitlines()[0].replace(",", " ").split())
                attributes = set(env.task.content["attributes"])
                assert not attributes <= features
    assert went_back > 20


def test_thought_puts_the_features_side_by_side() -> None:
    env = make(expert="thinking")
    verdicts = set()
    for index in range(60):
        actions, observations, _ = play(env, index)
        for action, page in zip(actions, observations[:-1], strict=True):
            thought, _, command = action.rpartition(" click[")
            if not command or not thought:
                continue
            feature, attribute, verdict = thought.split()
            verdicts.add(verdict)
            assert page.splitlines()[0].endswith(feature)
            assert attribute in observations[0].split()
            assert verdict == ("yes" if feature == attribute else "no")
            assert (command == "back]") == (verdict == "no")
    assert verdicts == {"yes", "no"}


def test_continues_from_a_wrong_page() -> None:
    env = make(expert="careful", horizon=15)
    for index in range(40):
        observation, info = env.reset(options={"split": "test", "index": index})
        for action in ("search[red]", "click[2]", "click[back to search]"):
            observation, _, _, _, info = env.step(action)
        expert, over = env.demonstrator(), False
        while not over:
            observation, _, terminated, truncated, info = env.step(expert.act(observation, info))
            over = terminated or truncated
        assert info["success"]


def test_highlights_make_the_choice_on_the_results_page() -> None:
    plain_env, boasting = make(expert="careful"), make(expert="careful", highlights=True)
    shorter = 0
    for index in range(60):
        slow, _, _ = play(plain_env, index)
        fast, observations, info = play(boasting, index)
        assert info["success"]
        assert len(fast) <= len(slow)
        shorter += len(fast) < len(slow)
        assert ", " in observations[1].splitlines()[0]
    assert shorter > 20


@pytest.mark.parametrize("expert", SPEAKING)
@pytest.mark.parametrize("kwargs", [{"observation_mode": "text"}, {"grammar": "xml"}])
def test_thinking_needs_a_grammar_that_allows_words(kwargs: dict[str, Any], expert: str) -> None:
    with pytest.raises(ConfigurationError, match=expert):
        make(expert=expert, **kwargs)


def test_unknown_expert_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected expert to be one of"):
        make(expert="psychic")
