"""Products and goals as the original derives them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.webshop.engine.goals import (
    ShopGoal,
    human_goals,
    official_goals,
    price_bound,
    solvable_goals,
    synthetic_goals,
)
from agentgym.envs.webshop.engine.nouns import NounTable, builtin, freeze, nouns_of
from agentgym.envs.webshop.engine.products import (
    Instruction,
    Product,
    parse_prices,
    parse_product,
    usable,
)
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.errors import ConfigurationError, DataError
from tests.envs.webshop.conftest import INSTRUCTIONS, ITEMS, make_item


def product(number: int = 0, **changes: Any) -> Product:
    return parse_product(make_item(number, **changes), Instruction(("soft",)), ("shoe",))


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [(None, (100.0,)), ("", (100.0,)), ("$1,234.50", (1234.5,)), ("$12.9$20", (12.9, 20.0)),
     ("$1$2$3", (1.0, 2.0))],
)  # fmt: skip
def test_prices(pricing: str | None, expected: tuple[float, ...]) -> None:
    assert parse_prices(pricing) == expected


def test_derived_fields() -> None:
    item = product()
    assert dict(item.options) == {"color": ("navy", "olive | tan"), "size": ("small", "large")}
    assert item.price_tag == "$10.5" and item.price == 10.5
    assert item.clickables[:6] == ("back to search", "< prev", "description", "features",
                                   "reviews", "buy now")  # fmt: skip
    assert item.clickables[6:] == ("navy", "olive | tan", "small", "large")
    assert item.document().endswith("color: navy, olive | tan, and size: small, large")


def test_a_range_hides_its_price_and_never_changes() -> None:
    item = product(pricing="$20$40")
    assert item.price_tag == "$20.0 to $40.0" and 20 <= item.price < 40
    assert item.price == product(pricing="$20$40").price != product(1, pricing="$20$40").price


def test_a_value_in_two_groups_sets_the_last() -> None:
    options = {"A": [{"value": "x"}], "B": [{"value": "x"}, {"value": "y"}]}
    item = product(customization_options=options)
    assert item.group_of == {"x": "b", "y": "b"} and item.clickables[6:] == ("x", "y")


def test_duplicates_and_misfits_are_dropped() -> None:
    assert [item["asin"] for _, item in usable(ITEMS)] == [f"B0{i:08d}" for i in range(24)]


def test_broken_items_are_named() -> None:
    with pytest.raises(DataError, match="'asin'"):
        list(usable([{"name": "x"}]))
    with pytest.raises(DataError, match="'full_description' of item 7"):
        parse_product({"asin": "B1", "name": "x"}, Instruction(), (), source_name="item 7")


def test_records_round_trip(shop: Shop) -> None:
    item = product(pricing="$20$40")
    loaded = Product.from_record(json.loads(json.dumps(item.to_record())))
    assert vars(loaded) == {k: v for k, v in vars(item).items() if k in vars(loaded)}


def test_synthetic_goals_cross_all_options(shop: Shop) -> None:
    products = list(shop.products.values())
    parsed = {asin: Instruction.parse(entry) for asin, entry in INSTRUCTIONS.items()}
    goals = synthetic_goals(products, parsed)
    assert len(goals) == 19 * 4 + 1  # product 5 has no options
    assert goals[1].instruction_text.startswith(
        "Find me breathable running shoes with color: navy, and size: large, and price lower than "
    )
    assert goals[0].price_upper in (30.0, 40.0, 50.0) and goals[0].weight == 1 / len(goals)
    ordered = official_goals(INSTRUCTIONS, None)(products)
    assert ordered != goals and sorted(map(repr, ordered)) == sorted(map(repr, goals))


def test_human_goals(shop: Shop) -> None:
    entries = [
        {"instruction": text, "instruction_attributes": attributes, "instruction_options": ["x"]}
        for text, attributes in (("a lamp.", ["soft"]), ("skipped", []))
    ]
    goals = human_goals(list(shop.products.values()), {"B000000001": entries})
    assert len(goals) == 1 and goals[0].goal_options == ("x",)
    assert goals[0].instruction_text.startswith("a lamp, and price lower than ")


def test_solvable_goals_are_few_distinct_solvable_and_stable(shop: Shop) -> None:
    item = shop.products["B000000002"]
    entry = Instruction.parse(INSTRUCTIONS[item.asin])

    def make(limit: int) -> list[ShopGoal]:
        return list(solvable_goals(item, entry, seed=1, limit=limit, solvable=shop.solvable))

    assert make(3) == make(3) and len({goal.instruction_text for goal in make(3)}) == 3
    # "olive | tan" turns into "olive" for the official reward, as both sides do: all are solvable
    assert len(make(99)) == 4
    assert all(shop.solvable(item, goal) for goal in make(99))
    assert not list(solvable_goals(item, Instruction(), seed=1, limit=3, solvable=shop.solvable))


@given(st.floats(0, 2000), st.integers(0, 50))
def test_bounds_are_above_the_price(price: float, key: int) -> None:
    bound = price_bound(price, key)
    assert bound == price_bound(price, key)
    assert (bound is None) == (price >= 980)
    assert bound is None or (price < bound <= price + 40.0 + 1e-9 and bound % 10 == 0)


def test_goals_survive_json(shop: Shop) -> None:
    for goal in shop.goals[:5]:
        assert ShopGoal.from_content(json.loads(json.dumps(goal.to_content()))) == goal


def test_nouns() -> None:
    assert builtin("The Soft Navy Running Shoes, 2 Pack for Men's Feet") == (
        "running", "shoes", "pack", "men's", "feet",
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match="builtin"):
        nouns_of("other")


@pytest.mark.parametrize("bad", [{}, {"A": "word"}, {"A": [1]}, {1: ["word"]}, ["A"], 3, "other"])
def test_bad_nouns_are_refused(bad: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected nouns"):
        freeze(bad)


def test_tables_of_nouns_are_equal_by_content() -> None:
    table = NounTable.of({"A": ["x"], "B": []})
    assert table == freeze({"nouns": {"B": (), "A": ("x",)}, "note": "any"})
    assert hash(table) == hash(freeze({"B": [], "A": ["x"]})) and table != freeze({"A": ["x"]})
    assert table({"asin": "B", "name": "Lamp"}) == ()
    assert table({"asin": "C", "name": "Lamp"}) == ("lamp",)
