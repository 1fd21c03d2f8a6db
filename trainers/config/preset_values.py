"""The settings that correspond to a preset's parts: the inverse of `preset_knobs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainers.algorithms.filters import Filter
from trainers.algorithms.preset import Preset, part_path
from trainers.algorithms.signals import KLToGo
from trainers.config.preset_knobs import FILTERS, LOSS_FIELDS, discount_field
from trainers.methods.table import methods


def values_of_preset(preset: Preset) -> dict[str, dict[str, Any]]:
    """Return the settings that correspond to a preset's parts, nested by section.

    Args:
        preset: The preset, after the flags were applied.

    Returns:
        Such as ``{"rl": {"beta": 0.001}}``, without settings of parts that the preset lacks.
    """
    sections: dict[str, Mapping[str, Any]] = {
        "rl": {
            **_of_loss(preset),
            "filters": [_filter_name(part) for part in preset.filters],
        },
        **{method.name: method.preset_values(preset) for method in methods()},
    }
    return {section: dict(values) for section, values in sections.items() if values}


def _of_loss(preset: Preset) -> dict[str, Any]:
    """Return the settings of loss and credit."""
    loss = preset.loss
    values: dict[str, Any] = {
        **{name: getattr(loss, field) for name, field in LOSS_FIELDS.items()},
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
    """Return the weight of the KL penalty, in the rewards or in the loss."""
    for term in preset.terms:
        if kl := getattr(term.signal, "kl", 0.0):
            return float(kl)
        if isinstance(term.signal, KLToGo):
            return -term.weight
    return preset.loss.kl_beta


def _gamma(preset: Preset) -> float | None:
    """Return the discount per turn; None if the preset compares whole returns."""
    for term in preset.terms:
        signal: Any = term.signal
        if name := discount_field(signal):
            discount: float | None = getattr(signal, name)
            return signal.gamma if discount is None else discount
    return None


def _filter_name(part: Filter) -> str:
    """Return a filter's name in ``--rl.filters``, or its fields if it has no name there."""
    for name, candidate in FILTERS.items():
        if candidate == part:
            return name
    return part_path(part) if hasattr(part, "__qualname__") else repr(part)
