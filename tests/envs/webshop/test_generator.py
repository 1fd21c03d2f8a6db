"""The generator: fixed bytes, independence of size, solvable goals, no wrong full scores."""

from __future__ import annotations

import hashlib
import itertools
import json
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401  (registers the id)
from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Instruction, Product, parse_product
from agentgym.envs.webshop.engine.reward import REWARDS, fuzzy, match, plain_colour, score
from agentgym.envs.webshop.experts.base import choose
from agentgym.envs.webshop.generator import DIFFICULTIES, GeneratedShop, generate
from agentgym.envs.webshop.generator.asins import ALPHABET, AsinCodec
from agentgym.envs.webshop.generator.vocabulary import VOCABULARIES, OptionGroup, ProductType
from agentgym.envs.webshop.generator.writer import META, write
from agentgym.envs.webshop.official.schema import NAMES
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream

GOLDEN = {
    "easy": "b1270e7f81e369c63fb5f22b88fd480a67db4c9d5a8d599d16d2af1549106402",
    "medium": "b6297a4afe68e14b80b5f9afbe05ba06600366dd25d2c4e0fe9f7b431e2cd5a5",
    "hard": "7a4ee0e4ab081cb5a13122214323a92be159a7128e984c58d6981d53cdecad31",
}
FIELDS = {
    "asin", "name", "full_description", "small_description", "pricing", "images",
    "product_category", "category", "query", "customization_options", "average_rating", "page",
}  # fmt: skip

_DIGEST = """
import hashlib, json, sys
from agentgym.envs.webshop.generator import generate
shop = generate(200, sys.argv[1], 7)
digest = hashlib.sha256()
for index, item in enumerate(shop.items):
    goals = [[g.instruction_text, g.attributes, list(g.goal_options.items()), g.price_upper]
             for g in (shop.goal(index, k) for k in range(4))]
    digest.update(json.dumps([item, shop.instructions[item["asin"]], goals]).encode())
print(digest.hexdigest())
"""


def goals_of(shop: GeneratedShop, index: int, count: int) -> list[ShopGoal]:
    return [shop.goal(index, k) for k in range(count)]


def options(goal: ShopGoal) -> list[tuple[str, str]]:
    assert isinstance(goal.goal_options, dict)
    return list(goal.goal_options.items())


def digest(difficulty: str) -> str:
    shop = generate(200, difficulty, 7)
    result = hashlib.sha256()
    for index, item in enumerate(shop.items):
        goals = [
            [goal.instruction_text, goal.attributes, options(goal), goal.price_upper]
            for goal in goals_of(shop, index, 4)
        ]
        result.update(json.dumps([item, shop.instructions[item["asin"]], goals]).encode())
    return result.hexdigest()


def product(shop: GeneratedShop, index: int) -> Product:
    item = shop.items[index]
    return parse_product(
        item, Instruction.parse(shop.instructions[item["asin"]]), shop.nouns(index)
    )


def product_types(vocabulary: str) -> Iterator[ProductType]:
    for department in VOCABULARIES[vocabulary].departments:
        yield from department.types


@pytest.fixture(scope="module", params=list(DIFFICULTIES))
def shop(request: pytest.FixtureRequest) -> GeneratedShop:
    return generate(600, request.param, 3)


@pytest.mark.parametrize("difficulty", list(DIFFICULTIES))
def test_bytes_are_the_golden_ones(difficulty: str) -> None:
    assert digest(difficulty) == GOLDEN[difficulty], (
        "the generated text changed: raise GENERATOR_VERSION in drafts.py, then this hash"
    )


def test_bytes_do_not_depend_on_the_process() -> None:
    run = [sys.executable, "-c", _DIGEST, "medium"]
    out = subprocess.run(run, capture_output=True, text=True, check=True, env={
        "PYTHONHASHSEED": "123", "PYTHONPATH": ":".join(sys.path),
    })  # fmt: skip
    assert out.stdout.strip() == GOLDEN["medium"]


def test_schema_is_the_official_one(shop: GeneratedShop) -> None:
    for item in shop.items[:60]:
        assert set(item) == FIELDS
        assert re.fullmatch(r"B0[0-9A-HJKMNP-TV-Z]{8}", item["asin"])
        assert re.fullmatch(r"\$\d+(\.\d\d?)?", item["pricing"])
        assert item["product_category"].count("\u203a") == 2
        assert item["category"] in {"beauty", "electronics", "fashion", "garden", "grocery"}
        json.dumps(item)
    assert set(shop.instructions) == {item["asin"] for item in shop.items}


def test_products_do_not_depend_on_size(shop: GeneratedShop) -> None:
    large = generate(5000, shop.config, 3)
    for index in (0, 1, 17, 599):
        assert large.items[index] == shop.items[index]
        assert large.goal(index, 2) == shop.goal(index, 2)


def test_order_of_access_does_not_matter(shop: GeneratedShop) -> None:
    other_shop = generate(600, shop.config, 3)
    backwards = [other_shop.items[index] for index in reversed(range(100))]
    assert backwards[::-1] == shop.items[:100]


