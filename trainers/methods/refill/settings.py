"""The section ``--refill.*``: how many groups may replace those without a learning signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trainers.algorithms.preset import Preset
from trainers.config.field_types import Whole, strict
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig

__all__ = ["RefillConfig", "values_of_refill", "with_refill"]


@strict
@dataclass(frozen=True)
class RefillConfig:
    """Dynamic sampling (DAPO, arXiv 2503.14476): groups without a learning signal are replaced."""

    groups: Whole | None = None
    """Maximum groups played per group of a step; 0: none is replaced. None: the preset's, mostly
    0."""


def with_refill(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with as many replacements as a flag allows."""
    groups = section_of(config, RefillConfig).groups
    return preset if groups is None else replace(preset, refill=groups)


def values_of_refill(preset: Preset) -> Mapping[str, Any]:
    """Return the setting that the refill of a preset stands for."""
    return {"groups": preset.refill}
