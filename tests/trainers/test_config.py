from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError
from trainers.cli import parse_config
from trainers.config import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    TrainConfig,
    override,
    parse_env_args,
    to_dict,
    validate,
)

DEFAULT = TrainConfig(env="webshop")


def nested(flag: str, value: float) -> dict:
    """``--rl.group-size`` and 3 as ``{"rl": {"group_size": 3}}``."""
    *parents, name = flag.removeprefix("--").replace("-", "_").split(".")
    values: dict = {name: value}
    for parent in reversed(parents):
        values = {parent: values}
    return values


def test_the_defaults_are_valid():
    validate(DEFAULT)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *((flag, 0) for flag in AT_LEAST_ONE),
        *((flag, -1) for flag in AT_LEAST_ZERO),
        *((flag, 0.0) for flag in ABOVE_ZERO),
        *((flag, float("nan")) for flag in ABOVE_ZERO),
        ("--rl.group-size", 1),
        ("--rl.micro-batch", 7),
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


@pytest.mark.parametrize("flag", [*AT_LEAST_ONE, *AT_LEAST_ZERO, *ABOVE_ZERO])
def test_every_checked_flag_exists_on_the_command_line(flag):
    assert parse_config(["--env=webshop", f"{flag}=2"]) == override(DEFAULT, nested(flag, 2))


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
