from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.errors import ConfigurationError, DataError
from tests.envs.textworld.engine import games

WORLD = GameWorld.of(games.treasure())


def test_the_first_state() -> None:
    machine = Machine(WORLD)
    assert machine.facts == frozenset(games.FACTS)
    assert machine.admissible() == ("go east", "look", "open box", "take plum")
    assert (machine.score, machine.moves) == (0, 0)
    assert not (machine.won or machine.lost or machine.done)
    assert machine.policy() == games.WALKTHROUGH


def test_the_plan_wins() -> None:
    machine = Machine(WORLD)
    for n_left in (2, 1, 0):
        games.play(machine, machine.policy()[0])
        assert len(machine.policy()) == n_left
    assert machine.won and machine.done and not machine.lost
    assert (machine.score, machine.moves) == (3, 3)


def test_an_action_says_what_it_does() -> None:
    machine = games.play(Machine(WORLD), "open box")
    action = machine.command("  take coin from box ")
    assert action is not None
    assert (action.name, action.command) == ("take/c", "take coin from box")
    assert action.bindings == {"P": "P", "r": "r_0", "c": "c_0", "o": "o_0", "I": "I"}
    facts_before = machine.facts
    machine.apply(action)
    assert machine.facts == facts_before - {("in", "o_0", "c_0")} | {("in", "o_0", "I")}


@pytest.mark.parametrize("text", ["", "open", "open box twice", "OPEN BOX", "take coin from box"])
def test_what_is_not_admissible_is_no_action(text: str) -> None:
    assert Machine(WORLD).command(text) is None


def test_an_action_of_another_state_is_refused() -> None:
    machine = Machine(WORLD)
    action = machine.command("take plum")
    assert action is not None
    machine.apply(action)
    with pytest.raises(ConfigurationError, match="'take plum'"):
        machine.apply(action)


def test_the_plan_is_repaired_after_a_detour() -> None:
    machine = games.play(Machine(WORLD), "go east")
    assert machine.policy() == ("go west", *games.WALKTHROUGH)
    games.play(machine, "go west", "open box", "close box")
    assert machine.policy() == games.WALKTHROUGH
    games.play(machine, "open box", "take coin from box", "drop coin")
    assert machine.policy() == ("take coin", "go east")


def test_a_short_cut_is_taken() -> None:
    machine = games.play(Machine(WORLD), "take plum", "open box", "insert plum into box")
    assert machine.policy() == games.WALKTHROUGH[1:]


def test_a_failing_event_loses_and_stays() -> None:
    machine = games.play(Machine(WORLD), "take plum", "eat plum")
    assert machine.lost and machine.result.lost and machine.done and not machine.won
    assert machine.policy() == ()
    games.play(machine, *games.WALKTHROUGH)
    assert machine.lost and machine.score == 3


def test_what_cannot_be_undone_makes_a_quest_unfinishable() -> None:
    plan = games.actions(["take plum", "go east", "drop plum"])
    world = GameWorld.of(games.game([games.quest([games.event([("at", "f_0", "r_1")], plan)])]))
    machine = games.play(Machine(world), "take plum", "eat plum")
    assert machine.lost and machine.result.lost is False


def test_a_quest_without_a_plan_has_no_policy() -> None:
    world = GameWorld.of(games.game([games.quest([games.event([("open", "c_0")])])]))
    machine = Machine(world)
    assert machine.policy() == ()
    assert games.play(machine, "open box").won


def test_commands_that_a_game_leaves_out_come_from_its_rules() -> None:
    game = games.treasure()
    for action in game["quests"][0]["win_events"][0]["actions"]:
        action["command_template"] = action["reverse_command_template"] = None
    machine = Machine(GameWorld.of(game))
    assert machine.policy() == games.WALKTHROUGH
    assert games.play(machine, "go east").policy() == ("go west", *games.WALKTHROUGH)


def test_no_quest_is_never_won() -> None:
    machine = Machine(GameWorld.of(games.game()))
    assert not machine.won and not machine.lost and machine.policy() == ()


def test_a_reset_forgets() -> None:
    machine = games.play(Machine(WORLD), *games.WALKTHROUGH)
    machine.reset()
    assert machine.snapshot() == Machine(WORLD).snapshot()


@settings(max_examples=40, deadline=None)
@given(
    choices=st.lists(st.integers(0, 99), max_size=12), more=st.lists(st.integers(0, 99), max_size=6)
)
def test_a_restored_machine_goes_on_alike(choices: list[int], more: list[int]) -> None:
    machine = Machine(WORLD)
    for choice in choices:
        games.play(machine, machine.admissible()[choice % len(machine.admissible())])
    snapshot = machine.snapshot()
    # Another world knows none of the facts, actions and trees that this one has met.
    restored = [Machine(WORLD), Machine(GameWorld.of(games.treasure()))]
    for copied in restored:
        copied.restore(pickle.loads(pickle.dumps(snapshot)))
        assert copied.snapshot() == snapshot
    for choice in [-1, *more]:
        if choice >= 0:
            command = machine.admissible()[choice % len(machine.admissible())]
            for player in (machine, *restored):
                games.play(player, command)
        for copied in restored:
            assert copied.facts == machine.facts
            assert copied.admissible() == machine.admissible()
            assert copied.policy() == machine.policy()
            assert copied.snapshot() == machine.snapshot()
            assert (copied.score, copied.won, copied.lost) == (
                machine.score,
                machine.won,
                machine.lost,
            )


def test_worlds_are_shared_by_copies_and_pickled_as_their_game() -> None:
    machine = games.play(Machine(WORLD), "go east")
    twin, stranger = copy.deepcopy(machine), pickle.loads(pickle.dumps(machine))
    assert twin.world is WORLD and stranger.world is not WORLD
    for twin_or_stranger in (twin, stranger):
        assert twin_or_stranger.snapshot() == machine.snapshot()
        assert games.play(twin_or_stranger, *twin_or_stranger.policy()).won
    assert not machine.won


def test_names() -> None:
    assert list(WORLD.names) == list(games.TYPES)
    assert WORLD.names["c_0"] == "box"


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"KB": {}}, {"KB": {"logic": "type"}}, {"world": [{}]}, {"quests": [{}]}],
)
def test_what_is_no_game_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="expected"):
        GameWorld.of(games.treasure() | change)


def test_an_entity_of_two_types_is_refused() -> None:
    game = games.treasure()
    game["world"][0]["arguments"][0]["type"] = "o"
    with pytest.raises(DataError, match="one type for the entity 'P'"):
        GameWorld.of(game)
