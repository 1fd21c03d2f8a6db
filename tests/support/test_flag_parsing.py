from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.flag_marks import Append, Positional, Suppress
from agentgym.support.flag_parsing import asks_help, parse_arguments


@dataclass(frozen=True)
class Play:
    """Play."""

    env: Positional[str]
    """Environment."""
    seed: int = 0
    """Seed."""
    grammar: Literal["xml", "react"] | None = None
    """Grammar."""
    price: tuple[float, float] | tuple[float, float, float] | None = None
    """Prices."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments."""
    scale: bool | None = None
    """Scale."""
    json: bool = False
    """JSON."""
    out: Path | None = None
    """Folder."""


@dataclass(frozen=True)
class Evaluate:
    """Evaluate."""

    env: Positional[tuple[str, ...]] = ()
    """Environments."""
    policy: Append[tuple[str, ...]] = ()
    """Policies."""
    config: Path | None = None
    """File."""
    typed: Suppress[tuple[str, ...]] = ()
    """Typed."""


@dataclass(frozen=True)
class Export:
    """Export."""

    file: Positional[Path]
    """File."""
    to: Literal["csv"]
    """Form."""
    env: str | None = None
    """Module."""


def play(*argv: str) -> Play:
    return parse_arguments(Play, argv, "agentgym play")


@pytest.mark.parametrize(
    "argv",
    [
        ("shop", "--json"),
        ("--json", "shop"),
        ("--env", "shop", "--json"),
        ("--json", "--env=shop"),
        ("--json", "--", "shop"),
    ],
)
def test_the_environment_stands_anywhere_with_or_without_its_flag(argv):
    assert play(*argv) == Play("shop", json=True)


def test_several_environments_add_up():
    for argv in (["a", "b"], ["--env", "a", "--env", "b"], ["a", "--env=b"], ["--env", "a", "b"]):
        assert parse_arguments(Evaluate, argv, "agentgym eval").env == ("a", "b")


def test_flags_that_are_typed_are_known():
    argv = ["a", "--policy", "x", "--policy=y", "--config", "f"]
    arguments = parse_arguments(Evaluate, argv, "agentgym eval")
    assert arguments == Evaluate(("a",), ("x", "y"), Path("f"), ("policy", "config"))


def test_lists_are_repeated_and_other_flags_counted_once():
    argv = ("shop", "--env-kwargs", "a=1", "b=2", "--seed", "1", "--env_kwargs=c=3", "--seed", "-2")
    assert play(*argv) == Play("shop", seed=-2, env_kwargs=("a=1", "b=2", "c=3"))
    assert play("shop", "--env-kwargs", "-1e-3", "-b c", "--json").env_kwargs == ("-1e-3", "-b c")
    assert play("--price", "1", "2", "--seed", "3", "shop").price == (1.0, 2.0)
    assert play("shop", "--price", "1", "2", "3").price == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("argv", "price"),
    [
        (("--price", "1", "2", "3", "shop"), (1.0, 2.0, 3.0)),
        (("--price", "1", "2", "shop"), (1.0, 2.0)),
        (("--price", "1", "2", "shop", "--price", "4", "5"), (4.0, 5.0)),
    ],
)
def test_words_behind_a_fixed_number_of_values_have_no_flag(
    argv: tuple[str, ...], price: tuple[float, ...]
) -> None:
    assert play(*argv) == Play("shop", price=price)


@pytest.mark.parametrize(
    ("word", "scale"),
    [("--scale", True), ("--no-scale", False), ("--scale=False", False), ("--seed=1", None)],
)
def test_a_switch_may_be_left_open(word, scale):
    assert play(word, "shop").scale is scale


def test_an_environment_that_is_no_positional_is_a_flag_alone():
    arguments = parse_arguments(Export, ["f", "--env", "m:Own", "--to", "csv"], "agentgym export")
    assert arguments == Export(Path("f"), "csv", "m:Own")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ((), "expected agentgym play with ENV, which is required"),
        (("a", "b"), "expected agentgym play with ENV, got 'b' as well"),
        (("a", "--env", "b"), "expected agentgym play with ENV, got 'a' as well"),
        (("a", "--seed", "x"), "expected --seed to be a whole number, got 'x'"),
        (("a", "--seed"), r"expected a value after --seed \(INT\), got none"),
        (("a", "--env"), r"expected a value after --env \(ENV\), got none"),
        (("a", "--grammar", "y"), "expected --grammar to be one of xml, react, got 'y'"),
        (("a", "--price", "1"), "expected --price to be 2 values or 3 values, got '1'"),
        (("a", "--price", "1", "x"), "expected --price to be a number or 3 values, got '1 x'"),
        (("a", "--set", "x=1"), "expected a flag of agentgym play, got --set: here it is --env-kw"),
        (("a", "--sead", "1"), "did you mean --seed"),
    ],
)
def test_bad_input_is_one_sentence(argv, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        play(*argv)


def test_help_is_asked_for_before_a_lone_dash():
    assert asks_help(["a", "-h"]) and asks_help(["--help-all"]) and not asks_help(["--", "--help"])


def test_a_list_that_is_typed_value_by_value_needs_each_of_them():
    with pytest.raises(ConfigurationError, match=r"a value after --policy \(TEXT\), got none"):
        parse_arguments(Evaluate, ["a", "--policy"], "agentgym eval")


def test_a_switch_takes_nothing_but_its_values():
    assert play("--no-scale=False", "--json", "True", "shop") == Play("shop", scale=True, json=True)
    assert play("--scale", "--scale", "None", "shop").scale is None
    with pytest.raises(ConfigurationError, match="--json to be True or False, got 'None'"):
        play("--json=None", "shop")


def test_what_is_required_is_said_with_its_value():
    with pytest.raises(ConfigurationError, match="with --to csv, which is required"):
        parse_arguments(Export, ["f"], "agentgym export")
