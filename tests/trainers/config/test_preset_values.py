"""What flags set of a preset is read off it again, for every preset and flag."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.nested import flat
from trainers.algorithms.presets import PRESETS
from trainers.config.preset_knobs import with_knobs
from trainers.config.preset_values import values_of_preset
from trainers.config.schema import from_mapping
from trainers.config.sections import RlConfig
from trainers.methods.table import methods

RL: dict[str, Any] = {
    "beta": 0.125, "entropy": 0.25, "epsilon": 0.375, "epsilon_high": 0.5, "gamma": 0.75,
    "aggregation": "const", "filters": ("zero-variance-turns",), "normalize": "family",
}  # fmt: skip
SECTIONS: dict[str, dict[str, Any]] = {
    "critic": {
        "gae": "bi-level", "lam": 0.5, "token_lam": 0.25, "token_gamma": 0.75,
        "targets": "monte-carlo", "clip": 0.5, "weight": 0.25,
    },
    "turn_critic": {"replay": 50, "batch": 8, "tau": 0.5, "candidates": 6, "pairs": 2},
    "reward_model": {"weight": 0.5, "beta": 0.25, "pays": "episodes"},
    "cross_policy": {"share": 0.125, "every": 7},
    "forks": {"rule": "random:rate=0.25", "roots": 4, "copies": 2, "credit": "hard"},
    "refill": {"groups": 3},
}  # fmt: skip
"""Settings of methods that presets stand for."""


@pytest.mark.parametrize("knob", RL)
def test_a_flag_of_reinforcement_learning_is_read_again(knob: str) -> None:
    n_read = 0
    for preset in PRESETS.values():
        try:
            changed = with_knobs(preset, RlConfig(**{knob: RL[knob]}))
        except ConfigurationError:
            continue
        value = values_of_preset(changed)["rl"][knob]
        assert value == (list(RL[knob]) if isinstance(RL[knob], tuple) else RL[knob]), preset.name
        n_read += 1
    assert n_read


@pytest.mark.parametrize(
    ("section", "knob"), [(name, knob) for name, knobs in SECTIONS.items() for knob in knobs]
)
def test_a_flag_of_a_method_is_read_again(section: str, knob: str) -> None:
    value, n_read = SECTIONS[section][knob], 0
    config = from_mapping({"env": "webshop", section: {knob: value}})
    method = next(method for method in methods() if method.name == section)
    for preset in PRESETS.values():
        try:
            changed = method.change_preset(preset, config)
        except ConfigurationError:
            continue
        if {*method.needs} & {*changed.needs}:
            assert values_of_preset(changed)[section][knob] == value, preset.name
            n_read += 1
    assert n_read


def test_what_is_read_of_a_preset_sets_it_again() -> None:
    """Flags with the values that are shown make the same preset."""
    for preset in PRESETS.values():
        values = values_of_preset(preset)["rl"]
        flags = {name: values[name] for name in ("beta", "entropy", "epsilon", "epsilon_high")}
        same_preset = with_knobs(preset, RlConfig(**flags, aggregation=values["aggregation"]))
        assert same_preset.described() == preset.described(), preset.name
        if "gamma" in values:
            discounted = with_knobs(preset, RlConfig(gamma=values["gamma"]))
            assert values_of_preset(discounted) == values_of_preset(preset), preset.name


def test_a_part_that_a_preset_lacks_has_no_value() -> None:
    values = flat(values_of_preset(PRESETS["grpo"]))
    assert not [
        name for name in values if name.startswith(("critic", "reward_model", "forks.rule"))
    ]
    assert values["rl.filters"] == [] and "rl.gamma" not in values
