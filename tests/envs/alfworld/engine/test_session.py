"""Playing a household; what is expected here was read off the real engine."""

from __future__ import annotations

import copy
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.text import NOTHING_HAPPENS
from tests.envs.alfworld.houses import house, problem, random_house
from tests.envs.alfworld.tiny import INTRO, PLAN, TINY

GALLEY = problem(
    ["SinkBasin_bar_1", "Microwave_bar_1", "Fridge_bar_1", "CounterTop_bar_1", "CounterTop_bar_2"],
    ["Apple_bar_1", "Apple_bar_2", "Knife_bar_1", "DeskLamp_bar_1", "Plate_bar_1"],
    [
        "(receptacleAtLocation SinkBasin_bar_1 loc_bar_1)",
        "(receptacleAtLocation CounterTop_bar_1 loc_bar_1)",
        "(receptacleAtLocation CounterTop_bar_2 loc_bar_2)",
        "(receptacleAtLocation Microwave_bar_1 loc_bar_3)",
        "(receptacleAtLocation Fridge_bar_1 loc_bar_4)",
        "(openable Microwave_bar_1) (openable Fridge_bar_1) (opened Fridge_bar_1)",
        "(inReceptacle Apple_bar_1 CounterTop_bar_1) (objectAtLocation Apple_bar_1 loc_bar_1)",
        "(inReceptacle Apple_bar_2 Microwave_bar_1) (objectAtLocation Apple_bar_2 loc_bar_3)",
        "(inReceptacle Knife_bar_1 CounterTop_bar_1) (objectAtLocation Knife_bar_1 loc_bar_1)",
        "(inReceptacle Knife_bar_1 CounterTop_bar_2)",
        "(inReceptacle DeskLamp_bar_1 Microwave_bar_1)",
        "(inReceptacle Plate_bar_1 SinkBasin_bar_1) (isReceptacleObject Plate_bar_1)",
        "(inReceptacleObject Apple_bar_2 Plate_bar_1)",
        *(f"(pickupable {name})" for name in ("Apple_bar_1", "Apple_bar_2", "Knife_bar_1",
                                              "Plate_bar_1")),
        *(f"({ability} Apple_bar_1)" for ability in ("cleanable", "heatable", "coolable",
                                                      "sliceable")),
        "(sliceable Apple_bar_2) (toggleable DeskLamp_bar_1) (cleanable Knife_bar_1)",
        *(f"(canContain {receptacle}Type {kind}Type)" for kind in ("Apple", "Knife")
          for receptacle in ("SinkBasin", "CounterTop", "Fridge")),
        "(atLocation agent1 loc_bar_0)",
    ],
    "(exists (?o - object) (and (isHot ?o) (isClean ?o)))",
)  # fmt: skip
GO = ("go to countertop 1", "go to countertop 2", "go to fridge 1", "go to microwave 1",
      "go to sinkbasinbasin 1")  # fmt: skip


@pytest.fixture
def session() -> HouseholdSession:
    return HouseholdSession(house(GALLEY))


def play(session: HouseholdSession, *commands: str) -> list[str]:
    return [session.step(command)[0] for command in commands]


def test_a_game_from_start_to_end() -> None:
    session = HouseholdSession(Household.of(TINY))
    assert session.intro() == INTRO + "put a mug in drawer."
    assert session.admissible() == ("go to desk 1", "go to drawer 1", "help", "inventory", "look")
    assert [session.step(command) for command in PLAN] == [
        ("You arrive at desk 1. On the desk 1, you see a mug 1.", 0.0, False),
        ("You pick up the mug 1 from the desk 1.", 0.0, False),
        ("You arrive at drawer 1. The drawer 1 is closed.", 0.0, False),
        ("You open the drawer 1. The drawer 1 is open. In it, you see nothing.", 0.0, False),
        ("You move the mug 1 to the drawer 1.", 1.0, True),
    ]
    assert session.won and session.done
    assert session.step("look")[1:] == (1.0, True)
    assert session.step("take mug 1 from drawer 1")[1:] == (0.0, False)  # as in the original
    assert not session.done


def test_admissible_commands_are_sorted_and_depend_on_place_and_hand(
    session: HouseholdSession,
) -> None:
    assert session.admissible() == (*GO, "help", "inventory", "look")
    session.step("go to sinkbasinbasin 1")
    assert session.admissible() == (
        "examine countertop 2", "examine sinkbasinbasin 1", "go to countertop 1", *GO[2:4],
        "help", "inventory", "look", "take apple 2 from countertop 2",
        "take knife 1 from countertop 2", "take plate 1 from sinkbasinbasin 1",
    )  # fmt: skip
    session.step("take knife 1 from countertop 2")
    assert session.admissible() == (
        "clean knife 1 with sinkbasinbasin 1", "examine countertop 2", "examine knife 1",
        "examine sinkbasinbasin 1", "go to countertop 1", *GO[2:4], "help", "inventory", "look",
        "move knife 1 to countertop 2", "move knife 1 to sinkbasinbasin 1",
        "slice apple 2 with knife 1",
    )  # fmt: skip


def test_an_object_in_two_receptacles_is_taken_from_one(session: HouseholdSession) -> None:
    play(session, "go to countertop 2", "take knife 1 from countertop 2")
    answers = play(session, "go to countertop 1", "move knife 1 to countertop 1", "look")
    assert answers == [
        "You arrive at countertop 1. On the countertop 1, you see a knife 1.",
        "You move the knife 1 to the countertop 1.",
        "You are facing the countertop 1. Next to it, you see nothing.",
    ]


