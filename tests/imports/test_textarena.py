from __future__ import annotations

import random
from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.imports.imported_env import ImportedEnv
from agentgym.making import make_env, resolve

pytest.importorskip("textarena", reason="textarena is in .ci/peers")
GUESS = "GuessTheNumber-v0"


def made(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"textarena:{name}")[1], kwargs, "--set")
    assert isinstance(env, ImportedEnv)
    return env


class Bisection:
    """Halves what is left of the numbers from 1 to 20."""

    def act(self, observation: str, info: Any) -> str:
        if info["turn"] == 0:
            self._low, self._high = 1, 20
        elif "higher" in observation:
            self._low = self._guess + 1
        else:
            self._high = self._guess - 1
        self._guess = (self._low + self._high) // 2
        return f"[{self._guess}]"


def test_a_player_wins_and_the_random_floor_does_not() -> None:
    env = made(GUESS)
    assert agentgym.evaluate(Bisection, env, n=20).success == 1
    assert agentgym.evaluate("random", env, n=20).success == 0


@pytest.mark.parametrize("name", [GUESS, "2048-v0", "Minesweeper-v0", "Sudoku-v0-very-easy"])
def test_the_seed_counts_whatever_else_draws(name: str) -> None:
    def play(noise: int) -> list[Any]:
        random.seed(noise)
        env = made(name)
        found: list[Any] = [env.reset(options={"split": "test", "index": 5})[0]]
        for action in ("[1 1]", "[Up]"):
            random.random()
            found.append(env.step(action)[:4])
            if found[-1][2]:
                break
        return found

    assert play(0) == play(1)


def test_an_observation_is_what_is_new() -> None:
    env = made(GUESS)
    first, _ = env.reset(options={"split": "test", "index": 1})
    second = env.step("[1]")[0]
    assert "You are playing Guess The Number" in first and second.startswith("The target number")


def test_a_game_that_pays_words_breaks_its_episode() -> None:
    env = made("Cryptarithm-v0-raw")
    env.reset(options={"split": "test", "index": 3})
    with pytest.raises(EnvFailure, match="expected a finite number as the reward"):
        while True:
            env.step("hello")


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("GuessTheNumbr-v0", {}, "did you mean"),
        ("Chess-v0", {}, "can be opened here"),
        (GUESS, {"size": 3}, "with the arguments {'size': 3}"),
    ],
)
def test_what_is_wrong_is_told(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        made(name, **kwargs)
