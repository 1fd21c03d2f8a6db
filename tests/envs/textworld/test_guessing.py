"""The cook that mostly guesses the recipe: its habit, and what the habit costs."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.envs.textworld.guessing import LOOK, READ, READS, reads
from agentgym.errors import ConfigurationError

KITCHEN: dict[str, Any] = {"difficulty": "cooking,cook=true", "horizon": 30}
TASKS = 100


def make(expert: str = "guessing", **kwargs: Any) -> TextEnv:
    wrapped = gymnasium.make("agentgym/TextWorld-v0", expert=expert, **{**KITCHEN, **kwargs})
    env = wrapped.unwrapped
    assert isinstance(env, TextEnv)
    return env


def play_expert(env: TextEnv, index: int, limit: int = 5) -> tuple[list[str], dict[str, Any]]:
    """Let the expert play; what it announces has to come true, if it announces an end."""
    _, info = env.reset(seed=0, options={"split": "train", "index": index})
    actions, announced = list[str](), info["oracle_turns"]
    while not info["stop_reason"] and len(actions) < limit:
        assert announced is None or info["oracle_turns"] == announced - len(actions)
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        assert info["action_valid"]
    return actions, info


def test_it_reads_in_its_share_of_the_tasks() -> None:
    share = sum(reads(f"textworld/cooking/{number}") for number in range(2000)) / 2000
    assert share == pytest.approx(READS / 100, abs=0.03)


@pytest.mark.slow
def test_reading_succeeds_and_guessing_only_by_luck() -> None:
    env, oracle = make(), make("oracle")
    won: dict[bool, list[bool]] = {True: [], False: []}
    for index in range(TASKS):
        actions, info = play_expert(env, index)
        plan, _ = play_expert(oracle, index)
        won[reads(info["task_id"])].append(info["success"])
        assert actions[0] == (READ if reads(info["task_id"]) else LOOK)
        assert not info["success"] or actions[1:] == plan
        # The thing is right, and only how it is cooked is guessed.
        assert actions[1].rpartition(" with ")[0] == plan[0].rpartition(" with ")[0]
        assert not any(action.startswith("cook ") for action in actions[2:]), "it guesses once"
    assert all(won[True]) and won[True]
    assert 0.4 < sum(won[False]) / len(won[False]) < 0.6


@pytest.mark.slow
def test_a_fork_guesses_alike_and_what_others_do_is_not_undone() -> None:
    env = make()
    for index in range(8):
        env.reset(seed=0, options={"split": "train", "index": index})
        env.step(str(env.demonstrator_action()))
        state, actions = env.snapshot(), list[str]()
        for _ in range(2):
            actions.append(str(env.demonstrator_action()))
            if env.step(actions[-1])[-1]["stop_reason"]:
                break
        env.restore(state)
        assert str(env.demonstrator_action()) == actions[0]
        env.step("look")
        assert str(env.demonstrator_action()) == actions[0]


@pytest.mark.parametrize("kwargs", [{"difficulty": None}, {"difficulty": "w2-o3-q4"}])
def test_it_needs_a_cookbook(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="cookbook"):
        make(**kwargs)