def test_seeds_give_other_shops(shop: GeneratedShop) -> None:
    other_shop = generate(600, shop.config, 4)
    assert {item["asin"] for item in other_shop.items}.isdisjoint(shop.instructions)
    assert (
        sum(a["name"] == b["name"] for a, b in zip(other_shop.items, shop.items, strict=True)) < 60
    )


def test_pickles_as_parameters(shop: GeneratedShop) -> None:
    data = pickle.dumps(shop)
    assert len(data) < 2000
    assert pickle.loads(data).items[5] == shop.items[5]


def test_sequence_and_mapping_protocols(shop: GeneratedShop) -> None:
    assert shop.items[-1] == shop.items[599]
    with pytest.raises(IndexError):
        shop.items[600]
    assert len(shop.instructions) == 600
    assert "B000000000" not in shop.instructions
    assert shop.instructions.get(generate(700, shop.config, 3).asin(650)) is None
    assert "nonsense" not in shop.instructions


def test_clusters_share_type_and_visible_attributes(shop: GeneratedShop) -> None:
    for number in range(30):
        drafts = [shop.draft(index) for index in shop.members(number)]
        assert len({draft.type.name for draft in drafts}) == 1
        assert len({frozenset(draft.visible) for draft in drafts}) == 1
        keys = {(draft.hidden, draft.options, draft.cents) for draft in drafts}
        assert len(keys) == len(drafts)


def test_hidden_attributes_are_not_in_titles(shop: GeneratedShop) -> None:
    for index in range(200):
        item, draft = shop.items[index], shop.draft(index)
        text = " ".join([item["full_description"], *item["small_description"]]).lower()
        for attribute in draft.hidden:
            assert attribute.name not in item["name"].lower()
            assert attribute.name in text
        if draft.buried:
            indexed = product(shop, index).document()
            assert not any(attribute.name in indexed for attribute in draft.hidden)


def test_every_goal_is_solvable(shop: GeneratedShop) -> None:
    for index in range(0, 600, 2):
        item = product(shop, index)
        for goal in goals_of(shop, index, 4):
            parts = match(item, goal, item.nouns)
            selection = dict(choose(item, goal))
            assert selection == goal.goal_options
            for mode in REWARDS:
                assert score(parts, item, goal, selection, mode).reward == 1.0, goal
            assert goal.name == item.title


def test_instructions_name_what_is_asked(shop: GeneratedShop) -> None:
    for index in range(100):
        draft = shop.draft(index)
        phrases = {a.name: (a.name, *a.paraphrases) for a in draft.attributes}
        for goal in goals_of(shop, index, 3):
            text = goal.instruction_text
            assert f"${goal.price_upper:.0f}" in text or f"{goal.price_upper:.0f} d" in text
            for name in goal.attributes:
                assert any(words in text for words in phrases[name])
            for group, value in options(goal):
                assert group in text
                assert value in text
            for name, words in phrases.items():
                if name not in goal.attributes:
                    assert not re.search(rf"\b{re.escape(words[0])}\b", text)


def satisfies(shop: GeneratedShop, index: int, goal: ShopGoal, purchase: dict[str, str]) -> bool:
    """Tell from the facts alone whether a purchase is what the goal asks for."""
    draft = shop.draft(index)
    assert isinstance(goal.goal_options, dict)
    return (
        draft.type.name == goal.query
        and set(goal.attributes) <= {a.name for a in draft.attributes}
        and all(purchase.get(group) == value for group, value in goal.goal_options.items())
        and draft.cents <= 100 * goal.price_upper
    )


@pytest.mark.slow
def test_only_right_purchases_score_fully(shop: GeneratedShop) -> None:
    rng = random.Random(0)
    items = [product(shop, index) for index in range(len(shop.items))]
    full = 0
    for target in rng.sample(range(600), 20):
        goal = shop.goal(target, 1)
        for index, item in enumerate(items):
            purchase = {name: rng.choice(values) for name, values in item.options.items()}
            purchase |= choose(item, goal)
            parts = match(item, goal, items[target].nouns)
            reward = score(parts, item, goal, purchase).reward
            assert (reward == 1.0) == satisfies(shop, index, goal, purchase)
            full += reward == 1.0
    assert full >= 20


@pytest.mark.parametrize("vocabulary", list(VOCABULARIES))
def test_option_values_match_only_themselves(vocabulary: str) -> None:
    def matches(entry: str, group: OptionGroup, value: str) -> bool:
        return fuzzy(str(plain_colour(entry)), str(plain_colour((group.name, value))))

    for kind in product_types(vocabulary):
        entries = [(group, entry) for group in kind.groups for entry in group.values]
        for (group, value), (other_group, candidate) in itertools.product(entries, entries):
            is_same = group.name == other_group.name and value == candidate
            assert matches(candidate, group, value) == is_same, (group.name, value, candidate)


