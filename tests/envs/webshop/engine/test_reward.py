"""The reward: formula, quirks, and the strict variant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.reward import fuzzy, match, plain_colour, score
from agentgym.envs.webshop.engine.shop import Shop


@pytest.fixture
def goal(shop: Shop) -> ShopGoal:
    return next(
        goal for goal in shop.goals
        if goal.asin == "B000000002" and goal.goal_options == {"color": "navy", "size": "small"}
    )  # fmt: skip


def test_the_target_as_asked_scores_one(shop: Shop, goal: ShopGoal) -> None:
    item = shop.products[goal.asin]
    details = shop.reward(item, goal, {"color": "navy", "size": "small"})
    assert details.reward == 1.0 and details.as_dict()["w_option"] == 0.5


def test_parts_add_up(shop: Shop, goal: ShopGoal) -> None:
    item = shop.products[goal.asin]
    assert shop.reward(item, goal, {}).reward == 2 / 4
    assert shop.reward(item, goal, {"size": "small"}).reward == 3 / 4
    assert shop.reward(item, replace(goal, price_upper=1.0), {}).reward == 1 / 4
    without = replace(goal, goal_options={})
    assert shop.reward(item, without, {}).as_dict()["r_option"] is None


def test_the_kind_of_product_is_a_factor(shop: Shop, goal: ShopGoal) -> None:
    lamp, shoe = shop.products["B000000001"], shop.products[goal.asin]
    parts = match(lamp, goal, shoe.nouns)
    assert parts.category_match and not parts.query_match
    assert parts.r_type == 1.0  # both share the levels Home and Things, and the noun "model"
    other_goal = replace(goal, product_category="Else", query="else")
    assert match(lamp, other_goal, ("model", "a", "b")).r_type == 1.0
    assert match(lamp, other_goal, ("model", *"abcdef")).r_type == 0.5
    assert match(lamp, other_goal, ("model", *"abcdefghijk")).r_type == 0.1
    assert match(lamp, goal, ("zebra",)).r_type == 0.0  # overrides the category match
    assert match(lamp, other_goal, ()).title_score == 0.2


def test_colour_words_replace_values_but_not_pairs() -> None:
    assert plain_colour("rectangular") == "tan"
    assert plain_colour("dark navy") == "dark"
    assert plain_colour(("shape", "rectangular")) == ("shape", "rectangular")
    assert plain_colour(("color", "navy")) == "navy"
    assert plain_colour("plain") == "plain"


def test_official_and_strict_options_differ(shop: Shop, goal: ShopGoal) -> None:
    item = shop.products[goal.asin]
    parts = shop.match(item, goal)
    swapped = {"size": "navy", "color": "small"}
    assert score(parts, item, goal, swapped, "official").reward == 1.0
    assert score(parts, item, goal, swapped, "strict").reward == 0.5
    human = replace(goal, goal_options=("Navy",))
    assert score(parts, item, human, {"color": "navy"}, "strict").options == (True,)
    assert score(parts, item, human, {"color": "dark navy"}, "strict").options == (False,)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("long lasting", "lasting long", True), ("", "x", False), ("red", "blue", False),
     ("('size', 'x')", "x", True), ("caf\u00e9", "caf", True), ("a_b", "a b", False),
     ("wood lightweight fit", "wood ligptwlight fia", False),  # 85, and more is needed
     ("wood lightweight fit", "wood ligptweight fit", True)],
)  # fmt: skip
def test_fuzzy(left: str, right: str, expected: bool) -> None:
    assert fuzzy(left, right) is expected
