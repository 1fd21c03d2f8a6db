"""GeneratorConfig: named ones, parameters with their ranges, canonical names that read back."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.generator.config import CHALLENGES, DEFAULT, NAMED, GeneratorConfig
from agentgym.errors import ConfigurationError


@st.composite
def any_settings(draw: st.DrawFn) -> GeneratorConfig:
    """A valid setting of any challenge."""
    kind = CHALLENGES[draw(st.sampled_from(sorted(CHALLENGES)))]
    values: dict[str, Any] = {}
    for parameter in fields(kind):
        rules = parameter.metadata
        if "choices" in rules:
            values[parameter.name] = draw(st.sampled_from(rules["choices"]))
        elif isinstance(parameter.default, bool):
            values[parameter.name] = draw(st.booleans())
        else:
            values[parameter.name] = draw(st.integers(rules["low"], rules["high"]))
    for name in ("length", "breadth", "depth"):
        low, high = f"quest_min_{name}", f"quest_max_{name}"
        if low in values:
            values[low], values[high] = sorted((values[low], values[high]))
    if "take" in values:
        values["take"] = min(values["take"], values["recipe"])
    if kind.challenge == "coin_collector":
        level = values["level"]
        values["level"] = level if (level - 1) % 100 < 33 or level <= 100 else level % 33 + 1
    return kind(**values)


@given(any_settings())
def test_every_setting_reads_back_from_its_key(setting: GeneratorConfig) -> None:
    key = setting.key()
    assert GeneratorConfig.of(key) == setting
    assert GeneratorConfig.of(key).key() == key
    assert GeneratorConfig.of(setting) is setting
    assert "/" not in key
    assert " " not in key
    assert setting.horizon >= 8
    assert 1 <= setting.rooms <= 100
    assert setting.turns >= 1
    assert pickle.loads(pickle.dumps(setting)) == setting


@given(any_settings(), any_settings())
def test_keys_are_equal_for_equal_settings_only(
    first: GeneratorConfig, other: GeneratorConfig
) -> None:
    assert (first.key() == other.key()) == (first == other)


def test_the_guides_settings() -> None:
    assert GeneratorConfig.of().key() == DEFAULT == "w2-o12-q4,quest_end=place"
    assert GeneratorConfig.of() == GeneratorConfig.of("w2-o12-q4", quest_end="place")
    assert GeneratorConfig.of().horizon == 12
    small = GeneratorConfig.of("w2-o3-q4")
    assert (small.rooms, small.turns, small.horizon) == (2, 4, 12)
    assert GeneratorConfig.of("w4-o6-q8").horizon == 24
    assert GeneratorConfig.of("w8-o12-q16").rooms == 8
    assert GeneratorConfig.of("simple").horizon == 24
    for name, setting in NAMED.items():
        assert GeneratorConfig.of(name) == setting


def test_sizes_and_short_parameters_are_what_tw_make_has() -> None:
    by_name = GeneratorConfig.of("w3-o5-q6")
    assert GeneratorConfig.of("custom", world_size=3, nb_objects=5, quest_length=6) == by_name
    assert by_name.quest_min_length == by_name.quest_max_length == by_name.quest_max_depth == 6
    assert (by_name.quest_min_breadth, by_name.quest_max_breadth) == (1, 5)
    broad = GeneratorConfig.of("w3-o5-q6", quest_breadth=2, quest_depth=3)
    assert (broad.quest_min_breadth, broad.quest_max_breadth) == (2, 2)
    assert (broad.quest_min_depth, broad.quest_max_depth) == (3, 3)
    assert GeneratorConfig.of("custom", quest_length=6, quest_depth=3).quest_max_depth == 3
    assert GeneratorConfig.of("custom", quest_depth=3, quest_length=6).quest_max_depth == 3
    assert GeneratorConfig.of("custom", quest_length=6, quest_max_depth=2).quest_max_depth == 2


@pytest.mark.parametrize(
    ("level", "rooms", "turns"),
    [(1, 1, 1), (5, 5, 5), (100, 100, 100), (101, 2, 1), (150, 100, 50), (205, 15, 5)],
)
def test_coin_collector_levels(level: int, rooms: int, turns: int) -> None:
    setting = GeneratorConfig.of("coin_collector", level=level)
    assert (setting.rooms, setting.turns) == (rooms, turns)


@pytest.mark.parametrize("level", [151, 200, 234, 300])
def test_mazes_that_textworld_refuses_are_refused(level: int) -> None:
    with pytest.raises(ConfigurationError, match=r"at most 100 rooms.*1-100, 101-150 or 201-233"):
        GeneratorConfig.of("coin_collector", level=level)


@pytest.mark.parametrize(
    ("level", "rooms", "turns"),
    [(1, 5, 1), (10, 5, 5), (11, 10, 2), (15, 10, 6), (20, 10, 10), (21, 20, 3), (30, 20, 20)],
)
def test_treasure_hunter_levels(level: int, rooms: int, turns: int) -> None:
    setting = GeneratorConfig.of("treasure_hunter", level=level)
    assert (setting.rooms, setting.turns) == (rooms, turns)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("w2-o3", {}, "a size such as w3-o5-q6.*did you mean 'w2-o3-q4'"),
        ("cookin", {}, "did you mean 'cooking'"),
        ("", {}, "expected a TextWorld difficulty"),
        ("w0-o3-q4", {}, "world_size.*from 1 to 100"),
        ("w2-o3-q4,", {}, "expected parameters"),
        ("w2-o3-q4,theme", {}, "expected parameters"),
        ("w2-o3-q4,quest_end=take", {}, "quest_end.*'any', 'place'.*'take'"),
        ("w2-o3-q4,theme=attic", {}, "theme.*'house', 'basic'.*'attic'"),
        ("w2-o3-q4,world_size=x", {}, "world_size.*whole number"),
        ("simple,held_out_foods=1", {}, "True or False"),
        ("custom", {"quest_lenght": 3}, "did you mean 'quest_length'"),
        ("custom", {"world_size": 101}, "from 1 to 100; got 101"),
        ("custom", {"world_size": 2.0}, "whole number"),
        ("custom", {"world_size": True}, "whole number"),
        ("custom", {"include_adj": 1}, "True or False"),
        ("custom", {"quest_min_length": 9}, "quest_min_length <= quest_max_length, got 9 and 4"),
        ("custom", {"quest_length": 5, "quest_min_length": 2}, "either quest_length or quest_min"),
        ("custom", {"level": 3}, "parameter of coin_collector and treasure_hunter"),
        ("custom", {"ambiguous_instructions": True}, "not tested"),
        ("coin_collector", {"level": 0}, "from 1 to 300"),
        ("treasure_hunter", {"level": 31}, "from 1 to 30"),
        ("simple", {"rewards": "few"}, "'dense', 'balanced', 'sparse'"),
        ("simple", {"goal": None}, "'detailed', 'brief', 'none'"),
        ("simple", {"test": True}, "held_out_foods"),
        ("simple", {"quest_length": 3}, "expected parameters of challenge 'simple'"),
        ("cooking", {"go": 7}, "one of 1, 6, 9, 12; got 7"),
        ("cooking", {"go": True}, "one of 1, 6, 9, 12"),
        ("cooking", {"recipe": 6}, "from 1 to 5"),
        ("cooking", {"take": 2}, "take <= recipe"),
        ("cooking", {"recipe_seed": 2}, "recipes follow the seed"),
    ],
)
def test_mistakes_are_named(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        GeneratorConfig.of(name, **parameters)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        setting = GeneratorConfig.of(text)
    except ConfigurationError:
        return
    assert GeneratorConfig.of(setting.key()) == setting


def test_settings_are_frozen_and_hashable() -> None:
    assert (
        len(
            {
                GeneratorConfig.of("simple"),
                GeneratorConfig.of("simple"),
                GeneratorConfig.of("cooking"),
            }
        )
        == 2
    )
    with pytest.raises(FrozenInstanceError):
        GeneratorConfig.of("simple").rewards = "sparse"  # type: ignore[misc]


def test_choosing_a_setting_imports_no_engine() -> None:
    code = (
        "import sys; from agentgym.envs.textworld.tasks import GameTasks;"
        "tasks = GameTasks(); tasks.problem(tasks.task('train', 0));"
        "print([m for m in ('textworld', 'jericho', 'networkx') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