@pytest.mark.parametrize("vocabulary", list(VOCABULARIES))
def test_attributes_match_only_themselves(vocabulary: str) -> None:
    for department in VOCABULARIES[vocabulary].departments:
        names = {a.name for a in (*department.visible, *department.hidden)}
        for left, right in itertools.permutations(names, 2):
            assert not fuzzy(left, right)
            assert left not in right


def test_types_share_no_noun_and_one_level_at_most() -> None:
    for vocabulary in VOCABULARIES:
        kinds = list(product_types(vocabulary))
        for left, right in itertools.combinations(kinds, 2):
            assert not set(left.name.split()) & set(right.name.split())
            assert left.aisle != right.aisle


def test_easy_has_a_small_closed_vocabulary() -> None:
    easy = generate(2000, "easy", 0)
    texts = [goal.instruction_text for i in range(0, 2000, 5) for goal in goals_of(easy, i, 4)]
    for item in easy.items[:1000]:
        texts += [item["name"], item["full_description"], *item["small_description"]]
        for name, values in item["customization_options"].items():
            texts += [name, *(entry["value"] for entry in values)]
    words = set(re.findall(r"[a-z]+", " ".join(texts)))
    prices = {draft.cents for draft in map(easy.draft, range(2000))}
    assert len(words) < 160
    assert all(cents % 500 == 0 and 500 <= cents <= 9500 for cents in prices)


def test_asins_are_a_bijection() -> None:
    codec = AsinCodec("key")
    numbers = [*range(3000), (1 << 40) - 1]
    asins = [codec.encode(number) for number in numbers]
    assert len(set(asins)) == len(numbers)
    assert [codec.decode(asin) for asin in asins] == numbers
    assert set("".join(asins)) <= set(ALPHABET + "B")
    for bad_input in ("", "B0", "X012345678", "B0ILOU0000", "B0123456789"):
        assert codec.decode(bad_input) == -1


def test_stream_draws_are_fixed_and_even() -> None:
    assert [Stream("a", 1).below(1000) for _ in range(3)] == [Stream("a", 1).below(1000)] * 3
    stream = Stream("even")
    counts = [0] * 7
    for _ in range(7000):
        counts[stream.below(7)] += 1
    assert min(counts) > 850
    assert sorted(stream.sample(range(10), 10)) == list(range(10))
    assert {stream.between(-1, 1) for _ in range(100)} == {-1, 0, 1}


@pytest.mark.parametrize("size", [0, 19, 100_001, 10**7, True, "1000", 50.0])
def test_bad_sizes_are_refused(size: object) -> None:
    with pytest.raises(ConfigurationError, match="expected size"):
        generate(size)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="from 20 to 100,000"):
        gymnasium.make("agentgym/WebShop-v0", size=size)


def test_bad_difficulty_and_seed_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="easy, medium, hard"):
        generate(50, "brutal")
    with pytest.raises(ConfigurationError, match="expected seed"):
        generate(50, "easy", -1)


def test_written_files_are_the_official_three(tmp_path: Path) -> None:
    shop = generate(50, "medium", 1)
    meta = write(shop, tmp_path)
    items = json.loads((tmp_path / NAMES.items).read_text())
    assert items == list(shop.items)
    assert json.loads((tmp_path / NAMES.instructions).read_text()) == dict(shop.instructions)
    human = json.loads((tmp_path / NAMES.human).read_text())
    assert len(human) == 50
    assert all(len(goals) == 4 for goals in human.values())
    assert human[shop.asin(3)][2]["instruction"] == shop.goal(3, 2).instruction_text
    assert json.loads((tmp_path / META).read_text()) == meta
    for name, expected in meta["sha256"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == expected


VARIANTS = [
    {"visible": 1},
    {"visible": 3, "visible_asked": 50},
    {"own_hidden": 2, "hidden_asked": 100},
    {"buried": 0},
    {"cluster_size": 1},
    {"cluster_size": 12},
    {"price_decoys": 50, "option_decoys": 50},
    {"vocabulary": "full", "shared_hidden": 2, "noise": (0, 4), "price_step": 100},
]


@pytest.mark.parametrize("change", VARIANTS)
def test_variants_of_a_preset_are_sound(change: dict[str, Any]) -> None:
    shop = generate(60, replace(DIFFICULTIES["easy"], name="variant", **change), 0)
    assert shop.key == "variant-60-0"
    for index in range(60):
        item, goal = product(shop, index), shop.goal(index, 0)
        parts = match(item, goal, item.nouns)
        assert score(parts, item, goal, dict(choose(item, goal))).reward == 1.0
        assert all(name in goal.instruction_text for name in goal.attributes)


@pytest.mark.parametrize(
    "change",
    [
        {"vocabulary": "huge"}, {"buried": 101}, {"visible": 0}, {"own_hidden": 0},
        {"cluster_size": 13}, {"price_step": 0}, {"offered": (0, 3)}, {"offered": (4, 3)},
        {"noise": (0, 1)}, {"slack": ()}, {"slack": (-1,)},
    ],
)  # fmt: skip
def test_bad_variants_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(change))):
        replace(DIFFICULTIES["easy"], **change)
