"""Games in brief: nothing is lost, and both forms are the same game."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.session import NativeSession
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.envs.textworld.games.bundled import BUNDLED, bundled
from agentgym.envs.textworld.generator.config import DEFAULT
from agentgym.envs.textworld.record import Record
from agentgym.errors import DataError
from tests.envs.textworld.engine import games


@pytest.mark.parametrize("key", BUNDLED)
def test_the_json_is_read_and_written(key: str) -> None:
    pack = bundled(key)
    assert pack is not None
    for index in range(20):
        record = pack.record("test", index)
        game = record.json()
        packed = json.loads(json.dumps(Record.of(game).pack()))
        assert Record.unpack(packed, game["KB"]).json() == game == record.game
        assert len(json.dumps(packed)) < 0.6 * len(json.dumps({**game, "KB": None}))


def test_the_json_is_the_callers_own() -> None:
    pack = bundled(DEFAULT)
    assert pack is not None
    record = pack.record("valid", 3)
    game, original = record.json(), copy.deepcopy(record.game)
    game["metadata"]["agentgym"]["plan"].clear()
    game["quests"][0]["win_events"][0]["actions"].clear()
    game["world"][0]["arguments"][0]["type"] = ""
    assert record.json() == original


def play(session: NativeSession, commands: Any) -> list[Any]:
    return [session.start(), *[(session.act(command), session.policy()) for command in commands]]


def test_record_and_json_are_the_same_game() -> None:
    pack = bundled(DEFAULT)
    assert pack is not None
    for index in range(10):
        record = pack.record("train", index)
        plan = record.other_keys["metadata"]["agentgym"]["plan"]
        commands = ["look", plan[0], "inventory", *plan[1:]]
        turns = play(NativeSession(record), commands)
        assert turns == play(NativeSession(record.json()), commands)
        assert turns[-1][0].won


def test_facts_and_actions_stand_once() -> None:
    record = Record.of(games.treasure())
    assert Record.of(record) is record
    assert len(set(record.facts)) == len(record.facts)
    assert len({json.dumps(action) for action in record.actions}) == len(record.actions)


def test_a_world_travels_as_its_record() -> None:
    world = GameWorld.of(games.treasure())
    copied_world = pickle.loads(pickle.dumps(world))
    assert copied_world.game == world.game
    assert Machine(copied_world).snapshot() == Machine(world).snapshot()


def test_two_types_of_one_entity_are_refused() -> None:
    game = games.treasure()
    game["world"].append({"name": "open", "arguments": [{"name": "c_0", "type": "d"}]})
    with pytest.raises(DataError, match=r"one type for the entity 'c_0'"):
        Record.of(game)
