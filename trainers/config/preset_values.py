"""What the parts of a preset are worth as settings: the reverse of the flags that set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from trainers.algorithms.branching import FORK_RULES
from trainers.algorithms.filters import Filter
from trainers.algorithms.gae import GAE, BiLevelGAE, TurnGAE
from trainers.algorithms.preferences import TurnPreference
from trainers.algorithms.preset import Preset, part_path
from trainers.algorithms.signals import Implicit, KLToGo, QMinusV, RewardToGo
from trainers.config.critic_section import OF_TURNS, STEPS_OF_GAE
from trainers.config.preset_knobs import FILTERS
from trainers.config.reward_model_section import LEVELS
from trainers.methods.table import methods

ESTIMATES = GAE | TurnGAE | BiLevelGAE
"""Signals that read a critic's values."""


def values_of_preset(preset: Preset) -> dict[str, dict[str, Any]]:
    """Return the settings that a preset's parts stand for, nested by section.

    Args:
        preset: The preset, with what flags set of it.

    Returns:
        Such as ``{"rl": {"beta": 0.001}}``; a setting of a part that the preset lacks is missing.
    """
    sections: dict[str, Mapping[str, Any]] = {
        "rl": {**_of_loss(preset), **_of_episodes(preset)},
        "critic": dict(_of_critic(preset)),
        "reward_model": dict(_of_reward_model(preset)),
        **{m.name: m.preset_values(preset) for m in methods() if m.section is not None},
    }
    return {section: dict(values) for section, values in sections.items() if values}


def _of_loss(preset: Preset) -> dict[str, Any]:
    """Return what the loss and the credit are made with."""
    loss = preset.loss
    values: dict[str, Any] = {
        "entropy": loss.entropy,
        "epsilon": loss.low,
        "epsilon_high": loss.high,
        "aggregation": loss.aggregation,
        "beta": _beta(preset),
    }
    gamma = _gamma(preset)
    if gamma is not None:
        values["gamma"] = gamma
    post = preset.post
    if post is None:
        values["normalize"] = "none"
    elif post.center == post.scale and post.center in ("batch", "family"):
        values["normalize"] = post.center
    return values


def _beta(preset: Preset) -> float:
    """Return the weight of the KL penalty, wherever the preset has it."""
    for term in preset.terms:
        if isinstance(term.signal, ESTIMATES) and term.signal.kl:
            return term.signal.kl
        if isinstance(term.signal, KLToGo):
            return -term.weight
    return preset.loss.kl_beta


def _gamma(preset: Preset) -> float | None:
    """Return the discount of a turn; None where whole returns are compared."""
    for term in preset.terms:
        signal = term.signal
        if isinstance(signal, RewardToGo | QMinusV):
            return signal.gamma
        if isinstance(signal, ESTIMATES):
            turn = signal.gamma_turn
            return signal.gamma if turn is None and isinstance(signal, GAE) else turn
    return None


def _of_episodes(preset: Preset) -> dict[str, Any]:
    """Return which episodes train, who plays them, and where they are forked."""
    values: dict[str, Any] = {"filters": [_filter_name(part) for part in preset.filters]}
    values["stale_share"] = preset.pool.stale_share if preset.pool else 0.0
    if preset.pool:
        values["stale_every"] = preset.pool.refresh_every
    if branching := preset.branching:
        values |= {
            "branch": _rule_text(branching.rule),
            "branch_roots": branching.roots,
            "branch_copies": branching.copies,
            "branch_credit": branching.credit,
        }
    return values


def _filter_name(part: Filter) -> str:
    """Return what ``--rl.filters`` calls a filter; one that has no name there by its fields."""
    for name, candidate in FILTERS.items():
        if candidate == part:
            return name
    return part_path(part) if hasattr(part, "__qualname__") else repr(part)


def _rule_text(rule: Any) -> str:
    """Write where episodes are forked as ``--rl.branch`` reads it."""
    name = next(
        (name for name, cls in FORK_RULES.items() if type(rule) is cls), part_path(type(rule))
    )
    values = ",".join(f"{item.name}={getattr(rule, item.name)}" for item in fields(rule))
    return f"{name}:{values}" if values else name


def _of_critic(preset: Preset) -> Iterator[tuple[str, Any]]:
    """Yield what a critic's estimates and its loss are made with."""
    for term in preset.terms:
        signal = term.signal
        if isinstance(signal, ESTIMATES):
            names = {cls: name for name, cls in STEPS_OF_GAE.items()}
            yield "gae", names[type(signal)]
            for name, field in (
                ("lam", "lam_turn"),
                ("token_lam", "lam"),
                ("token_gamma", "gamma"),
            ):
                if getattr(signal, field, None) is not None:
                    yield name, getattr(signal, field)
            yield "targets", preset.loss.value_targets
            yield "clip", preset.loss.value_clip or 0.0
            yield "weight", preset.loss.value_weight
        if isinstance(signal, QMinusV | TurnPreference):
            for item in fields(signal):
                if item.name in OF_TURNS:
                    yield item.name, getattr(signal, item.name)


def _of_reward_model(preset: Preset) -> Iterator[tuple[str, Any]]:
    """Yield what a reward model pays."""
    for term in preset.terms:
        if isinstance(term.signal, Implicit):
            yield "weight", term.weight
            yield "beta", term.signal.beta
            yield "pays", next(name for name, level in LEVELS.items() if level == term.signal.level)
