"""Settings from several layers: the first that says something decides, and its name is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DEFAULT", "FAMILY", "FILE", "FLAG", "PRESET", "QUICK", "Layer", "merge_layers"]

FLAG, FILE, PRESET, QUICK, FAMILY, DEFAULT = "flag", "file", "preset", "quick", "family", "default"
"""Where the value of a setting comes from, the strongest first: the command line; the file of
``--config`` or of the run that is resumed; the preset; the family's small sizes (``--quick``); the
family's defaults; the trainer's."""


@dataclass(frozen=True)
class Layer:
    """What one source says about settings."""

    source: str
    """Its name, such as `PRESET`."""
    values: Mapping[str, Any]
    """Settings, nested as in a file; None and a missing one say nothing."""


def merge_layers(
    settings: Mapping[str, Any], layers: Sequence[Layer]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Fill in what settings leave open.

    Args:
        settings: All settings, nested, as flags and file ask for them; None is open.
        layers: Who decides on the open ones, the strongest first.

    Returns:
        The settings, and of each that a layer filled in, by its name with dots, the layer's name.
    """
    merged: dict[str, Any] = dict(settings)
    sources: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.values.items():
            if isinstance(value, Mapping):
                merged[name], below = merge_layers(merged[name], [Layer(layer.source, value)])
                sources |= {f"{name}.{key}": source for key, source in below.items()}
            elif merged[name] is None and value is not None:
                merged[name], sources[name] = value, layer.source
    return merged, sources
