"""A flag that a command lacks is answered by the one that it has."""

from __future__ import annotations

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.flag_hints import check_flags, flag_hint, synonyms

KNOWN = (
    "--env", "--out", "--steps", "--rl.learning-rate", "--sft.learning-rate", "--rl.beta",
    "--rl.entropy", "--health.entropy", "--num-tasks", "--no-scale",
)  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("--learning-rate", ": here it is --rl.learning-rate or --sft.learning-rate"),
        ("--learning_rate", ": here it is --rl.learning-rate or --sft.learning-rate"),
        ("--sft.lr", ": here it is --sft.learning-rate"),
        ("--output-dir", ": here it is --out"),
        ("--limit", ": here it is --num-tasks"),
        ("--entropy", ": did you mean --rl.entropy or --health.entropy?"),
        ("--rl.bata", ": did you mean --rl.beta?"),
        ("--num-generations", ""),  # no such flag here
        ("--something-else", ""),
    ],
)
def test_a_hint_names_flags_that_the_command_has(typed: str, hint: str) -> None:
    assert flag_hint(typed, KNOWN) == hint


def test_the_first_unknown_flag_is_refused_in_one_sentence() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_flags(["--env", "x", "--max-steps=3", "--lr", "1"], KNOWN, "agentgym train")
    assert str(caught.value) == (
        "expected a flag of agentgym train, got --max-steps: here it is --steps"
    )
    with pytest.raises(ConfigurationError, match=r"got --zzz: see agentgym train --help-all$"):
        check_flags(["--zzz"], KNOWN, "agentgym train")


def test_flags_values_and_what_follows_a_lone_dash_pass() -> None:
    check_flags(["--no-scale", "webshop", "-1", "--out=a", "--", "--zzz"], KNOWN, "agentgym eval")


def test_a_word_of_another_project_stands_for_flags_without_dashes() -> None:
    for word, flags in synonyms().items():
        assert flags and word not in flags
        assert not any(name.startswith("-") or "_" in name for name in (word, *flags))
