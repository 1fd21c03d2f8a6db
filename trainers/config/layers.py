"""Settings from several layers: the first layer with a value wins, and its name is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

from agentgym.support.nested import flat

__all__ = [
    "DEFAULT",
    "FAMILY",
    "FILE",
    "FLAG",
    "PRESET",
    "QUICK",
    "Decisions",
    "Layer",
    "with_value",
]

Settings = TypeVar("Settings")

FLAG, FILE, PRESET, QUICK, FAMILY, DEFAULT = "flag", "file", "preset", "quick", "family", "default"
"""Sources of settings, the strongest first: the command line; the file of ``--config`` or of the
run that is resumed; the preset; the family's small sizes (``--quick``); the family's defaults; the
trainer's."""


@dataclass(frozen=True)
class Layer:
    """Settings from one source."""

    source: str
    """Its name, such as `PRESET`."""
    values: Mapping[str, Any]
    """Settings, nested as in a file; None or a missing one leaves the setting to later layers."""


@dataclass
class Decisions(Generic[Settings]):
    """Settings while they are filled from layers, with the source of each."""

    settings: Settings
    """All settings: a dataclass whose sections are dataclasses."""
    sources: dict[str, str] = field(default_factory=dict)
    """Source of each setting, by dotted name."""

    def fill(self, *layers: Layer) -> None:
        """Fill open settings.

        Args:
            layers: The layers, the strongest first.
        """
        for layer in layers:
            for name, value in flat(layer.values).items():
                if value is not None and attrgetter(name)(self.settings) is None:
                    self.decide(layer.source, {name: value})

    def decide(self, source: str, values: Mapping[str, Any]) -> None:
        """Set settings, whether open or not.

        Args:
            source: Source of the values.
            values: Values by dotted name.
        """
        for name, value in values.items():
            self.settings = with_value(self.settings, name, value)
            self.sources[name] = source


def with_value(settings: Any, name: str, value: Any) -> Any:
    """Return settings with another value for one, given by its dotted name."""
    first, _, subname = name.partition(".")
    below = with_value(getattr(settings, first), subname, value) if subname else value
    return replace(settings, **{first: below})
