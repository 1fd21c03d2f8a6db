from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from agentgym.core.env import TextEnv
from benchmarks.small_shop import ID


@pytest.fixture(scope="module")
def env() -> TextEnv:
    shop = gym.make(ID).unwrapped
    assert isinstance(shop, TextEnv)
    return shop


def play(env: TextEnv, index: int, *actions: str) -> dict[str, Any]:
    env.reset(options={"split": "test", "index": index})
    for action in actions:
        info = env.step(action)[4]
    return info


def test_a_complete_query_makes_the_first_hit_right(env: TextEnv) -> None:
    for index in range(20):
        _, info = env.reset(options={"split": "test", "index": index})
        (search,) = info["admissible_actions"]
        assert play(env, index, search, "click[1]", "click[buy now]")["success"]


def test_what_is_asked_has_to_be_read(env: TextEnv) -> None:
    solved = [
        play(env, index, "search[premium usb hub]", "click[1]", "click[buy now]")["success"]
        for index in range(100)
    ]
    assert sum(solved) < 5
