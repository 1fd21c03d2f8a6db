from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.commands import fill
from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.errors import DataError
from tests.envs.textworld.engine import games

BOXES = [f"c_{number}" for number in (10, 2)]


def test_a_template_is_filled_with_names() -> None:
    assert fill("take {o} from {c}", {"o": "{r}", "c": "box"}) == "take {r} from box"


def test_a_command_holds_signs_as_they_are() -> None:
    game = games.game()
    game["KB"]["logic"] = games.LOGIC.replace('look :: "look"', 'look :: "look 100% at %s {r}"')
    assert "look 100% at %s yard" in Machine(GameWorld.of(game)).admissible()


def _boxes(state: str) -> GameWorld:
    """Two more boxes in the yard, both called "crate"."""
    game = games.game()
    for box in BOXES:
        types = [{"name": box, "type": "c"}]
        game["world"] += [
            {"name": "at", "arguments": [*types, {"name": "r_0", "type": "r"}]},
            {"name": state, "arguments": types},
        ]
        game["infos"].append([box, {"id": box, "type": "c", "name": "crate"}])
    return GameWorld.of(game)


def test_of_two_actions_with_one_command_the_first_fact_decides() -> None:
    # Facts are compared as texts: c_10 stands before c_2.
    machine = Machine(_boxes("closed"))
    assert machine.admissible().count("open crate") == 1
    assert ("open", "c_10") in games.play(machine, "open crate").facts
    games.play(machine, "open crate")
    assert {("open", box) for box in BOXES} <= machine.facts


def test_of_two_rules_with_one_command_the_first_rule_decides() -> None:
    game = games.game()
    game["KB"]["logic"] = games.LOGIC.replace('look :: "look"', 'look :: "go east"')
    action = Machine(GameWorld.of(game)).command("go east")
    assert action is not None and action.name == "go/east"


def test_a_rule_without_a_command_is_never_used() -> None:
    game = games.game()
    game["KB"]["logic"] = games.LOGIC.replace('look :: "look" :: "looking";', "")
    assert "look" not in Machine(GameWorld.of(game)).admissible()


def test_a_rule_about_things_of_no_type_is_refused_where_a_command_names_it() -> None:
    game = games.game()
    game["KB"]["logic"] = games.LOGIC.replace("look :: at(P, r) ->", "look :: near(q) ->")
    with pytest.raises(DataError, match="'q'"):
        GameWorld.of(game)
    game["KB"]["logic"] = game["KB"]["logic"].replace('look :: "look" :: "looking";', "")
    assert "look" not in Machine(GameWorld.of(game)).admissible()


def test_what_no_condition_mentions_is_any_entity_in_order() -> None:
    game = games.game()
    game["KB"]["logic"] = games.LOGIC.replace(
        "look :: at(P, r) -> at(P, r);", "look :: $at(P, r) -> seen(o);"
    )
    action = Machine(GameWorld.of(game)).command("look")
    assert action is not None and action.bindings["o"] == "f_0"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 99), max_size=15))
def test_a_search_finds_what_trying_everything_finds(choices: list[int]) -> None:
    world = _boxes("open")
    machine = Machine(world)
    for choice in choices:
        games.play(machine, machine.admissible()[choice % len(machine.admissible())])
    kinds = games.TYPES | dict.fromkeys(BOXES, "c")
    subtypes = world.logic.subtypes
    expected = set()
    for rule in world.logic.rules:
        pools = [
            [entity for entity, kind in kinds.items() if kind in subtypes[kind_name]]
            for kind_name in rule.types.values()
        ]
        for entities in itertools.product(*pools):
            bindings = dict(zip(rule.types, entities, strict=True))
            facts = {(a.name, *(bindings[arg] for arg in a.args)) for a in rule.preconditions}
            if len(set(entities)) == len(entities) and facts <= machine.facts:
                named = {name: world.names[entity] for name, entity in bindings.items()}
                expected.add(fill(world.logic.commands[rule.name], named))
    assert machine.admissible() == tuple(sorted(expected))