def test_look_tells_what_was_moved_at_one_place(session: HouseholdSession) -> None:
    assert play(session, "look") == [
        "You are in the middle of a room. Looking quickly around you, you see nothing."
    ]
    play(session, "go to countertop 2", "take apple 2 from countertop 2")
    play(session, "move apple 2 to sinkbasinbasin 1")
    assert play(session, "look") == [
        "You are facing the countertop 2, and sinkbasinbasin 1. Next to it, you see a apple 2."
    ]


def test_what_was_done_to_an_object_can_be_seen(session: HouseholdSession) -> None:
    play(session, "go to countertop 2", "take apple 2 from countertop 2")
    answers = play(session, "examine apple 2", "go to fridge 1", "cool apple 2 with fridge 1",
                   "examine apple 2", "go to microwave 1", "heat apple 2 with microwave 1",
                   "examine apple 2")  # fmt: skip
    assert answers == [
        "There's nothing special about apple 2.",
        "You arrive at fridge 1. The fridge 1 is open. In it, you see nothing.",
        "You cool the apple 2 using the fridge 1.",
        "This is a cold apple 2.",
        "You arrive at microwave 1. The microwave 1 is closed.",
        "You heat the apple 2 using the microwave 1.",
        "This is a hot apple 2.",
    ]
    play(session, "go to countertop 2")
    assert session.step("clean apple 2 with sinkbasinbasin 1")[1:] == (1.0, True)
    assert play(session, "examine apple 2", "inventory") == [
        "This is a hot and clean apple 2.",
        "You are carrying: a apple 2.",
    ]


def test_slicing_reaches_into_closed_receptacles(session: HouseholdSession) -> None:
    play(session, "go to countertop 2", "take knife 1 from countertop 2", "go to microwave 1")
    assert "slice apple 1 with knife 1" in session.admissible()
    assert play(session, "slice apple 1 with knife 1") == [
        "You sliced the apple 1 with the knife 1."
    ]


def test_switching_needs_neither_door_nor_hand(session: HouseholdSession) -> None:
    play(session, "go to countertop 2", "take knife 1 from countertop 2", "go to microwave 1")
    assert play(session, "use desklamp 1", "use desklamp 1") == ["You turn on the desklamp 1."] * 2


def test_containers_tell_their_contents_for_ever(session: HouseholdSession) -> None:
    play(session, "go to countertop 2", "take plate 1 from sinkbasinbasin 1")
    assert play(session, "examine plate 1") == [
        "This is a normal plate 1. In it, you see a apple 1."
    ]
    assert not [command for command in session.admissible() if command.startswith("move")]


def test_help(session: HouseholdSession) -> None:
    (text,) = play(session, "help")
    lines = text.split("\n")
    assert lines[0] == "Available commands:" and lines[-1] == ""
    assert lines[1] == "  look:                             look around your current location"
    assert lines[7] == "  move (object) to (receptacle):  place an object in or on a receptacle"
    assert len(lines) == 15


def test_only_white_space_around_a_command_is_forgiven(session: HouseholdSession) -> None:
    state_before = session.state
    for command in ("Look", "go  to fridge 1", "", "go to fridge", "look\nlook", "go to fridge 1\0",
                    "x" * 10**7, "go to agent1"):  # fmt: skip
        assert session.step(command) == (NOTHING_HAPPENS, 0.0, False)
        assert session.state is state_before
    assert session.step(" \t\n go to fridge 1 \r\n")[0].startswith("You arrive at fridge 1.")
    assert session.step("go to fridge 1")[0] == NOTHING_HAPPENS  # one is there already


def test_names_without_numbers_end_in_a_blank() -> None:
    text = GALLEY.replace("Fridge_bar_1", "Fridge")
    session = HouseholdSession(house(text))
    assert "go to fridge " in session.admissible()
    assert session.step("go to fridge ")[0] == NOTHING_HAPPENS  # as in the original


def test_a_hand_can_be_full_from_the_start() -> None:
    text = GALLEY.replace("(atLocation", "(holds agent1 Apple_bar_1) (holdsAny agent1) (atLocation")
    session = HouseholdSession(house(text))
    assert play(session, "inventory") == ["You are carrying: a apple 2."]


def test_the_first_text_next_to_a_receptacle() -> None:
    session = HouseholdSession(house(GALLEY.replace("agent1 loc_bar_0", "agent1 loc_bar_1")))
    assert "You are facing the countertop 2, and sinkbasinbasin 1. Next" in session.intro()


@given(st.text(max_size=50))
def test_any_text_is_a_command(text: str) -> None:
    session = HouseholdSession(house(GALLEY))
    answer, score, is_done = session.step(text)
    assert (answer == NOTHING_HAPPENS) == (
        text.strip() not in HouseholdSession(house(GALLEY)).admissible()
    )
    assert (score, is_done) == (0.0, False)


@pytest.mark.parametrize("seed", range(20))
def test_snapshots_and_equal_states(seed: int) -> None:
    rng = random.Random(seed)
    session = HouseholdSession(random_house(rng))
    texts = {}
    for _ in range(60):
        state, text = session.snapshot(), session.state_text()
        assert texts.setdefault(text, state) == state
        command = rng.choice(session.admissible())
        expected = (*session.step(command), session.admissible())
        twin = pickle.loads(pickle.dumps(session))
        assert twin.state_text() == session.state_text()
        twin = copy.deepcopy(session)
        twin.restore(pickle.loads(pickle.dumps(state)))
        assert twin.state_text() == text
        assert (*twin.step(command), twin.admissible()) == expected
        assert twin.snapshot() == session.snapshot()
    assert len(set(texts)) == len(set(texts.values()))
    first = session.intro()
    assert first == session.intro() and session.snapshot() == session.household.start
