"""``oracle_turns``, of tasks and in info, is what the expert needs: found out by playing."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.core.outcome import total
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.tasks import GameTasks
from tests.envs.textworld.conftest import EACH_ENGINE

pytest.importorskip("textworld", reason="games of other settings are generated")

# Those of other tests of the real engine, where there are any: a story is compiled in a second.
SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("w2-o3-q4", {}), ("coin_collector", {"level": 9}), ("treasure_hunter", {"level": 12}),
    ("simple", {}),
    ("cooking-easy", {}), ("cooking", {"take": 1, "cook": True, "drop": True}),
)  # fmt: skip
REWARDS = ("sparse", "score", "dense")
SHOWN: tuple[dict[str, bool], ...] = (
    {}, {"description": True, "inventory": True}, {"show_admissible": True},
)  # fmt: skip
EVERY = list(itertools.product(REWARDS, SHOWN))


def needed(env: TextWorldEnv, **options: Any) -> None:
    """Play the expert; at every turn the turns that are left must be what is said."""
    observation, info = env.reset(seed=0, options=options)
    announced = [info["oracle_turns"]]
    assert env.tasks.oracle_turns(env.task) == announced[0]
    oracle, rewards, over = env.demonstrator(), list[float](), False
    while not over:
        observation, reward, terminated, truncated, info = env.step(oracle.act(observation, info))
        announced.append(info["oracle_turns"])
        rewards.append(reward)
        over = terminated or truncated
    assert info["success"] and info["turn"] == announced[0]
    assert announced == list(range(announced[0], -1, -1))
    assert total(rewards) == 1.0 and info["score"] == 1.0
    if env.reward == "sparse":
        assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


@pytest.mark.parametrize("engine", EACH_ENGINE)
@pytest.mark.parametrize(("name", "parameters"), SETTINGS, ids=[name for name, _ in SETTINGS])
def test_the_expert_needs_what_is_said(
    engine: str, name: str, parameters: dict[str, Any], game_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    variants = EVERY if engine == "native" else EVERY[:: len(SHOWN) + 1]
    for reward, options in variants:
        env = TextWorldEnv(name, engine=engine, reward=reward, horizon=60, **options, **parameters)
        for index in range(2 if engine == "native" else 1):
            needed(env, split="test", index=index)
        env.close()


def test_a_walkthrough_with_commands_to_spare_is_not_counted(
    game_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    games = GameTasks("cooking-easy")
    game = dict(games.problem(games.task("test", 0)))
    walk = ["look", "inventory", *(games.plan(games.task("test", 0)) or ())]
    game["metadata"] = {"walkthrough": walk}
    file = tmp_path / "game.json"
    file.write_text(json.dumps(game))
    needed(TextWorldEnv(data={"test": [file]}))
