from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from agentgym.errors import ConfigurationError
from agentgym.imports.imported_env import ImportedEnv
from agentgym.making import make_env, resolve


def made(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"gymnasium:{name}")[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


class Echo(gymnasium.Env[Any, Any]):
    """Text in and text out: say ``stop`` after the word of the seed."""

    observation_space = spaces.Text(100)
    action_space = spaces.Text(100)

    def __init__(self, excited: bool = False) -> None:
        self._mark = "!" if excited else "."

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._word = str(self.np_random.integers(10**6))
        return f"the word is {self._word}{self._mark}", {}

    def step(self, action: Any) -> Any:
        right = action == self._word
        return f"you said {action}", np.float32(right), right, action == "cut", {"success": right}


class Pixels(Echo):
    observation_space = spaces.Box(0, 255, (64, 64, 3), np.uint8)


class Wheel(Echo):
    action_space = spaces.Box(-1, 1, (1,))


class Parts(Echo):
    observation_space = spaces.Dict({"at": spaces.Discrete(9), "v": spaces.Box(-1, 1, (2,))})
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return {"at": np.int64(3), "v": np.array([0.1234567, -1])}, {"action_mask": [0, 1]}

    def step(self, action: Any) -> Any:
        return {"at": action, "v": np.zeros(2)}, 1, True, False, {}


for kind in (Echo, Pixels, Wheel, Parts):
    gymnasium.register(f"tests/{kind.__name__}-v0", entry_point=kind)


def test_text_spaces_are_taken_as_they_are() -> None:
    env = made("tests/Echo-v0", excited=True)
    first, _ = env.reset(options={"split": "test", "index": 3})
    assert env.reset(options={"split": "test", "index": 3})[0] == first
    assert env.reset(options={"split": "test", "index": 4})[0] != first
    word = env.reset(options={"split": "test", "index": 3})[0].removesuffix("!").split()[-1]
    observation, reward, terminated, _, info = env.step(word)
    assert (observation, reward, terminated) == (f"you said {word}", 1.0, True)
    assert info["success"] and info["score"] == 1


def test_its_arguments_are_part_of_the_panel() -> None:
    panels = [
        made("tests/Echo-v0", **kwargs).tasks.panel("test", 3).sha256
        for kwargs in ({}, {"excited": True}, {"excited": True, "horizon": 3})
    ]
    assert panels[0] != panels[1] == panels[2]


def test_discrete_actions_have_names_and_may_be_masked() -> None:
    env = made("tests/Parts-v0", action_names=["stay put", "go"])
    observation, info = env.reset(seed=0)
    assert observation == '{"at": 3, "v": [0.123457, -1.0]}'
    assert info["admissible_actions"] == ["go"]
    assert env.step("wait")[0].endswith("invalid: expected one of go; got 'wait'")
    assert env.step(" Stay  put ")[0].startswith('{"at": 5')


def test_without_names_actions_are_numbers() -> None:
    assert made("tests/Parts-v0").action_specs[0].params[0].enum == ("5", "6")


def test_colours_of_a_rendering_are_words() -> None:
    env = made("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    for action in ("down", "down", "right", "right", "down", "right"):
        observation, _, terminated, _, info = env.step(action)
    assert observation.endswith("HFF(red G)") and terminated and info["success"]


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("tests/Pixels-v0", {}, "expected observations in text"),
        ("tests/Wheel-v0", {}, "expected actions that can be typed"),
        ("tests/Parts-v0", {"action_names": ["a"]}, "expected 2 different action_names"),
        ("tests/Parts-v0", {"action_names": ["a", "a "]}, "expected 2 different action_names"),
        ("tests/None-v0", {}, "expected gymnasium:ID that can be opened here"),
        ("tests/Echo-v0", {"quiet": True}, "with the arguments {'quiet': True}"),
        ("no_such_module:X-v0", {}, "No module named"),
        ("agentgym/Search-v0", {}, "name it without the prefix"),
    ],
)
def test_what_cannot_be_played_says_why(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        made(name, **kwargs)
