from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from trainers.cli import parse_config
from trainers.config.ranges import Range, ranges_of
from trainers.config.schema import TrainConfig, override, parse_env_args, to_dict, validate

DEFAULT = TrainConfig(env="webshop")


def nested(flag: str, value: float) -> dict:
    """``--rl.group-size`` and 3 as ``{"rl": {"group_size": 3}}``."""
    *parents, name = flag.removeprefix("--").replace("-", "_").split(".")
    values: dict = {name: value}
    for parent in reversed(parents):
        values = {parent: values}
    return values


def numbers(part: Any = DEFAULT, prefix: str = "--") -> dict[str, str]:
    """Type of every setting that is a number, by flag."""
    found: dict[str, str] = {}
    for item in dataclasses.fields(part):
        flag, value = prefix + item.name.replace("_", "-"), getattr(part, item.name)
        if dataclasses.is_dataclass(value):
            found |= numbers(value, f"{flag}.")
        elif re.search("int|float|Count|Whole|Positive|NotNegative|Share", str(item.type)):
            found[flag] = str(item.type)
    return found


RANGES: dict[str, Range] = ranges_of(DEFAULT)


def outside(allowed: Range) -> Iterator[float]:
    """Numbers that a range does not hold."""
    yield allowed.least if allowed.open else allowed.least - 1
    yield float("nan")
    yield allowed.below


def test_the_defaults_are_valid():
    validate(DEFAULT)


def test_every_number_of_the_command_line_has_a_range():
    assert set(RANGES) == set(numbers())
    assert {"--lora.alpha", "--lora.dropout", "--tiny.init", "--tiny.rope-theta"} <= set(RANGES)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *((flag, value) for flag, allowed in RANGES.items() for value in outside(allowed)),
        ("--tiny.head-dim", 5),
        ("--lora.dropout", 0.2),
        ("--lora.dropout", -1),
    ],
)
def test_a_number_out_of_range_is_named_with_its_flag(flag, value):
    with pytest.raises(ConfigurationError, match=flag) as caught:
        validate(override(DEFAULT, nested(flag, value)))
    assert "expected" in str(caught.value)
    assert f"got {value}" in str(caught.value)


@pytest.mark.parametrize("flag", RANGES)
def test_every_number_can_be_given_on_the_command_line(flag):
    value = 0.5 if RANGES[flag].below == 1 else 2
    given = parse_config(["--env=webshop", f"{flag}={value}"])
    assert given == override(DEFAULT, nested(flag, value))


def test_a_setting_that_is_left_open_is_in_every_range():
    validate(override(DEFAULT, {"rl": {"lr": None}, "minutes": None}))


def test_env_args_are_json_where_they_can_be():
    pairs = ["size=4000", "expose=true", "difficulty=medium", "weights=[1, 2]", "empty=", "a=b=c"]
    assert parse_env_args(pairs) == {
        "size": 4000,
        "expose": True,
        "difficulty": "medium",
        "weights": [1, 2],
        "empty": "",
        "a": "b=c",
    }


@pytest.mark.parametrize("pair", ["size", "=4", "two words=1", ""])
def test_env_args_without_a_name_are_refused(pair):
    with pytest.raises(ConfigurationError, match="name=value"):
        parse_env_args([pair])


def test_a_configuration_is_plain_types():
    config = TrainConfig(env="webshop", env_args=("a=1",), out=Path("x/y"))
    plain = to_dict(config)
    assert plain["env_args"] == ["a=1"]
    assert plain["out"] == "x/y"
    assert plain["rl"]["group_size"] == config.rl.group_size


def test_override_goes_into_nested_parts_and_leaves_the_original():
    changed = override(DEFAULT, {"seed": 3, "rl": {"lr": 0.5}})
    assert (changed.seed, changed.rl.lr, changed.rl.groups) == (3, 0.5, DEFAULT.rl.groups)
    assert DEFAULT.seed == 0


def test_override_names_what_is_no_field():
    with pytest.raises(ConfigurationError, match=r"RlConfig.*\['speed'\]"):
        override(DEFAULT, {"rl": {"speed": 2}})
