"""What tests of several projects share: a name as its environment, and who guesses a number."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import agentgym
from agentgym.interop.imported_env import ImportedEnv
from agentgym.registration.making import make_env, resolve


def make_imported(name: str, **kwargs: Any) -> ImportedEnv:
    """Make an environment of another project."""
    env = make_env(resolve(name)[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


class Bisection:
    """Halves what is left of the numbers from 1 on.

    Args:
        high: The largest number.
        higher: What the game says if the number is larger.
        form: How a guess is written.
    """

    def __init__(self, high: int, higher: str, form: str) -> None:
        self._most, self._higher, self._form = high, higher, form

    def act(self, observation: str, info: Any) -> str:
        """Guess the number in the middle."""
        if info["turn"] == 0:
            self._low, self._high = 1, self._most
        elif self._higher in observation:
            self._low = self._guess + 1
        else:
            self._high = self._guess - 1
        self._guess = (self._low + self._high) // 2
        return self._form.format(self._guess)


def assert_a_player_wins_and_the_random_floor_does_not(env: ImportedEnv, *player: Any) -> None:
    assert agentgym.evaluate(lambda: Bisection(*player), env, num_tasks=20).success == 1
    assert agentgym.evaluate("random", env, num_tasks=20).success == 0


def assert_the_seed_counts(name: str, *actions: str) -> None:
    """Play a task twice while others draw from the global generators, each time differently."""

    def play(noise: int) -> list[Any]:
        random.seed(noise)
        np.random.seed(noise)
        env = make_imported(name)
        trace: list[Any] = [env.reset(options={"split": "test", "index": 5})[0]]
        for action in actions:
            random.random()
            trace.append(env.step(action)[:4])
            if trace[-1][2]:
                break
        return trace

    assert play(0) == play(1)
