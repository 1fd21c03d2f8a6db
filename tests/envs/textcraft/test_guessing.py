"""The expert that mostly guesses which recipe it needs."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError


def make(**kwargs: Any) -> TextEnv:
    env = gymnasium.make(
        "agentgym/TextCraft-v0", expert="guessing", look_up=True, **kwargs
    ).unwrapped
    assert isinstance(env, TextEnv)
    return env


def test_most_successes_are_luck() -> None:
    env = make(difficulty="easy", horizon=4)
    ends = {True: [0, 0], False: [0, 0]}
    for index in range(400):
        _, info = env.reset(options={"split": "train", "index": index})
        asks = str(env.demonstrator_action()).startswith("recipe")
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[4]
        ends[asks][info["success"]] += 1
    assert ends[True][0] == 0, "who asks is right"
    assert ends[False][1] > 1.5 * ends[True][1] > 30, "but more are right by luck"
    assert ends[False][0] > 3 * ends[False][1], "which seldom lasts"


def test_where_its_guess_was_wrong_it_asks_and_its_score_is_that_of_the_shortest_plan() -> None:
    env = make(difficulty="easy")
    _, info = env.reset(options={"split": "train", "index": 1})
    typed, scores = list[str](), list[float]()
    while not info["stop_reason"]:
        typed.append(str(env.demonstrator_action()))
        info = env.step(typed[-1])[4]
        scores.append(info["score"])
    verbs = [action.split()[0] for action in typed]
    assert verbs == ["get", "get", "craft", "recipe", "get", "get", "craft"]
    assert not {*typed[:3]} & {*typed[4:]}
    assert scores == [0, 0, 0, 0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1]
    assert info["success"]


def test_it_is_refused_where_it_cannot_ask() -> None:
    with pytest.raises(ConfigurationError, match="look_up=True"):
        gymnasium.make("agentgym/TextCraft-v0", expert="guessing")


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_it_continues_from_a_state_reached_by_another_policy(difficulty: str) -> None:
    env = make(difficulty=difficulty, horizon=90)
    for index in range(12):
        _, info = env.reset(options={"split": "test", "index": index})
        for number in range(index % 4):
            actions = sorted(info["admissible_actions"])
            info = env.step(actions[(7 * number) % len(actions)])[4]
        state, late_actions = env.snapshot(), [str(env.demonstrator_action())]
        env.step(late_actions[0])
        env.restore(state)
        assert [str(env.demonstrator_action())] == late_actions
        while not info["stop_reason"]:
            turns_left = info["oracle_turns"]
            info = env.step(str(env.demonstrator_action()))[4]
            assert info["oracle_turns"] == turns_left - 1 and info["action_valid"]
        assert info["success"]
