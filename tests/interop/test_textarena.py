from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from tests.interop.guessing import (
    assert_a_player_wins_and_the_random_floor_does_not,
    assert_the_seed_counts,
    make_imported,
)

pytest.importorskip("textarena", reason="textarena is in .ci/peers")
GUESS = "GuessTheNumber-v0"


def test_a_player_wins_and_the_random_floor_does_not() -> None:
    env = make_imported(f"textarena:{GUESS}")
    assert_a_player_wins_and_the_random_floor_does_not(env, 20, "higher", "[{}]")


@pytest.mark.parametrize("name", [GUESS, "2048-v0", "Minesweeper-v0", "Sudoku-v0-very-easy"])
def test_the_seed_counts_whatever_else_draws(name: str) -> None:
    assert_the_seed_counts(f"textarena:{name}", "[1 1]", "[Up]")


def test_an_observation_is_what_is_new() -> None:
    env = make_imported(f"textarena:{GUESS}")
    first, _ = env.reset(options={"split": "test", "index": 1})
    second = env.step("[1]")[0]
    assert "You are playing Guess The Number" in first and second.startswith("The target number")


@pytest.mark.parametrize("name", ["Cryptarithm-v0-raw", "Slitherlink-v0"])
def test_an_invalid_move_that_is_paid_in_words_is_lost(name: str) -> None:
    env = make_imported(f"textarena:{name}")
    env.reset(options={"split": "test", "index": 3})
    for _ in range(3):
        _, reward, terminated, _, info = env.step("hello")
        if terminated:
            break
    assert (reward, terminated, info["success"], info["stop_reason"]) == (0, True, False, "failure")
    assert "Bad action format" in info["details"]["reason"]


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
        make_imported(f"textarena:{name}", **kwargs)


def test_a_game_that_raises_on_a_move_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_imported(f"textarena:{GUESS}")
    env.reset(options={"split": "test", "index": 1})
    game = env.world._game  # type: ignore[attr-defined]
    while hasattr(game, "env"):
        game = game.env
    kind = type(game)
    step = kind.step

    def strict(self: Any, action: str) -> Any:
        if "*" in action:
            raise ValueError("no numeral")
        return step(self, action)

    monkeypatch.setattr(kind, "step", strict)
    _, reward, terminated, truncated, info = env.step("[2*3]")
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert info["stop_reason"] == "action_error"


def test_the_turn_limit_of_a_game_is_a_truncation() -> None:
    env = make_imported(f"textarena:{GUESS}", max_turns=2)
    env.reset(options={"split": "test", "index": 1})
    for guess in ("[1]", "[2]", "[3]"):
        *_, terminated, truncated, info = env.step(guess)
        if terminated or truncated:
            break
    assert (terminated, truncated, info["stop_reason"]) == (False, True, "horizon")
