from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError, DependencyNotInstalled
from tests.interop.guessing import make_imported

pytest.importorskip("scienceworld", reason="scienceworld is in .ci/peers")
NAME = "scienceworld:find-living-thing"


@pytest.fixture(scope="module")
def env() -> Iterator[TextEnv]:
    """One environment for all tests: a Java process takes seconds to start."""
    if shutil.which("java") is None:
        pytest.skip("ScienceWorld needs Java: apt-get install default-jre-headless")
    env = make_imported(NAME, simplifications="easy")
    yield env
    env.close()


def test_the_gold_path_solves_a_task_and_its_rewards_are_the_score(env: TextEnv) -> None:
    observation, info = env.reset(options={"split": "test", "index": 0})
    assert observation.startswith("Your task is to find") and "This room is called" in observation
    assert info["admissible_actions"]
    total, actions = 0.0, []
    while not info["stop_reason"]:
        actions.append(str(env.oracle_action()))
        _, reward, _, _, info = env.step(actions[-1])
        total += reward
    # The look with which an episode begins earns something in some tasks.
    assert info["success"] and info["score"] == 1.0 and 0.9 < total <= 1.0
    # Whoever asks the expert late stands where he stood.
    env.reset(options={"split": "test", "index": 0})
    views = [env.step(action)[0] for action in actions[:3]]
    assert env.oracle_action() == actions[3]
    env.reset(options={"split": "test", "index": 0})
    assert [env.step(action)[0] for action in actions[:3]] == views
    env.step("look around")
    assert env.oracle_action() is None


def test_an_episode_does_not_depend_on_those_before(env: TextEnv) -> None:
    """What a room lists and the gold path followed from the objects of earlier episodes."""

    def episode(index: int) -> list[str]:
        observation, info = env.reset(options={"split": "train", "index": index})
        texts = [observation]
        while not info["stop_reason"]:
            texts.append(str(env.oracle_action()))
            observation, _, _, _, info = env.step(texts[-1])
            texts.append(observation)
        return texts

    first = episode(0)
    episode(1)
    assert episode(0) == first


@pytest.mark.slow
def test_the_horizon_holds_the_gold_path() -> None:
    name = "scienceworld:inclined-plane-friction-unnamed-surfaces"
    env = make_imported(name, simplifications="easy", list_actions=False)
    _, info = env.reset(options={"split": "train", "index": 0})
    while not info["stop_reason"]:
        info = env.step(str(env.oracle_action()))[4]
    assert info["success"] and 100 < info["turn"] < info["horizon"] == 250
    env.close()


def test_what_is_not_understood_is_invalid_and_the_splits_are_the_peers(env: TextEnv) -> None:
    env.reset(options={"split": "train", "index": 1})
    for text in ("qqq no such action", "\ud800\x00", "look " * 2000):
        observation, reward, is_done, _, info = env.step(text)
        assert not info["action_valid"] and reward == 0.0 and not is_done and observation
    split_of: dict[Any, str] = {}
    for split in ("train", "valid", "test"):
        for task in env.tasks.iterate(split):
            assert split_of.setdefault(task.content["variation"], split) == split
    assert len(split_of) > 100


def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'boil'"):
        make_imported("scienceworld:boill")
    with pytest.raises(ConfigurationError, match="got steps"):
        make_imported(NAME, steps=3)
    monkeypatch.setattr(shutil, "which", lambda command: None)
    with pytest.raises(DependencyNotInstalled, match="apt-get install default-jre-headless"):
        make_imported(NAME)
