"""What is listed as admissible does something, in every grammar and with odd names."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS
from agentgym.envs.textworld.env import NOT_ADMISSIBLE, TextWorldEnv
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.errors import DataError
from tests.envs.textworld.conftest import EACH_ENGINE

LETTERS = "abzKQ09'-éß北%/()[]<>{}&#$ "
ORDINARY = st.text(st.sampled_from(LETTERS), min_size=1, max_size=25).map(
    lambda text: f"odd {text}x"
)


@pytest.fixture(scope="module")
def game() -> dict[str, Any]:
    games = GameTasks()
    return games.problem(games.task("test", 3))


def refused(env: TextWorldEnv, info: dict[str, Any]) -> Iterator[str]:
    """Yield the actions on offer that the game does not carry out."""
    fork = env.snapshot()
    for action in info["admissible_actions"]:
        if not env.step(action)[4]["action_valid"]:
            yield action
        env.restore(fork)


def walk(env: TextWorldEnv, turns: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Play half like the expert, and yield the info of every state."""
    rng = random.Random(0)
    info = env.reset(seed=0, options=options)[1]
    for _ in range(turns):
        yield info
        expert = env.demonstrator_action() if rng.random() < 0.5 else None
        result = env.step(expert or rng.choice(info["admissible_actions"]))
        info = result[4]
        if result[2] or result[3]:
            return


@settings(
    max_examples=40, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(name=ORDINARY, grammar=st.sampled_from(GRAMMARS))
def test_odd_names_are_played_or_refused_at_once(
    game: dict[str, Any], tmp_path: Path, name: str, grammar: str
) -> None:
    odd = copy.deepcopy(game)
    entities = [info for _, info in odd["infos"] if info["type"] in ("o", "k", "f", "c", "s")]
    entities[len(name) % len(entities)]["name"] = name
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(odd))
    try:
        env = TextWorldEnv(data={"test": [file]}, grammar=grammar)
    except DataError as error:
        assert "can be typed" in str(error)
        return
    for info in walk(env, 6):
        assert not list(refused(env, info))


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("name", ["w2-o3-q4", "cooking-easy", "cooking-medium", "simple"])
def test_all_that_is_listed_does_something(
    name: str, grammar: str, game_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "w2-o3-q4":
        pytest.importorskip("textworld", reason="other games are generated")
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    env = TextWorldEnv(name, grammar=grammar, horizon=40)
    for info in walk(env, 15, split="test", index=0):
        assert not list(refused(env, info))


@pytest.mark.parametrize("engine", EACH_ENGINE)
def test_the_meal_is_offered_when_it_can_be_prepared(
    engine: str, game_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("textworld", reason="cooking is generated")
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    env = TextWorldEnv("cooking-easy", engine=engine, horizon=40, show_admissible=True)
    observation, info = env.reset(seed=0, options={"split": "test", "index": 0})
    hidden = 0
    while not info["success"]:
        listed = "prepare meal" in info["admissible_actions"]
        assert listed == ("prepare meal" in observation.rpartition("Possible commands")[2])
        if "prepare meal" in env.session.admissible() and not listed:
            hidden += 1
            fork = env.snapshot()
            assert not env.step("prepare meal")[4]["action_valid"]
            env.restore(fork)
        action = env.demonstrator_action() or ""
        assert action in info["admissible_actions"]
        observation, _, _, _, info = env.step(action)
    assert hidden


@pytest.mark.parametrize("engine", EACH_ENGINE)
def test_an_invalid_turn_says_why(
    engine: str, game_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "inform7":
        pytest.importorskip("textworld", reason="needs the package textworld")
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    env = TextWorldEnv(engine=engine)
    env.reset(options={"split": "test", "index": 0})
    for action, reason in (
        ("look", ""), ("dance", NOT_ADMISSIBLE), ("wait", NOT_ADMISSIBLE), ("take", NOT_ADMISSIBLE),
    ):  # fmt: skip
        observation, *_, info = env.step(action)
        assert info["details"]["reason"] == reason and info["action_valid"] == (not reason)
        assert observation
    for action in ("undo", "", "x" * 1000):
        observation, *_, info = env.step(action)
        assert info["details"]["reason"] == observation and not info["action_valid"]
    env.close()
