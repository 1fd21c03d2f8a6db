"""Splits: disjoint seeds, and disjoint contents where games repeat."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import SEED_LIMIT, NoSuchGame
from agentgym.envs.textworld.generator.splits import (
    MAX_GAMES,
    MAX_ROOMS_BY_CONTENT,
    SEEDS,
    TRIES,
    fingerprint,
    make_split_game,
    place_of,
    seed_of,
    split_of_content,
)
from agentgym.errors import ConfigurationError, TaskNotFound


def game(key: str = "old key", fact: str = "at", prose: str = "", holder: str = "s_0") -> Any:
    """A game with one fact, as JSON."""
    entities = [{"name": "k_0", "type": "k"}, {"name": holder, "type": "s"}]
    condition = {"preconditions": [{"name": "in", "arguments": entities[:1]}]}
    return {
        "world": [{"name": fact, "arguments": entities}],
        "infos": [["k_0", {"name": key, "desc": prose}], [holder, {"name": "shelf"}]],
        "quests": [{"reward": 1, "win_events": [{"condition": condition}], "fail_events": []}],
        "objective": prose,
        "metadata": {},
    }


def test_every_try_of_every_game_stays_in_its_splits_range() -> None:
    firsts = sorted(SEEDS.values())
    for first, following in zip(firsts, [*firsts[1:], SEED_LIMIT], strict=True):
        assert first + TRIES * MAX_GAMES <= following


@given(st.sampled_from(sorted(SEEDS)), st.integers(0, MAX_GAMES - 1))
def test_seeds_name_places(split: str, index: int) -> None:
    assert place_of(seed_of(split, index)) == (split, index)


@pytest.mark.parametrize("seed", [-1, MAX_GAMES, SEEDS["valid"] - 1, SEEDS["test"] + MAX_GAMES])
def test_other_seeds_name_nothing(seed: int) -> None:
    assert place_of(seed) is None


def test_fingerprints_tell_tasks_apart_and_not_words() -> None:
    assert fingerprint(game()) == fingerprint(game(prose="Fetch it!"))
    assert fingerprint(game()) == fingerprint(game(holder="s_1"))
    prints = {fingerprint(game()), fingerprint(game(key="latchkey")), fingerprint(game(fact="on"))}
    assert len(prints) == 3


def test_tries_go_on_until_the_game_belongs() -> None:
    small = GeneratorConfig.of("simple")
    calls: list[tuple[int, str]] = []

    def make(setting: GeneratorConfig, seed: int, split: str) -> Any:
        calls.append((seed, split))
        if len(calls) == 1:
            raise NoSuchGame("none")
        return game(key=f"key {seed}")

    first_fit = make_split_game(small, "test", 7, make)
    assert split_of_content(small, first_fit) == "test"
    expected = [(SEEDS["test"] + 7 + row * MAX_GAMES, "test") for row in range(len(calls))]
    assert calls == expected
    assert all(
        split_of_content(small, game(key=f"key {seed}")) != "test" for seed, _ in calls[1:-1]
    )


def test_large_settings_take_the_first_game() -> None:
    large = GeneratorConfig.of("w9-o9-q9")
    assert large.rooms > MAX_ROOMS_BY_CONTENT
    for split in SEEDS:
        assert make_split_game(large, split, 0, lambda *_: game()) == game()
        assert split_of_content(large, game()) == ""


def test_settings_with_too_few_games_are_told() -> None:
    (home,) = {split_of_content(GeneratorConfig.of("simple"), game())}
    other_split = "valid" if home == "test" else "test"
    assert make_split_game(GeneratorConfig.of("simple"), home, 0, lambda *_: game()) == game()
    with pytest.raises(ConfigurationError, match=rf"{other_split} 0.*'simple'.*64 seeds"):
        make_split_game(GeneratorConfig.of("simple"), other_split, 0, lambda *_: game())


def test_a_long_search_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    def make(setting: GeneratorConfig, seed: int, split: str) -> Any:
        raise NoSuchGame(f"nothing for {seed}")

    with pytest.raises(ConfigurationError, match="64 seeds"):
        make_split_game(GeneratorConfig.of("w2-o1-q50"), "train", 0, make)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].startswith(
        "3 of 64 seeds gave no game for train 0 of the difficulty 'w2-o1-q50'"
    )
    assert len(messages) == 4


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(TaskNotFound, match="dev"):
        seed_of("dev", 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin_collector,level=2", "simple"])
def test_no_task_is_in_two_splits(name: str) -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    setting = GeneratorConfig.of(name)
    prints = {
        split: {fingerprint(make_split_game(setting, split, index)) for index in range(4)}
        for split in SEEDS
    }
    assert prints["train"].isdisjoint(prints["valid"] | prints["test"])
    assert prints["valid"].isdisjoint(prints["test"])
