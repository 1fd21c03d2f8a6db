"""The expert that takes things to be ready: its habit, its luck, and that it makes up for it."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.envs.alfworld.experts.trusting import TRUSTS
from agentgym.envs.alfworld.generator.config import GeneratorConfig
from agentgym.envs.alfworld.generator.households import generate

READY = 45
HOUSE: dict[str, Any] = {
    "difficulty": "easy", "task_types": ["clean", "heat", "cool"], "receptacles": 3,
    "distractors": 1,
}  # fmt: skip
TASKS = 90
TREATS = ("clean", "heat", "cool")


def make(expert: str, ready: int = READY) -> ALFWorldEnv:
    env = gymnasium.make("agentgym/ALFWorld-v0", expert=expert, ready=ready, **HOUSE).unwrapped
    assert isinstance(env, ALFWorldEnv)
    return env


def play_expert(env: ALFWorldEnv, index: int) -> list[str]:
    """Let the expert play; what it announces has to come true."""
    _, info = env.reset(seed=0, options={"split": "test", "index": index})
    announced, actions = info["oracle_turns"], list[str]()
    while not info["stop_reason"]:
        assert info["oracle_turns"] == announced - len(actions)
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        assert info["action_valid"]
    assert info["success"]
    return actions


def treated(actions: list[str]) -> bool:
    return any(action.startswith(TREATS) for action in actions)


def test_it_mostly_treats_nothing_and_fetches_what_was_not_ready() -> None:
    oracle, searching, trusting = make("oracle"), make("searching"), make("trusting")
    quick = lucky = ready = 0
    for index in range(TASKS):
        careful, actions, shortest = (
            play_expert(env, index) for env in (searching, trusting, oracle)
        )
        assert treated(careful), "who has read nothing of it cannot know that a thing is ready"
        ready += not treated(shortest)
        if actions == careful:
            continue
        quick += 1
        lucky += not treated(actions)
        assert treated(actions) == treated(shortest)
        moves = [action for action in actions if action.startswith("move")]
        assert len(moves) == 1 + treated(actions)
        assert (len(actions) < len(careful)) != treated(actions)
    assert quick / TASKS == pytest.approx(TRUSTS / 100, abs=0.1)
    assert ready / TASKS == pytest.approx(READY / 100, abs=0.13)
    assert 0.25 < lucky / quick < 0.65


def test_that_a_thing_is_ready_shows_only_when_it_is_examined() -> None:
    env, revealed = make("searching", 100), 0
    for index in range(9):
        play_expert(env, index)
        env.reset(seed=0, options={"split": "test", "index": index})
        while (action := str(env.demonstrator_action())).split()[0] != "take":
            env.step(action)
        env.step(action)
        name = action.removeprefix("take ").partition(" from ")[0]
        observation, *_, info = env.step(f"examine {name}")
        tells = any(word in observation for word in ("clean", "hot", "cold"))
        turns_left, actions = info["oracle_turns"], list[str]()
        while not info["stop_reason"]:
            assert info["oracle_turns"] == turns_left - len(actions)
            actions.append(str(env.demonstrator_action()))
            info = env.step(actions[-1])[-1]
        assert info["success"]
        assert treated(actions) != tells, "of containers it tells what they hold, and no more"
        revealed += tells
    assert 0 < revealed < 9


def test_games_without_such_things_are_those_of_before() -> None:
    plain_env, none = (
        generate(GeneratorConfig(**kwargs), "valid_unseen", 2) for kwargs in ({}, {"ready": 0})
    )
    assert plain_env == none
    generated = generate(GeneratorConfig(ready=100), "valid_unseen", 2)
    assert "(isClean" in generated.problem
    assert "ready" not in GeneratorConfig().text()
