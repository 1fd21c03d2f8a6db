"""What the cooking games add: food that shows what was done to it, tools, heat and the meal."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.envs.textworld.inform.narrator import Narrator, StateAfter
from agentgym.envs.textworld.inform.story import Story
from agentgym.envs.textworld.inform.world_view import WorldView

Facts = frozenset[tuple[str, ...]]
LOGIC = """
type RECIPE {
}
type t {
}
type o : t {
}
type f : o {
}
type meal : f {
}
type c : t {
}
type s : t {
}
type oven : c {
}
type stove : s {
}
type slot {
}
type ingredient : t {
}
type r {
}
"""
NAMES = {"r_0": "kitchen", "r_1": "garden", "f_0": "carrot", "f_1": "egg", "f_2": "water",
         "o_0": "knife", "oven_0": "oven", "stove_0": "stove", "meal_0": "meal"}  # fmt: skip
WORLD = (
    "at P r_0", "at f_2 r_0", "at oven_0 r_0", "at stove_0 r_0", "base f_0 ingredient_0",
    "chopped ingredient_0", "cookable f_0", "cookable f_1", "cooking_location r_0 RECIPE",
    "cuttable f_0", "drinkable f_2", "edible f_0", "free slot_2", "fried ingredient_0",
    "in f_0 I", "in f_1 I", "in ingredient_0 RECIPE", "in o_0 I", "inedible f_1", "inedible f_2",
    "needs_cooking f_1", "open oven_0", "out meal_0 RECIPE", "raw f_0", "sharp o_0", "uncut f_0",
    "used slot_0", "used slot_1", "west_of r_1 r_0", "east_of r_0 r_1",
)  # fmt: skip


def game() -> dict[str, Any]:
    """Return a kitchen as JSON."""
    facts = [fact.split() for fact in sorted(WORLD)]
    return {
        "KB": {"logic": LOGIC},
        "objective": "You are hungry!",
        "quests": [],
        "world": [{"name": name, "arguments": [{"name": a, "type": a.split("_")[0]} for a in terms]}
                  for name, *terms in facts],
        "infos": [[entity, {"name": name, "desc": "You see.", "synonyms": None, "definite": None,
                            "indefinite": "some" if name == "water" else None}]
                  for entity, name in NAMES.items()],
    }  # fmt: skip


@pytest.fixture
def cook() -> Narrator:
    """Someone in the kitchen."""
    return Narrator(Story.of(game()))


def changed(narrator: Narrator, *facts: str) -> Facts:
    """Return the facts with some more."""
    return narrator.view.facts | {tuple(fact.split()) for fact in facts}


def test_food_shows_what_was_done_to_it_where_it_is_described(cook: Narrator) -> None:
    """Lists and descriptions say "raw" and "chopped"; reports do not."""
    assert cook.inventory() == "You are carrying: a carrot, a raw egg and a knife."
    cook.view.follow(changed(cook, "chopped f_0", "roasted f_0", "fried f_1", "burned f_1"))
    assert cook.inventory() == (
        "You are carrying: a chopped roasted carrot, a raw egg and a knife."
    )
    cook.view.follow(cook.view.facts - {("needs_cooking", "f_1")})
    assert "a burned egg" in cook.inventory()
    assert cook.description().endswith("There is some water on the floor.")
    assert cook.play("drop carrot", lambda _: StateAfter(cook.view.facts, 0, False, False)) == (
        "You drop the carrot on the ground."
    )


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("eat egg", "You should cook the egg first."),
        ("eat water", "That's plainly inedible."),
        ("drink egg", "You cannot drink the egg."),
        ("drink water", "You need to take the water first."),
        ("take water", "You're carrying too many things already."),
        ("cut carrot", "You need to specify how you want to cut the carrot. Either slice, dice, "
         "or chop it."),
        ("dice knife with knife", "Can only cut cuttable food."),
        ("dice carrot with egg", "Cutting something requires a knife."),
        ("cook knife with oven", "Can only cook food."),
        ("cook egg with knife", "Cooking requires a source of heat."),
        ("prepare meal", "Something still needs to be cooked."),
    ],
)  # fmt: skip
def test_refusals(cook: Narrator, command: str, answer: str) -> None:
    """What cannot be done is said in the words of the game."""
    assert cook.play(command, lambda _: None) == answer


@pytest.mark.parametrize(
    ("command", "done", "new", "answer"),
    [
        ("chop raw carrot with knife", "chop carrot with knife", "chopped f_0",
         "You chop the carrot."),
        ("cook carrot in stove", "cook carrot with stove", "fried f_0", "You fried the carrot."),
        ("cook egg with oven", "cook egg with oven", "roasted f_1", "You roasted the egg."),
    ],
)  # fmt: skip
def test_reports(cook: Narrator, command: str, done: str, new: str, answer: str) -> None:
    """What was done is told, and was asked of the game in its own words."""
    lines = []

    def do(line: str) -> StateAfter:
        lines.append(line)
        return StateAfter(changed(cook, new), 0, False, False)

    assert cook.play(command, do) == answer
    assert lines == [done]


def test_cooking_twice_burns(cook: Narrator) -> None:
    """Food that is cooked already is burned; a loss is told with the turns before this one."""
    cook.view.follow(changed(cook, "cooked f_0"))
    state = StateAfter(changed(cook, "burned f_0"), 0, False, True)
    assert cook.play("cook carrot with oven", lambda _: state) == (
        "You burned the carrot!\n\n*** You lost! ***\n\n"
        "You scored 0 out of a possible 0, in 1 turn."
    )


def test_the_meal(cook: Narrator) -> None:
    """The recipe is read off the facts; the meal is what ``it`` means from then on."""
    cook.view.follow(changed(cook, "chopped f_0", "fried f_0"))
    ready = StateAfter(
        cook.view.facts - {("in", "f_0", "I")} | {("in", "meal_0", "I")}, 0, False, False
    )
    assert cook.play("prepare meal", lambda _: ready) == "Adding the meal to your inventory."
    assert cook.parser.antecedent == "meal_0"
    assert WorldView(cook.story).contents("I") == ["f_0", "f_1", "o_0"]


def test_the_meal_is_prepared_in_the_kitchen(cook: Narrator) -> None:
    """Elsewhere the game names the room as its status line does."""
    cook.view.follow(changed(cook, "at P r_1") - {("at", "P", "r_0")})
    assert cook.play("prepare meal", lambda _: None) == (
        "Can only prepare meal in the -= Kitchen =-."
    )
