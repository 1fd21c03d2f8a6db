"""BabyAI in text: what is seen and typed, and that it is minigrid's BabyAI."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError, DependencyNotInstalled

if importlib.util.find_spec("minigrid") is None:
    pytest.skip('BabyAI needs minigrid: pip install -e ".[babyai]"', allow_module_level=True)
from minigrid.core.world_object import Ball, Door, Wall

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from agentgym.envs.babyai.engine.levels import open_level
from agentgym.envs.babyai.engine.view import HIDDEN, visible
from benchmarks.babyai_parity import LEVELS, compare


def make(**kwargs: Any) -> TextEnv:
    env = gymnasium.make("agentgym/BabyAI-v0", **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


def test_missions_rewards_and_ends_are_minigrids() -> None:
    """A sample of the benchmark: of each level the bot's way and one at random."""
    for level in LEVELS:
        comparison = compare(level, 2)
        assert comparison["steps"] > 2 and comparison["different"] == []


def test_the_view_equals_minigrids() -> None:
    """Cell by cell as minigrid encodes them, among walls, doors and things put anywhere."""
    hidden = 0
    for index, level in enumerate((*LEVELS, "BossLevel")):
        env, rng = open_level(level, index), random.Random(index)
        for _ in range(40):
            cells = env.grid.grid
            for place in range(len(cells)):
                if rng.random() < 0.05:
                    door = Door("red", is_open=rng.random() < 0.5)
                    cells[place] = rng.choice((None, None, Wall(), door, Ball("blue")))
            env.agent_pos = rng.randrange(env.grid.width), rng.randrange(env.grid.height)
            env.agent_dir = rng.randrange(4)
            image = type(env).gen_obs(env)["image"].tolist()
            view = visible(env)
            encoded = [
                [[0, 0, 0] if c is HIDDEN else list(c.encode()) if c else [1, 0, 0] for c in column]
                for column in view
            ]
            encoded[len(view) // 2][-1] = image[len(view) // 2][
                -1
            ]  # there it shows what is carried
            assert encoded == image
            hidden += sum(column.count(HIDDEN) for column in view)
    assert hidden > 1000


def test_what_is_seen_is_where_it_is() -> None:
    """Things are looked up in the grid by the words of the observation."""
    env = make(levels=["GoToLocal", "UnlockLocal"], horizon=200)
    looked = 0
    for index in range(6):
        observation, info = env.reset(options={"split": "test", "index": index})
        while not info["stop_reason"]:
            grid = env.session.env
            listing = observation.partition("You see ")[2].partition(". You can")[0]
            for entry in listing.split(", ") if "nothing but" not in listing else ():
                words = entry.split()
                side = next((word for word in ("left", "right") if word in words), "")
                aside = int(words[words.index(side) - 1]) * (-1) ** (side == "left") if side else 0
                ahead = int(words[words.index("ahead") - 1]) if "ahead" in words else 0
                position = grid.agent_pos + ahead * grid.dir_vec + aside * grid.right_vec
                entity = grid.grid.get(*map(int, position))
                assert entity is not None and f"{entity.color} {entity.type}" in entry
                looked += 1
            observation, _, _, _, info = env.step(str(env.demonstrator_action()))
    assert looked > 40


def test_what_does_nothing_says_why_and_costs_a_step() -> None:
    env = make(levels="UnlockLocal", reward="original")
    env.reset(options={"split": "test", "index": 0})
    for action, why in (("drop", "you carry nothing"), ("pickup", "nothing to pick up"),
                        ("toggle", "nothing to open or close")):  # fmt: skip
        old_key = env.step("no such action")[4]["state_key"]
        observation, reward, _, _, info = env.step(action)
        assert f"Nothing happens: {why}" in observation.replace("there is ", "")
        assert (reward, info["action_valid"], info["state_key"]) == (0.0, False, old_key)
    assert env.session.env.step_count == 3 and len(env.session.actions) == 3
    observation, _, _, _, info = env.step("fly")
    assert "expected one of turn left, turn right" in observation and not info["action_valid"]
    assert env.session.env.step_count == 3


def test_the_bot_advises_a_policy_that_has_left_its_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    solved = 0
    for index in range(6):
        env = make(difficulty="easy", horizon=40)
        _, info = env.reset(options={"split": "test", "index": index})
        planned = str(env.demonstrator_action())
        other_turn = next(a for a in ("turn left", "turn right") if a != planned)
        info = env.step(other_turn)[4]
        assert info["oracle_turns"] == -1
        fork = env.snapshot()
        ways = []
        for _ in range(2):  # a fork has another bot, which has seen the same
            env.restore(fork)
            way = []
            while (action := env.demonstrator_action()) is not None:
                way.append(action)
                info = env.step(action)[4]
                if info["stop_reason"]:
                    break
            ways.append(way)
        assert ways[0] == ways[1]
        solved += info["success"]
    assert solved >= 5
    assert capsys.readouterr().out == "", "minigrid prints where it draws a level again"


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"levels": "GoToRedBal"}, "did you mean 'GoToRedBall"),
        ({"levels": []}, "expected the names of levels"),
        ({"levels": 7}, "expected the names of levels"),
        ({"difficulty": "huge"}, "expected difficulty to be one of easy, medium, hard"),
        ({"reward": "dense"}, "expected reward to be one of sparse, original"),
    ],
)
def test_what_is_wrong_is_told(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make(**kwargs)


def test_without_minigrid_it_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(DependencyNotInstalled, match=r"the package 'minigrid' to be installed"):
        make()
