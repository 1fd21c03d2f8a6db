"""An afternoon in the house; every answer was read off the game that Inform 7 compiles from it."""

from __future__ import annotations

import pickle

import pytest

from agentgym.envs.textworld.inform.narrator import StateAfter
from tests.envs.textworld.inform.house import House

START = (
    'Find the\n"exit".\n\n-= Kitchen =-\nYou are in a kitchen.\n\nThere is a locked chest. '
    "A table. On it you see an apple and an old coin.\n\nThere is a closed oak door to the east."
)
TRANSCRIPT = (
    ("look",
     "-= Kitchen =-\nYou are in a kitchen.\n\nThere is a locked chest. A table. "
     "On it you see an apple and an old coin.\n\nThere is a closed oak door to "
     "the east."),
    ("i",
     "You are carrying: a brass key."),
    ("open chest",
     "You have to unlock the chest with the brass key first."),
    ("unlock chest with brass key",
     "You unlock the chest."),
    ("open it",
     "You open the chest, revealing an old umbrella."),
    ("look",
     "-= Kitchen =-\nYou are in a kitchen.\n\nThere is a opened chest. The chest "
     "contains an old umbrella. A table. On it you see an apple and an old "
     "coin.\n\nThere is a closed oak door to the east."),
    ("x chest",
     "The chest looks strong. It is open.\n\nIn the chest is an old umbrella."),
    ("take umbrella",
     "You take the old umbrella from the chest."),
    ("x chest",
     "The chest looks strong. It is open."),
    ("take old",
     "(the old umbrella)\nYou already have that."),
    ("coin",
     "That's not a verb I recognise."),
    ("get apple",
     "You take the apple from the table."),
    ("i",
     "You are carrying: an apple, an old umbrella and a brass key."),
    ("drop all",
     "apple: You drop the apple on the ground.\nold umbrella: You drop the old "
     "umbrella on the ground.\nbrass key: You drop the brass key on the ground."),
    ("look",
     "-= Kitchen =-\nYou are in a kitchen.\n\nThere is a opened chest. Empty! A "
     "table. On it you see an old coin.\n\nThere is a closed oak door to the "
     "east.\n\nThere is a brass key, an old umbrella and an apple on the floor."),
    ("x me",
     "As good-looking as ever."),
    ("take old",
     "(the old umbrella)\nYou pick up the old umbrella from the ground."),
    ("take brass key and apple",
     "brass key: You pick up the brass key from the ground.\napple: You pick up "
     "the apple from the ground."),
    ("take all from table",
     "You take the old coin from the table."),
    ("put brass key on table",
     "You put the brass key on the table."),
    ("put it",
     "What do you want to put the brass key in?"),
    ("x table",
     "The table is shaky.\n\nOn the table is a brass key."),
    ("open oak door",
     "You open oak door."),
    ("e",
     "-= Hall =-\nYou are in a hall.\n\nThe \"way out\" is the door."),
    ("w",
     "-= Kitchen =-\nYou are in a kitchen.\n\nThere is a opened chest. Empty! A "
     "table. On it you see a brass key.\n\nThere is an open oak door to the east."),
    ("close door",
     "You close oak door."),
    ("e",
     "You have to open the oak door first."),
    ("x door",
     "A heavy door. It is closed."),
    ("take door",
     "That's fixed in place."),
    ("xyzzy",
     "That's not a verb I recognise."),
    ("take",
     "What do you want to take?"),
    ("apple",
     "You already have that."),
    ("foo bar",
     "That's not a verb I recognise."),
    ("wait",
     "Time passes."),
    ("drop everything but coin",
     "apple: You drop the apple on the ground.\nold umbrella: You drop the old "
     "umbrella on the ground."),
    ("sit on table",
     "That's not something you can sit down on."),
    ("take old coin",
     "You already have that."),
    ("i",
     "You are carrying: an old coin."),
    ("unlock door with coin",
     "That's unlocked at the moment."),
    ("unlock oak door with oak door",
     "The oak door is fixed in place."),
    ("eat coin",
     "That's plainly inedible."),
    ("score",
     "You have so far scored 0 out of a possible 2, in 37 turns."),
    ("x refrigerators",
     "You can't see any such thing."),
    ("examine tablexyz",
     "You can't see any such thing."),
    ("say hello",
     "(to yourself)\nThere is no reply."),
    ("give coin to me",
     "You can't give the old coin to yourself."),
    ("north foo",
     "I only understood you as far as wanting to (go) north."),
    ("put coin in chest",
     "You put the old coin into the chest."),
    ("close chest",
     "You close the chest."),
    ("lock chest with key",
     "You need to take the brass key first."),
    ("take key",
     "You take the brass key from the table."),
    ("lock chest with key",
     "You lock the chest."),
    ("lock it with key",
     "That's locked at the moment."),
    ("open chest",
     "You have to unlock the chest with the brass key first."),
    ("take coin from chest",
     "You can't see any such thing."),
    ("unlock it",
     "(with the brass key)\nYou unlock the chest."),
    ("take two coins",
     "You can't see any such thing."),
    ("go",
     "You'll have to say which compass direction to go in."),
    ("get umbrella and the apple from table",
     "You can't see any such thing."),
    ("put all on table",
     "brass key: Done."),
    ("get all",
     "You have to be more specific!"),
    ("take apple",
     "You pick up the apple from the ground."),
    ("examine it",
     "That's a green apple!"),
    ("i",
     "You are carrying: an apple."),
    ("go north",
     "You can't go that way."),
    ("help",
     "Available commands:\n  look:                describe the current room\n  "
     "goal:                print the goal of this game\n  inventory:           "
     "print player's inventory\n  go <dir>:            move the player north, "
     "east, south or west\n  examine ...:         examine something more "
     "closely\n  eat ...:             eat edible food\n  open ...:            "
     "open a door or a container\n  close ...:           close a door or a "
     "container\n  drop ...:            drop an object on the floor\n  take "
     "...:            take an object that is on the floor\n  put ... on ...:      "
     "place an object on a supporter\n  take ... from ...:   take an object from "
     "a container or a supporter\n  insert ... into ...: place an object into a "
     "container\n  lock ... with ...:   lock a door or a container with a key\n  "
     "unlock ... with ...: unlock a door or a container with a key"),
    ("goal",
     "Find the\n\"exit\"."),
    ("eat the apple",
     "You eat the apple. Not bad.\n\nYour score has just gone up by two "
     "points.\n\n*** The End ***\n\nYou scored 2 out of a possible 2, in 57 turns."),
)  # fmt: skip


