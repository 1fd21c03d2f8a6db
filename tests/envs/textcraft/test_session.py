"""The rules: what commands do, and how hostile ones are answered."""

from __future__ import annotations

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.core.env import TextEnv
from agentgym.envs.textcraft.engine.recipes import Amount, CraftWorld, Recipe, RecipeBook
from agentgym.envs.textcraft.engine.session import MOST, CraftSession

ROD, PLATE, BELL = "tin rod", "oak plate", "wax bell"
PLATE_OF_RODS = Recipe(Amount(PLATE, 2), (Amount(ROD, 3), Amount("moss lamp", 1)))
BELL_OF_PLATES = Recipe(Amount(BELL, 1), (Amount(PLATE, 1), Amount("wood", 2)))
WORLD = CraftWorld(
    RecipeBook([PLATE_OF_RODS, BELL_OF_PLATES], {"wood": ("oak log", PLATE)}),
    BELL,
    (BELL_OF_PLATES, PLATE_OF_RODS),
)
MADE_OF = "3 tin rod, 1 moss lamp"


def play(*commands: str) -> list[str]:
    session = CraftSession(WORLD)
    return [session.step(command).text for command in commands]


def test_what_commands_say() -> None:
    assert WORLD.opening() == (
        "Crafting commands:\ncraft 1 wax bell using 1 oak plate, 2 wood\n"
        "craft 2 oak plate using 3 tin rod, 1 moss lamp\n\nGoal: craft wax bell."
    )
    assert play(
        "inventory",
        "get 3 tin rod",
        "  get 1  moss lamp ",
        "inventory",
        "craft 2 oak plate using 1 moss lamp, 3 tin rod",
        "craft oak plate using 3 tin rod, 1 moss lamp",
        "get 1 oak plate",
        "get 1 moon",
        "craft 1 wax bell using 2 oak plate",
        "craft 1 wax bell using oak plate",
        "look",
    ) == [
        "Inventory: You are not carrying anything.",
        "Got 3 tin rod",
        "Got 1 moss lamp",
        "Inventory: [tin rod] (3) [moss lamp] (1)",
        "Crafted 2 oak plate",
        "Could not find enough items to craft oak plate",
        "Could not find oak plate",
        "Could not find moon",
        "Could not find a valid recipe for wax bell",
        "Wrong item format: oak plate",
        "Could not execute look",
    ]


def test_recipes_can_be_asked_for_where_there_is_such_an_action() -> None:
    session = CraftSession(WORLD, look_up=True)
    recipe = session.step("recipe  oak plate")
    assert (recipe.text, recipe.valid) == (str(PLATE_OF_RODS), True)
    assert {"recipe oak plate", "recipe wax bell"} <= {*session.admissible()}
    for name in ("tin rod", "moon"):
        answer = session.step(f"recipe {name}")
        assert (answer.text, answer.valid) == (f"Could not find a recipe for {name}", False)
    assert play("recipe oak plate") == ["Could not execute recipe oak plate"]
    assert not any(action.startswith("recipe") for action in CraftSession(WORLD).admissible())


def test_a_tag_takes_any_of_its_items() -> None:
    book = RecipeBook([PLATE_OF_RODS, BELL_OF_PLATES], {"wood": ("moss lamp", PLATE)})
    session = CraftSession(CraftWorld(book, BELL, (BELL_OF_PLATES, PLATE_OF_RODS)))
    for command in ("get 3 tin rod", "get 3 moss lamp", str(PLATE_OF_RODS)):
        assert session.step(command).valid
    offered = session.admissible()
    assert "craft 1 wax bell using 1 oak plate, 2 moss lamp" in offered
    assert "get 2 moss lamp" in offered and "get 2 oak plate" not in offered
    won = session.step("craft 1 wax bell using 2 moss lamp, 1 oak plate")
    assert (won.text, won.won) == ("Crafted 1 wax bell", True)
    assert session.inventory == {PLATE: 1, BELL: 1}


@pytest.mark.parametrize(
    "command",
    [
        "craft 999999999999 wax bell using 1 oak plate, 2 wood",
        "get 999999999999 tin rod",
        f"get {MOST + 1} tin rod",
        f"get {'9' * 4000} tin rod",
        "get -1 tin rod",
        "get 0 tin rod",
        "get ٣ tin rod",
        "get 1e3 tin rod",
        "get 3 tin rod, 1 moss lamp",
        "get 1 wood",
        "craft 1 wax bell using " + "1 oak plate, " * 300,
        "craft 1 wax bell using -1 oak plate, 2 wood",
        "craft 1 wax bell using ٣ oak plate",
        "craft using using using",
        "get 1 tin rod\x00",
        "inventory" * 400,
    ],
)
def test_hostile_commands_are_answered_in_a_line_and_change_nothing(command: str) -> None:
    session = CraftSession(WORLD)
    session.step("get 1 tin rod")
    snapshot = session.snapshot()
    answer = session.step(command)
    assert not answer.valid and not answer.won and len(answer.text) < 300
    assert session.snapshot() == snapshot


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("craft get using 12, tin rod oak plate-٣\n"), max_size=60))
def test_what_is_carried_is_never_negative_and_never_unknown(command: str) -> None:
    session = CraftSession(WORLD)
    session.step("get 5 tin rod")
    session.step(command)
    assert all(0 < count <= 2 * MOST for count in session.inventory.values())
    assert set(session.inventory) <= {ROD, PLATE, BELL, "moss lamp", "oak log"}


def test_dense_rewards_are_the_plan_in_instalments_whatever_the_way() -> None:
    env = gymnasium.make("agentgym/TextCraft-v0", reward="dense", horizon=99).unwrapped
    assert isinstance(env, TextEnv)
    _, info = env.reset(options={"split": "test", "index": 1})
    turns = info["oracle_turns"]
    paid = [env.step(str(env.demonstrator_action()))[1], env.step("inventory")[1]]
    assert paid == [pytest.approx(1 / turns), 0.0]
    for place in range(12):
        offered = sorted(env.step("no such action")[4]["admissible_actions"])
        paid.append(env.step(offered[place % len(offered)])[1])
    info = {"stop_reason": ""}
    while not info["stop_reason"]:
        _, reward, _, _, info = env.step(str(env.demonstrator_action()))
        paid.append(reward)
    assert sum(paid) == pytest.approx(1.0) and info["success"]


def test_an_item_counts_once_also_where_a_recipe_can_use_it_twice() -> None:
    session = CraftSession(WORLD)
    for command in ("get 3 tin rod", "get 1 moss lamp", f"craft 2 {PLATE} using {MADE_OF}"):
        assert session.step(command).valid
    twice = "craft 1 wax bell using 2 oak plate, 1 oak plate"
    assert twice not in session.admissible() and not session.step(twice).valid
    assert session.inventory == {PLATE: 2}
    for command in ("get 3 tin rod", "get 1 moss lamp", f"craft 2 {PLATE} using {MADE_OF}"):
        session.step(command)
    (bell,) = (command for command in session.admissible() if "wax bell" in command)
    assert bell == "craft 1 wax bell using 1 oak plate, 2 oak plate"
    assert session.step(twice).won and session.inventory == {PLATE: 1, BELL: 1}
