from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError, EnvFailure
from tests.imports.guessing import (
    assert_a_player_wins_and_the_random_floor_does_not,
    assert_the_seed_counts,
    made,
)

pytest.importorskip("textarena", reason="textarena is in .ci/peers")
GUESS = "GuessTheNumber-v0"


def test_a_player_wins_and_the_random_floor_does_not() -> None:
    env = made(f"textarena:{GUESS}")
    assert_a_player_wins_and_the_random_floor_does_not(env, 20, "higher", "[{}]")


@pytest.mark.parametrize("name", [GUESS, "2048-v0", "Minesweeper-v0", "Sudoku-v0-very-easy"])
def test_the_seed_counts_whatever_else_draws(name: str) -> None:
    assert_the_seed_counts(f"textarena:{name}", "[1 1]", "[Up]")


def test_an_observation_is_what_is_new() -> None:
    env = made(f"textarena:{GUESS}")
    first, _ = env.reset(options={"split": "test", "index": 1})
    second = env.step("[1]")[0]
    assert "You are playing Guess The Number" in first and second.startswith("The target number")


def test_a_game_that_pays_words_breaks_its_episode() -> None:
    env = made("textarena:Cryptarithm-v0-raw")
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
        made(f"textarena:{name}", **kwargs)
