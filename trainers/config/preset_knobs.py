"""Flags that set single parts of a preset, such as ``--rl.gamma``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from agentgym.core.options import import_own
from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term
from trainers.algorithms.filters import Filter, HarnessEndings, TopVariance, ZeroVariance
from trainers.algorithms.preset import Preset
from trainers.algorithms.signals import KLToGo
from trainers.config.sections import RlConfig

FILTERS: Mapping[str, Filter] = {
    "zero-variance": ZeroVariance(),
    "zero-variance-turns": ZeroVariance("turn"),
    "top-variance": TopVariance(),
    "harness-endings": HarnessEndings(),
}
"""Filters by their names in ``--rl.filters``."""
LOSS_FIELDS = {
    "entropy": "entropy", "epsilon": "low", "epsilon_high": "high", "aggregation": "aggregation",
}  # fmt: skip
"""Settings of ``--rl.*`` that are fields of the loss."""


def with_knobs(preset: Preset, rl: RlConfig) -> Preset:
    """Return a preset with the parts that flags set; the others stay.

    Raises:
        ConfigurationError: The preset lacks the part, or a user's part cannot be found.
    """
    preset = replace(preset, loss=replace(preset.loss, **_changes(rl, LOSS_FIELDS)))
    if rl.gamma is not None:
        preset = _discounted(preset, rl.gamma)
    if rl.beta is not None:
        preset = _penalised(preset, rl.beta)
    if rl.filters is not None:
        preset = replace(preset, filters=_filters(rl.filters))
    return preset if rl.normalize is None else preset.normalized(rl.normalize)


def _changes(rl: RlConfig, fields_by_setting: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a part that flags set, with their values."""
    values = {field: getattr(rl, name) for name, field in fields_by_setting.items()}
    return {field: value for field, value in values.items() if value is not None}


def _discounted(preset: Preset, gamma: float) -> Preset:
    """Return a preset with another discount per turn, in every signal that discounts turns."""
    names = [discount_field(term.signal) for term in preset.terms]
    if not any(names):
        raise ConfigurationError(
            "expected --rl.gamma with a preset whose credit is discounted over turns, such as "
            f"turn-loo or gigpo, because {preset.name!r} compares whole returns; got {gamma:g}"
        )
    terms = [
        replace(term, signal=_changed(term.signal, name, gamma)) if name else term
        for term, name in zip(preset.terms, names, strict=True)
    ]
    return replace(preset, terms=tuple(terms))


def discount_field(signal: object) -> str:
    """Return the field of a signal that discounts turns; empty if it has none.

    It is ``gamma_turn`` in signals whose ``gamma`` discounts tokens, else ``gamma``.
    """
    names = _field_names(signal)
    return next((name for name in ("gamma_turn", "gamma") if name in names), "")


def _field_names(signal: object) -> list[str]:
    """Return the names of a signal's fields; a user's signal may be a function, which has none."""
    return [item.name for item in fields(signal)] if is_dataclass(signal) else []


def _changed(signal: Any, name: str, value: float) -> Any:
    """Return a signal with another value of a field."""
    return replace(signal, **{name: value})


def _penalised(preset: Preset, beta: float) -> Preset:
    """Return a preset with another KL penalty, in the rewards if it is there, else in the loss."""
    if any(getattr(term.signal, "kl", 0.0) for term in preset.terms):
        paid = [
            replace(term, signal=_changed(term.signal, "kl", beta))
            if "kl" in _field_names(term.signal)
            else term
            for term in preset.terms
        ]
        return replace(preset, terms=tuple(paid))
    if not any(isinstance(term.signal, KLToGo) for term in preset.terms):
        return replace(preset, loss=replace(preset.loss, kl_beta=beta))
    terms = [term for term in preset.terms if not isinstance(term.signal, KLToGo)]
    penalty = [Term(KLToGo(), weight=-beta)] if beta else []
    return replace(preset, terms=(*terms, *penalty))


def _filters(names: Sequence[str]) -> tuple[Filter, ...]:
    """Return filters by name, or by ``MODULE:NAME``."""
    form = f"--rl.filters of {', '.join(FILTERS)}, none, or MODULE:NAME of your own"
    description = "a function of (batch, masks), as in trainers.algorithms.filters"
    return tuple(
        FILTERS[name] if name in FILTERS else import_own(name, form, description, callable)
        for name in names
    )