def test_the_introduction() -> None:
    """The game begins with the objective and the first room."""
    assert House().narrator.intro() == START


def test_every_answer() -> None:
    """The narrator says what the compiled game said."""
    house = House()
    for number, (command, answer) in enumerate(TRANSCRIPT):
        assert house(command) == answer, (number, command)
    assert house.narrator.turns > len(TRANSCRIPT) // 2


@pytest.mark.parametrize("cut", range(0, len(TRANSCRIPT), 7))
def test_a_snapshot_goes_on_as_before(cut: int) -> None:
    """Everything that answers depend on is in a snapshot: order, questions, ``it`` and turns."""
    house, other_house = House(), House()
    for command, _ in TRANSCRIPT[:cut]:
        house(command)
    other_house.narrator.restore(pickle.loads(pickle.dumps(house.narrator.snapshot())))
    for command, answer in TRANSCRIPT[cut:]:
        assert other_house(command) == answer


def test_asides_take_no_turn() -> None:
    """Room and inventory can be told at any time."""
    house = House()
    snapshot = house.narrator.snapshot()
    assert house.narrator.description() == house.narrator.intro().split("\n\n", 1)[1]
    assert house.narrator.inventory() == "You are carrying: a brass key."
    assert house.narrator.snapshot() == snapshot


def test_parser_answers_take_no_turn() -> None:
    """What the parser says is no turn; what the world says is one."""
    house = House()
    for line in ("foo", "x foo", "take", "score", "", "save", "quit"):
        house(line)
    assert house.narrator.turns == 1
    house("go up")
    assert house.narrator.turns == 2


@pytest.mark.parametrize("line", ["save", "quit", "restart", "undo", "tw-print version", "verbose"])
def test_the_interpreter_is_out_of_reach(line: str) -> None:
    """An episode cannot be saved, ended or reset by a command."""
    assert House()(line) == "That's not a verb I recognise."


def test_what_the_rules_refuse_is_not_told() -> None:
    """A change that the game's own rules do not allow is not narrated as if it had happened."""
    house = House()
    house.do = lambda command: None  # type: ignore[method-assign]
    facts_before = house.narrator.view.facts
    assert house("take apple") == "You can't do that now."
    assert house("x apple") == "That's a green apple!"
    assert house.narrator.view.facts == facts_before


def test_time_can_end_a_game() -> None:
    """A turn in which nothing is done asks the rules as well."""
    house = House()
    house.do = lambda command: StateAfter(house.narrator.view.facts, 0, False, True)  # type: ignore[method-assign]
    assert house("wait") == (
        "Time passes.\n\n*** You lost! ***\n\nYou scored 0 out of a possible 2, in 1 turn."
    )
