"""What flags set of a preset is read off it again, for every preset and flag."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.nested import flat
from trainers.algorithms.presets import PRESETS
from trainers.config.critic_section import CriticConfig, with_critic
from trainers.config.preset_knobs import with_knobs
from trainers.config.preset_values import values_of_preset
from trainers.config.reward_model_section import RewardModelConfig, with_reward_model
from trainers.config.sections import RlConfig

RL: dict[str, Any] = {
    "beta": 0.125, "entropy": 0.25, "epsilon": 0.375, "epsilon_high": 0.5, "gamma": 0.75,
    "aggregation": "const", "filters": ("zero-variance-turns",), "normalize": "family",
    "branch": "random:rate=0.25", "branch_roots": 4, "branch_copies": 2, "branch_credit": "hard",
    "stale_share": 0.125, "stale_every": 7,
}  # fmt: skip
CRITIC: dict[str, Any] = {
    "gae": "bi-level", "lam": 0.5, "token_lam": 0.25, "token_gamma": 0.75, "targets": "monte-carlo",
    "clip": 0.5, "weight": 0.25, "replay": 50, "batch": 8, "tau": 0.5, "candidates": 6, "pairs": 2,
}  # fmt: skip
REWARD_MODEL: dict[str, Any] = {"weight": 0.5, "beta": 0.25, "pays": "episodes"}


@pytest.mark.parametrize("knob", RL)
def test_a_flag_of_reinforcement_learning_is_read_again(knob: str) -> None:
    read = 0
    for preset in PRESETS.values():
        try:
            changed = with_knobs(preset, RlConfig(**{knob: RL[knob]}))
        except ConfigurationError:
            continue
        value = values_of_preset(changed)["rl"][knob]
        assert value == (list(RL[knob]) if isinstance(RL[knob], tuple) else RL[knob]), preset.name
        read += 1
    assert read


@pytest.mark.parametrize("knob", CRITIC)
def test_a_flag_of_the_critic_is_read_again(knob: str) -> None:
    read = 0
    for preset in PRESETS.values():
        try:
            changed = with_critic(preset, CriticConfig(**{knob: CRITIC[knob]}))
        except ConfigurationError:
            continue
        assert values_of_preset(changed)["critic"][knob] == CRITIC[knob], preset.name
        read += 1
    assert read


@pytest.mark.parametrize("knob", REWARD_MODEL)
def test_a_flag_of_the_reward_model_is_read_again(knob: str) -> None:
    changed = with_reward_model(PRESETS["istar"], RewardModelConfig(**{knob: REWARD_MODEL[knob]}))
    assert values_of_preset(changed)["reward_model"][knob] == REWARD_MODEL[knob]


def test_what_is_read_of_a_preset_sets_it_again() -> None:
    """Flags with the values that are shown make the same preset."""
    for preset in PRESETS.values():
        values = values_of_preset(preset)["rl"]
        flags = {name: values[name] for name in ("beta", "entropy", "epsilon", "epsilon_high")}
        same = with_knobs(preset, RlConfig(**flags, aggregation=values["aggregation"]))
        assert same.described() == preset.described(), preset.name
        if "gamma" in values:
            discounted = with_knobs(preset, RlConfig(gamma=values["gamma"]))
            assert values_of_preset(discounted) == values_of_preset(preset), preset.name


def test_a_part_that_a_preset_lacks_has_no_value() -> None:
    values = flat(values_of_preset(PRESETS["grpo"]))
    assert not [name for name in values if name.startswith(("critic", "reward_model", "rl.branch"))]
    assert values["rl.filters"] == [] and "rl.gamma" not in values
