from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from annotated_types import Ge, Gt, Le, Lt

from agentgym.errors import ConfigurationError
from agentgym.vector.backends import BACKENDS
from trainers.cli import parse_config
from trainers.config.schema import TrainConfig, from_mapping, to_dict
from trainers.rollouts.engines import ENGINES

DEFAULT = TrainConfig(env="webshop")


def nested(flag: str, value: Any) -> dict[str, Any]:
    """``--rl.num-generations`` and 3 as ``{"env": "webshop", "rl": {"num_generations": 3}}``."""
    *parents, name = flag.removeprefix("--").replace("-", "_").split(".")
    values: dict[str, Any] = {name: value}
    for parent in reversed(parents):
        values = {parent: values}
    return {"env": "webshop", **values}


def configure(flag: str, value: Any) -> TrainConfig:
    """The configuration with one setting, as Python makes it: unchecked."""
    *parents, name = flag.removeprefix("--").replace("-", "_").split(".")
    if not parents:
        return dataclasses.replace(DEFAULT, **{name: value})
    part = dataclasses.replace(getattr(DEFAULT, parents[0]), **{name: value})
    return dataclasses.replace(DEFAULT, **{parents[0]: part})


def settings(part: Any = DEFAULT, prefix: str = "--") -> Iterator[tuple[str, Any]]:
    """Type of every setting, by flag."""
    hints = typing.get_type_hints(type(part), include_extras=True)
    for item in dataclasses.fields(part):
        flag, value = prefix + item.name.replace("_", "-"), getattr(part, item.name)
        if dataclasses.is_dataclass(value):
            yield from settings(value, f"{flag}.")
        else:
            yield flag, hints[item.name]


def kinds(hint: Any) -> set[Any]:
    """Plain types in a type."""
    if not typing.get_args(hint):
        return {hint}
    return set().union(*(kinds(part) for part in typing.get_args(hint)))


def bounds(hint: Any) -> dict[str, float]:
    """Bounds in a type, as written there."""
    limits: dict[str, float] = {}
    for part in typing.get_args(hint):
        for kind, name in ((Ge, "ge"), (Gt, "gt"), (Le, "le"), (Lt, "lt")):
            if isinstance(part, kind):
                limits[name] = getattr(part, name)
        limits |= bounds(part)
    return limits


NUMBERS = {flag: hint for flag, hint in settings() if kinds(hint) & {int, float}}
WORDS = {flag: hint for flag, hint in settings() if flag not in NUMBERS}


def outside(hint: Any) -> Iterator[float]:
    """Numbers that a type does not hold."""
    limits = bounds(hint)
    yield limits["ge"] - 1 if "ge" in limits else limits["gt"]
    yield float("nan")
    yield limits.get("lt", limits.get("le", float("inf")) + 1)


def test_the_defaults_are_valid():
    assert from_mapping(dataclasses.asdict(DEFAULT)) == DEFAULT


def test_every_number_of_the_command_line_has_a_lower_bound():
    assert [flag for flag, hint in NUMBERS.items() if not {"ge", "gt"} & set(bounds(hint))] == []
    assert {"--lora.alpha", "--tiny.init", "--step-timeout", "--top-p"} <= set(NUMBERS)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *((flag, value) for flag, hint in NUMBERS.items() for value in outside(hint)),
        ("--tiny.head-dim", 5),
        ("--lora.dropout", 0.2),
        ("--lora.dropout", -1),
    ],
)
def test_a_number_out_of_range_is_named_with_its_flag(flag, value):
    with pytest.raises(ConfigurationError, match=flag) as caught:
        from_mapping(nested(flag, value))
    assert "expected" in str(caught.value)
    assert f"got {value}" in str(caught.value)


@pytest.mark.parametrize("flag", [*NUMBERS, *WORDS])
def test_every_setting_of_a_wrong_type_is_named_with_its_flag(flag):
    with pytest.raises(ConfigurationError, match=f"expected {flag} to be"):
        from_mapping(nested(flag, object()))


@pytest.mark.parametrize("flag", NUMBERS)
def test_every_number_can_be_given_on_the_command_line(flag):
    value = 0.5 if {"lt", "le"} & set(bounds(NUMBERS[flag])) else 2
    if flag == "--lora.dropout":  # whose other values are refused
        value = 0
    assert parse_config(["--env=webshop", f"{flag}={value}"]) == configure(flag, value)


def test_a_file_may_hold_what_yaml_makes_of_a_setting():
    config = from_mapping(
        {
            "env": "webshop",
            "env_kwargs": {"difficulty": "medium", "size": 200, "expose_oracle": True},
            "horizon": 9,
            "out": "x/y",
            "rl": {"learning_rate": "6e-4"},
            "reward_hooks": ["repeat", "turn_cost=0.01"],
        }
    )
    assert config.env_kwargs == ("difficulty=medium", "size=200", "expose_oracle=true")
    assert (config.horizon, config.out, config.rl.learning_rate) == ("9", Path("x/y"), 6e-4)
    assert config.reward_hooks == ("repeat", "turn_cost=0.01")
    assert from_mapping({"env": "webshop", "horizon": [5, 8, 10]}).horizon == "5,8,10"


def test_a_setting_that_does_not_exist_is_named():
    with pytest.raises(ConfigurationError, match=r"a setting of agentgym-train.*'rl.speed'"):
        from_mapping({"env": "webshop", "rl": {"speed": 2}})
    with pytest.raises(ConfigurationError, match="expected --env, got none"):
        from_mapping({})
    with pytest.raises(
        ConfigurationError,
        match=r"expected --engine to be 'hf', .*'sglang-server' or MODULE.*, got magic",
    ):
        from_mapping({"env": "webshop", "engine": "magic"})


def test_a_configuration_is_plain_types():
    config = TrainConfig(env="webshop", env_kwargs=("a=1",), out=Path("x/y"))
    plain_values = to_dict(config)
    assert json.loads(json.dumps(plain_values)) == plain_values
    assert (plain_values["env_kwargs"], plain_values["out"]) == (["a=1"], "x/y")
    assert plain_values["rl"]["num_generations"] == config.rl.num_generations
    assert from_mapping(plain_values) == config


def test_the_choices_are_those_that_there_are():
    hints = dict(settings())
    engines = next(part for part in typing.get_args(hints["--engine"]) if part)
    assert set(typing.get_args(engines)) == set(ENGINES)
    choices = next(part for part in typing.get_args(hints["--backend"]) if part)
    assert typing.get_args(choices) == BACKENDS
