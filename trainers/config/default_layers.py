"""Defaults of preset, family and trainer for settings that flags and files leave open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from agentgym.support.nested import nested
from trainers import processes
from trainers.algorithms.preset import Preset
from trainers.config.budget import parse_budget
from trainers.config.layers import DEFAULT, FAMILY, PRESET, QUICK, Layer
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.resolved_environments import INVALID_PENALTY
from trainers.config.schema import TINY, TrainConfig
from trainers.methods.table import methods

__all__ = [
    "family_layers",
    "is_small",
    "method_layers",
    "preset_layer",
    "strongest",
    "trainer_layer",
]

NUM_GENERATIONS = 8
"""Episodes of a task."""
WHOLE_RATES = (1e-5, 1e-6)
"""Learning rates of warm start and reinforcement learning that train all weights."""
SMALL_ADAPTER_RATES, ADAPTER_RATES = (5e-4, 2e-4), (2e-4, 2e-5)
"""Learning rates of adapters, for small models and for others. A rate for all weights is too low
for adapters: at 1e-5 the loss of a warm start on MathPython stayed at 3.2, at 5e-4 it fell to .1
within 20 steps."""
SMALL_WEIGHTS = 1_000_000_000
"""Maximum number of weights of a small model."""
RANDOM_STEPS = 300
"""Steps of imitating random actions, which suffice to learn the format of actions."""
TINY_MICRO, PRETRAINED_MICRO = 2048, 16_384
"""Tokens per forward and backward pass; those of the tiny policy stay in the cache of a CPU."""
Combine = Callable[[Iterable[Any]], Any]
SIZES: tuple[tuple[str, str, Combine], ...] = (
    ("prompt", "prompt", lambda names: ", ".join(dict.fromkeys(names))),
    ("steps", "steps", max),
    ("rl.groups", "groups", max),
    ("sft.demonstrations", "demonstrations", sum),
    ("sft.only_successes", "only_successes", any),
    ("sft.batch_size", "sft_batch", max),
    ("sft.eval_every", "sft_eval_every", max),
    ("sft.eval_tasks", "valid_tasks", max),
    ("eval.every", "valid_every", max),
    ("eval.valid_tasks", "valid_tasks", max),
    ("rl.warmup_steps", "warmup_steps", max),
)
"""A setting, its field in a family's defaults, and how the values of several families are
combined."""


def preset_layer(config: TrainConfig, preset: Preset, envs: Sequence[ResolvedEnv]) -> Layer:
    """Return the settings of a preset, with steps enough for all of its stages."""
    stages = preset.horizon
    steps = max(len(stages.rounds) * stages.every if stages else 0, preset.steps or 0)
    usual = {"num_iterations": 1, "sampler": "uniform"}
    choices = {name: getattr(preset, name) for name in usual}
    rl = {name: None if value == usual[name] else value for name, value in choices.items()}
    # A hook that prices invalid turns stands in for the penalty: both would charge a turn twice.
    penalty = None if any(env.prices_invalid_by_hook for env in envs) else preset.invalid_penalty
    return Layer(
        PRESET,
        {
            # The stages decide only where they last longer than the families' usual runs.
            "steps": steps if steps > max(env.defaults.steps for env in envs) else None,
            "rl": {
                **rl,
                "groups": preset.groups,
                "num_generations": preset.num_generations,
                "invalid_penalty": penalty,
            },
        },
    )


def family_layers(
    config: TrainConfig, envs: Sequence[ResolvedEnv], small: bool = False
) -> list[Layer]:
    """Return the defaults of the environments' families, with quick sizes in a layer of their own.

    A value that equals the general default belongs to the layer of general defaults.

    Args:
        config: The settings as given by flags and file.
        envs: The environments.
        small: Whether a pretrained model is small, see `is_small`.
    """
    decided: dict[str, dict[str, Any]] = {QUICK: {}, FAMILY: {}, DEFAULT: {}}

    def decide(setting: str, field: str, combine: Combine, deciders: Sequence[ResolvedEnv]) -> None:
        source = strongest(env.source_of(field) for env in deciders)
        decided[source][setting] = combine(getattr(env.defaults, field) for env in deciders)

    for setting, field, combine in SIZES:
        if setting != "sft.demonstrations" or not config.sft.episodes:
            decide(setting, field, combine, envs)
    if config.model == TINY or (config.lora.r and small):
        decide("rl.learning_rate", "rl_learning_rate", _least, envs)
        decide("sft.learning_rate", "sft_learning_rate", _least, envs)
    if not _imitates_at_random(config):
        imitated = [env for env in envs if env.demonstrator]
        if imitated and can_warm_start(config, envs):
            decide("sft.max_steps", "sft_steps", sum, imitated)
        decide("eval.baselines", "baselines", lambda v: tuple(dict.fromkeys(chain(*v))), envs)
    return [Layer(source, nested(values)) for source, values in decided.items()]


def is_small(weights: int) -> bool:
    """Return whether a model with this number of weights is small; 0 means unknown."""
    return 0 < weights <= SMALL_WEIGHTS


def can_warm_start(config: TrainConfig, envs: Sequence[ResolvedEnv]) -> bool:
    """Return whether a run may have a warm start that was not requested.

    A pretrained model is tested first, which needs validation tasks. An agent that owns its loop
    need not act like the demonstrator, and a warm start cannot be merged into quantised weights.
    """
    sft = config.sft
    if config.model == TINY or sft.max_steps == "auto" or sft.episodes or sft.rounds:
        return True
    validates = all(env.validates for env in envs)
    quantized = config.memory.quantize != "none"
    return validates and not (config.foreign_loop or quantized or processes.sharded())


def trainer_layer(
    config: TrainConfig, envs: Sequence[ResolvedEnv], engine: str, small: bool = False
) -> Layer:
    """Return the trainer's defaults, used where no other layer has a value.

    Args:
        config: The settings as given by flags and file.
        envs: The environments.
        engine: The generation engine.
        small: Whether a pretrained model is small, see `is_small`.
    """
    tiny = config.model == TINY
    imitated = sum(bool(env.demonstrator) for env in envs)
    at_random = tiny and _imitates_at_random(config)
    minutes = parse_budget(config.budget).minutes
    by_hook = any(env.prices_invalid_by_hook for env in envs)
    adapter_rates = SMALL_ADAPTER_RATES if small else ADAPTER_RATES
    sft_rate, rl_rate = adapter_rates if config.lora.r else WHOLE_RATES
    return Layer(
        DEFAULT,
        {
            "minutes": minutes if math.isfinite(minutes) else 0.0,
            "engine": engine,
            "sft": {
                "learning_rate": sft_rate,
                "max_steps": RANDOM_STEPS * imitated if at_random else 0,
                "demonstrations": 0,  # of files all
            },
            "eval": {"keep": "last" if config.eval.every == 0 else "best", "baselines": ()},
            "rl": {
                "num_generations": NUM_GENERATIONS,
                "num_iterations": 1,
                "learning_rate": rl_rate,
                "invalid_penalty": 0.0 if by_hook else INVALID_PENALTY,
                "sampler": "uniform",
            },
            "memory": {"micro_tokens": TINY_MICRO if tiny else PRETRAINED_MICRO},
        },
    )


def method_layers(config: TrainConfig, preset: Preset, rl_rate: float) -> list[Layer]:
    """Return the defaults of methods, some of which depend on the policy's learning rate."""
    layers = [(method.name, method.defaults(preset, config, rl_rate)) for method in methods()]
    return [Layer(layer.source, {name: layer.values}) for name, layer in layers if layer.values]


def strongest(sources: Iterable[str]) -> str:
    """Return the strongest source of a default that several environments combine."""
    return min(sources, key=(QUICK, FAMILY, DEFAULT).index)


def _imitates_at_random(config: TrainConfig) -> bool:
    return config.sft.demonstrator == "random" and not config.sft.episodes


def _least(values: Iterable[float | None]) -> float | None:
    """Return the smallest value; None if any is open."""
    numbers = list(values)
    return None if None in numbers else min(number for number in numbers if number is not None)
