"""What is read from a game once."""

from __future__ import annotations

import copy
import pickle

import pytest

from agentgym.envs.alfworld.engine.household import Game, Household, player_names
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.errors import DataError
from tests.envs.alfworld.houses import house, problem
from tests.envs.alfworld.tiny import IMPOSSIBLE, PROBLEM, TINY

KITCHEN = problem(
    ["SinkBasin_bar_1", "SinkBasin_bar_2", "Cabinet_bar_1"],
    ["Apple_bar_1", "Plate_bar_1"],
    [
        "(receptacleAtLocation SinkBasin_bar_1 loc_bar_1)",
        "(receptacleAtLocation SinkBasin_bar_2 loc_bar_1)",
        "(receptacleAtLocation SinkBasin_bar_2 loc_bar_2)",
        "(receptacleAtLocation Cabinet_bar_1 loc_bar_3)",
        "(openable Cabinet_bar_1)",
        "(pickupable Apple_bar_1)",
        "(cleanable Apple_bar_1)",
        "(isReceptacleObject Plate_bar_1)",
        "(inReceptacleObject Apple_bar_1 Plate_bar_1)",
        "(inReceptacle Apple_bar_1 Cabinet_bar_1)",
        "(inReceptacle Plate_bar_1 Cabinet_bar_1)",
        "(objectAtLocation Apple_bar_1 loc_bar_3)",
        "(canContain SinkBasinType AppleType)",
        "(atLocation agent1 loc_bar_0)",
    ],
    "(exists (?o - object) (isClean ?o))",
)


def test_names_are_numbered_downwards_by_kind() -> None:
    names = player_names(
        ["desk_bar_2", "desk_bar_1", "sink_bar_1_bar_sinkbasin", "sink_bar_2", "agent1",
         "my_minus_mug_bar_1", "a_plus_b", "soapbar_bar__plus_1_dot_5"]
    )  # fmt: skip
    assert names == {
        "a_plus_b": "a+b ", "agent1": "agent1 ", "desk_bar_1": "desk 2", "desk_bar_2": "desk 1",
        "my_minus_mug_bar_1": "my-mug 1", "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "sink_bar_2": "sink 1", "soapbar_bar__plus_1_dot_5": "soapbar 1",
    }  # fmt: skip


def test_facts_are_found_by_entity() -> None:
    kitchen = house(KITCHEN)
    cabinet, first, second = range(3)
    assert kitchen.called(range(5)) == [
        "cabinet 1", "sinkbasinbasin 2", "sinkbasinbasin 1", "apple 1", "plate 1",
    ]  # fmt: skip
    assert [len(places) for places in kitchen.places] == [1, 1, 2]
    assert kitchen.intro == (cabinet, first, second, second)
    assert kitchen.openable == {cabinet}
    assert kitchen.accepts == (frozenset(), frozenset({3}), frozenset({3}))
    assert kitchen.appliances == {"clean": {first, second}, "heat": set(), "cool": set()}
    assert kitchen.containers == {4} and kitchen.inside == {4: (3,)}
    assert kitchen.start.contents == ((3, 4), (), ())


def test_journeys_lead_anywhere_else() -> None:
    kitchen = house(KITCHEN)
    everywhere = ("go to cabinet 1", "go to sinkbasinbasin 1", "go to sinkbasinbasin 2")
    assert kitchen.go_commands(kitchen.start.place) == everywhere
    (shared,) = set(kitchen.places[1]) & set(kitchen.places[2])
    assert kitchen.go_commands(shared) == ("go to cabinet 1", "go to sinkbasinbasin 1")


def test_a_household_is_shared_by_copies_and_pickled_as_its_game() -> None:
    household = Household.of(TINY)
    assert copy.deepcopy(household) is household
    data = pickle.dumps(household)
    assert len(data) < 2 * len(PROBLEM)
    assert HouseholdSession(pickle.loads(data)).intro() == HouseholdSession(household).intro()


def test_an_impossible_game_is_a_game() -> None:
    assert not HouseholdSession(Household.of(IMPOSSIBLE)).won


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(atLocation agent1 loc_bar_0)", ""),
        ("(openable Drawer_bar_1)", "(atLocation agent1 loc_bar_1)"),
        ("agent1 - agent", "agent1 agent2 - agent"),
        ("(openable Drawer_bar_1)", "(openable Drawer_bar_2)"),
        ("(openable Drawer_bar_1)", "(openable Drawer_bar_1 Desk_bar_1)"),
        ("(openable Drawer_bar_1)", "(holds agent1 Mug_bar_1)"),
        ("(openable Drawer_bar_1)", "(holdsAny agent1)"),
        ("(openable Drawer_bar_1)", "(inReceptacle Mug_bar_1 Mug_bar_1)"),
        ("(openable Drawer_bar_1)", "(receptacleAtLocation Mug_bar_1 loc_bar_1)"),
        ("(objectType Mug_bar_1 MugType)", "(objectType Mug_bar_1)"),
    ],
)  # fmt: skip
def test_games_that_the_domain_does_not_know_are_refused(old: str, new: str) -> None:
    assert old in PROBLEM
    broken = PROBLEM.replace(old, new, 1)
    with pytest.raises(DataError, match=r"expected .* got"):
        Household.of(Game("x", "", "", "", broken))
