from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import agentgym
from agentgym.errors import ConfigurationError
from agentgym.imports.imported_env import ImportedEnv
from agentgym.making import make_env, resolve

pytest.importorskip("gem", reason="gem-llm is in .ci/peers")
GUESS = "game:GuessTheNumber-v0-easy"


def made(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"gem:{name}")[1], kwargs, "--set")
    assert isinstance(env, ImportedEnv)
    return env


class Bisection:
    """Halves what is left of the numbers from 1 to 10."""

    def act(self, observation: str, info: Any) -> str:
        if info["turn"] == 0:
            self._low, self._high = 1, 10
        elif "higher than" in observation:
            self._low = self._guess + 1
        else:
            self._high = self._guess - 1
        self._guess = (self._low + self._high) // 2
        return f"\\boxed{{{self._guess}}}"


def test_a_player_wins_and_the_random_floor_does_not() -> None:
    env = made(GUESS)
    assert agentgym.evaluate(Bisection, env, n=20).success == 1
    assert agentgym.evaluate("random", env, n=20).success == 0


@pytest.mark.parametrize("name", [GUESS, "game:Mastermind-v0-easy", "game:Sudoku-v0-easy"])
def test_the_seed_counts_whatever_else_draws(name: str) -> None:
    def play(noise: int) -> list[Any]:
        random.seed(noise)
        np.random.seed(noise)
        env = made(name)
        found: list[Any] = [env.reset(options={"split": "test", "index": 5})[0]]
        for action in ("\\boxed{1}", "\\boxed{2}"):
            random.random()
            found.append(env.step(action)[:4])
            if found[-1][2]:
                break
        return found

    assert play(0) == play(1)


def test_the_global_generators_are_left_alone() -> None:
    env = made(GUESS)
    random.seed(3)
    np.random.seed(3)
    expected = random.Random(3).random(), np.random.RandomState(3).random()
    env.reset(seed=0)
    env.step("\\boxed{5}")
    assert (random.random(), np.random.random()) == expected


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("game:GuessTheNumber", {}, "did you mean"),
        ("game:FifteenPuzzle-v0-random", {}, "can be opened here"),
        (GUESS, {"horizon": 0}, "horizon"),
    ],
)
def test_what_is_wrong_is_told(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        made(name, **kwargs)
