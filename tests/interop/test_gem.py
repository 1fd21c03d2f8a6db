from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from agentgym.errors import ConfigurationError
from tests.interop.guessing import (
    assert_a_player_wins_and_the_random_floor_does_not,
    assert_the_seed_counts,
    make_imported,
)

pytest.importorskip("gem", reason="gem-llm is in .ci/peers")
GUESS = "game:GuessTheNumber-v0-easy"


def test_a_player_wins_and_the_random_floor_does_not() -> None:
    env = make_imported(f"gem:{GUESS}")
    assert_a_player_wins_and_the_random_floor_does_not(env, 10, "higher than", "\\boxed{{{}}}")


@pytest.mark.parametrize("name", [GUESS, "game:Mastermind-v0-easy", "game:Sudoku-v0-easy"])
def test_the_seed_counts_whatever_else_draws(name: str) -> None:
    assert_the_seed_counts(f"gem:{name}", "\\boxed{1}", "\\boxed{2}")


def test_the_global_generators_are_left_alone() -> None:
    env = make_imported(f"gem:{GUESS}")
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
        make_imported(f"gem:{name}", **kwargs)
