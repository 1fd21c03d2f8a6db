"""What a run uses where its command line is silent: every open setting, filled in at one place.

A setting is what its flag says; else what the preset's paper says; else the family's default; else
the house's. Two settings give way a little, because they depend on others: a preset's number of
updates is lowered to a divisor of the episodes of a step, and default rounds of the horizon are cut
to ``max_turns`` where the environment was asked for with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.presets import Preset
from trainers.algorithms.schedule import Stages, parse_horizon
from trainers.config.families import FamilyDefaults
from trainers.config.schema import TINY, TrainConfig, known, override
from trainers.grpo.arguments import largest_divisor

DEFAULT_MINUTES = 12.0
"""Of the default run, which is to end within 15 minutes, evaluation included."""
GROUPS, GROUP_SIZE = 16, 8
"""Tasks of a step, and episodes of a task."""
INVALID_PENALTY = 0.05
"""Taken from the reward of an invalid turn."""
TINY_RATES, PRETRAINED_RATES = (6e-3, 6e-4), (1e-5, 1e-6)
"""Learning rates of warm start and reinforcement learning."""
ADAPTER_RATE = 2e-5
"""Learning rate of reinforcement learning that trains adapters."""
TINY_STEPS = 1600
"""Most steps of the tiny policy's warm start."""
TINY_TURN = 18
"""Tokens per turn of the tiny policy; a family decides on those of its episodes."""
PRETRAINED_TURN, PRETRAINED_EPISODE = 256, 4096
"""Tokens per turn and per episode of a pretrained model."""


def resolve(asked: TrainConfig, preset: Preset, defaults: FamilyDefaults) -> TrainConfig:
    """Fill in all that does not depend on what the environment turns out to be.

    Args:
        asked: The settings of the command line.
        preset: The preset that they name.
        defaults: What suits the family and the environment arguments.

    Returns:
        The settings; ``fit`` and ``eval.tasks`` may still be None.

    Raises:
        ConfigurationError: Two settings contradict each other.
        ValueError: The horizon cannot be read.
    """
    tiny = asked.model == TINY
    sft_rate, rl_rate = TINY_RATES if tiny else PRETRAINED_RATES
    if not tiny and asked.lora.r:
        rl_rate = ADAPTER_RATE
    episode = defaults.episode_tokens if tiny else PRETRAINED_EPISODE
    turn = TINY_TURN if tiny else PRETRAINED_TURN
    lasting = len(preset.horizon.rounds) * preset.horizon.every if preset.horizon else 0
    own_price = preset.invalid_penalty
    filled = _merged(
        asked,
        {
            "horizon": _rounds(preset, defaults),
            "every": preset.horizon.every if preset.horizon else defaults.every,
            "steps": max(defaults.steps, lasting),
            "minutes": DEFAULT_MINUTES if tiny and asked.steps is None else 0.0,
            "sft": {
                "lr": sft_rate,
                "max_steps": TINY_STEPS if tiny else 0,
                "gate_success": defaults.gate,
            },
            "rl": {
                "groups": preset.groups or GROUPS,
                "group_size": preset.group_size or GROUP_SIZE,
                "iterations": preset.iterations,
                "lr": rl_rate,
                "turn_tokens": turn,
                "episode_tokens": episode,
                "invalid_penalty": INVALID_PENALTY if own_price is None else own_price,
            },
        },
    )
    return _with_updates(filled, preset)


def stages(config: TrainConfig, max_turns: int | None = None) -> Stages:
    """Return the horizon schedule of a configuration.

    Args:
        config: The settings, with ``horizon`` and ``every`` filled in.
        max_turns: Turns to which the rounds are cut; None leaves them.

    Raises:
        ConfigurationError: The horizon shrinks.
        ValueError: It cannot be read.
    """
    text, every = known(config.horizon), known(config.every)
    parsed = parse_horizon(text, every)
    rounds = parsed.rounds if isinstance(parsed, Stages) else (int(parsed(1)),)
    if list(rounds) != sorted(rounds):
        raise ConfigurationError(
            f"expected --horizon to grow from stage to stage, such as 5,8,10; got {text!r}"
        )
    if max_turns is not None:
        rounds = tuple(dict.fromkeys(min(turns, max_turns) for turns in rounds))
    return Stages(rounds, every)


def differences(asked: Any, filled: Any) -> dict[str, Any]:
    """Return the settings that two configurations do not share.

    Args:
        asked: A configuration.
        filled: Another of its kind.

    Returns:
        Values of the second by field name; those of nested dataclasses under the name of theirs.
    """
    found: dict[str, Any] = {}
    for item in fields(asked):
        before, now = getattr(asked, item.name), getattr(filled, item.name)
        if before == now:
            continue
        found[item.name] = differences(before, now) if is_dataclass(now) else now
    return found


def _rounds(preset: Preset, defaults: FamilyDefaults) -> str:
    """Return the turns of each stage as they would be written on the command line."""
    return ",".join(map(str, preset.horizon.rounds if preset.horizon else defaults.horizon))


def _merged(asked: Any, defaults: Mapping[str, Any]) -> Any:
    """Return a configuration with a default wherever it holds None."""
    missing: dict[str, Any] = {}
    for name, default in defaults.items():
        value = getattr(asked, name)
        if is_dataclass(value):
            missing[name] = differences(value, _merged(value, default))
        elif value is None:
            missing[name] = default
    return override(asked, missing)


def _with_updates(config: TrainConfig, preset: Preset) -> TrainConfig:
    """Fill in how the episodes of a step are divided into updates and passes of the model."""
    settings = config.rl
    groups, size = known(settings.groups), known(settings.group_size)
    if size < 2 and preset.compares_groups:
        raise ConfigurationError(
            f"expected --rl.group-size to be at least 2, because preset {preset.name!r} compares "
            f"the episodes of a task; got {size}"
        )
    episodes = groups * size
    if episodes < 2:
        raise ConfigurationError(
            "expected at least 2 episodes per step, got --rl.groups 1 and --rl.group-size 1"
        )
    parts = settings.minibatches
    if parts is None:
        parts = largest_divisor(episodes, preset.minibatches)
    elif episodes % parts:
        raise ConfigurationError(
            f"expected --rl.minibatches to divide groups x group_size = {episodes}, got {parts}"
        )
    micro = largest_divisor(episodes // parts, settings.micro_batch)
    return override(config, {"rl": {"minibatches": parts, "micro_batch": micro}})
