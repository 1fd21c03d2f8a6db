"""Settings from several layers: the first that says something decides, and its name is kept."""

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


@dataclass
class Decisions(Generic[Settings]):
    """Settings while layers decide on them, and the names of the layers."""

    settings: Settings
    """All settings: a dataclass whose sections are dataclasses."""
    sources: dict[str, str] = field(default_factory=dict)
    """Who decided on a setting, by its name with dots."""

    def fill(self, *layers: Layer) -> None:
        """Fill in what the settings leave open.

        Args:
            layers: Who decides on it, the strongest first.
        """
        for layer in layers:
            for name, value in flat(layer.values).items():
                if value is not None and attrgetter(name)(self.settings) is None:
                    self.decide(layer.source, {name: value})

    def decide(self, source: str, values: Mapping[str, Any]) -> None:
        """Decide on settings, open or not.

        Args:
            source: Who decides.
            values: The settings by their names with dots.
        """
        for name, value in values.items():
            self.settings = with_value(self.settings, name, value)
            self.sources[name] = source


def with_value(settings: Any, name: str, value: Any) -> Any:
    """Return settings with another value of one, which is named with dots."""
    first, _, subname = name.partition(".")
    below = with_value(getattr(settings, first), subname, value) if subname else value
    return replace(settings, **{first: below})
