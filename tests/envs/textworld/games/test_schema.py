"""Game files of users: what is wrong with one is said when the environment is made."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.games.schema import check_game
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.errors import ConfigurationError, DataError, TaskNotFound

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, float("inf"), "", "x", "[if", "[end if]", "\ud800", "P", "r_0",
    [], [1], {}, {"a": 1},
)  # fmt: skip
MUTATIONS = 250


@pytest.fixture(scope="module")
def game() -> dict[str, Any]:
    games = GameTasks()
    return games.problem(games.task("test", 0))


def places(value: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of a JSON value."""
    yield trail
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*trail, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(part, (*trail, number))


def changed(game: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy of a game with another value at a place."""
    result = copy.deepcopy(game)
    part: Any = result
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return result


def test_no_change_of_one_value_gives_a_raw_error(game: dict[str, Any], tmp_path: Path) -> None:
    rng = random.Random(0)
    paths = [place for place in places(game) if place and place[0] != "KB"]
    refused = 0
    for number in range(MUTATIONS):
        place, value = rng.choice(paths), rng.choice(VALUES)
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(changed(game, place, value)))
        try:
            env = TextWorldEnv(data={"test": file}, reward="dense", description=True,
                               inventory=True, show_admissible=True)  # fmt: skip
        except DataError as error:
            refused += 1
            assert str(file) in str(error), (place, value)
            continue
        _, info = env.reset(seed=0)  # what could be made can be played
        for _ in range(12):
            action = rng.choice(
                [*(info["admissible_actions"] or ["look"]), env.demonstrator_action()]
            )
            observation, _, terminated, truncated, info = env.step(action or "look")
            observation.encode()
            json.dumps(info, allow_nan=False)
            if terminated or truncated:
                break
    assert refused > MUTATIONS // 2


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("world", 3, "arguments", 0, "name"), 5, r"a text in world\[3\].arguments\[0\].name"),
        (("world", 2, "arguments", 0, "name"), "zz", r"explains in world\[2\].arguments, got 'zz'"),
        (("world", 1, "arguments"), [], r"world\[1\].arguments"),
        (("infos", 4), ["x"], r"a list of 2 in infos\[4\]"),
        (("infos", 4, 1, "desc"), True, r"a text in infos\[4\]\[1\].desc"),
        (("infos", 4, 1, "synonyms"), "abc", r"a list in infos\[4\]\[1\].synonyms"),
        (("quests", 0, "reward"), float("nan"), r"a number below a billion in quests\[0\].reward"),
        (("quests", 0, "win_events"), None, r"a list in quests\[0\].win_events, got nothing"),
        (("objective",), -1, "a text in objective"),
        (("KB",), {}, "a text in KB.logic"),
        (("metadata",), None, "an object in metadata"),
    ],
)  # fmt: skip
def test_the_place_is_named(
    game: dict[str, Any], place: tuple[Any, ...], value: Any, words: str
) -> None:
    check_game(game)
    with pytest.raises(DataError, match=words):
        check_game(changed(game, place, value))


def room(game: dict[str, Any]) -> int:
    """Return the place of the first room in ``infos``."""
    return next(n for n, (_, info) in enumerate(game["infos"]) if info["type"] == "r")


def test_depth_is_bounded(game: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    for text in (json.dumps(changed(game, ("infos", room(game), 1, "desc"), "[if open]" * 3000)),
                 "[" * 200_000, '{"a":' * 200_000):  # fmt: skip
        file.write_text(text)
        with pytest.raises(DataError, match=r"deep\.json"):
            TextWorldEnv(data={"test": file})


def test_half_a_character_never_reaches_an_observation(
    game: dict[str, Any], tmp_path: Path
) -> None:
    odd = changed(game, ("objective",), "Do \ud800 it.")
    for number, (_, info) in enumerate(game["infos"]):
        if info["name"]:
            odd = changed(
                odd, ("infos", number, 1, "name"), f"{info['name'][:2]}\udfff{info['name'][2:]}"
            )
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(odd))
    env = TextWorldEnv(data={"test": file}, show_admissible=True)
    observation, info = env.reset(seed=0)
    for text in (observation, info["goal"], *info["admissible_actions"]):
        text.encode()
    assert "Do ? it." in observation


def test_the_first_split_that_there_is_is_the_default(game: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(game))
    assert TextWorldEnv(data={"test": [file]}).reset(seed=0)[1]["split"] == "test"
    assert TextWorldEnv().split == "train"
    with pytest.raises(TaskNotFound, match="one of test; got 'train'"):
        TextWorldEnv(data={"test": [file]}, split="train")


@pytest.mark.parametrize(
    "kwargs",
    [
        {"games": "abc"}, {"games": [1]}, {"games": 5.0}, {"games": {"train": True}},
        {"data": 5}, {"data": [5]}, {"data": {"test": 5}}, {"difficulty": 5},
        {"challenge": ["x"]}, {"engine": [1]}, {"reward": {}}, {"description": "no"},
        {"inventory": 1}, {"show_admissible": None}, {"horizon": "9"}, {"world_size": "3"},
        {"max_turn": 3}, {"challenge": "coin_collector", "level": [1]},
    ],
)  # fmt: skip
def test_arguments_of_a_wrong_type_are_refused(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        TextWorldEnv(**kwargs)


def test_a_mistyped_name_lists_arguments_and_parameters() -> None:
    with pytest.raises(ConfigurationError, match=r"data.*world_size.*mean 'horizon'"):
        TextWorldEnv(horizn=3)
