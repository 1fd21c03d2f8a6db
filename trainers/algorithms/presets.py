"""All presets by name: those of ``core_presets`` and those of optional methods.

A preset has the name of its paper. The bundled trainer either runs it in full (``runnable``) or
rejects it and lists what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

from agentgym.errors import ConfigurationError
from agentgym.support.program_name import program_name
from trainers.algorithms.core_presets import CORE_PRESETS, TURN_LOO
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.preset import Preset
from trainers.methods.table import get_method, method_names, methods

DEFAULT = TURN_LOO.name
"""Name of the default preset."""
_CORE: Mapping[str, Preset] = {preset.name: preset for preset in CORE_PRESETS}


class _Presets(Mapping[str, Preset]):
    """Every preset by name, looked up without importing more methods than necessary."""

    def __getitem__(self, name: str) -> Preset:
        if name in _CORE:
            return _CORE[name]
        for method in map(get_method, method_names()):
            for preset in chain(*method.presets.values()) if method else ():
                if preset.name == name:
                    return preset
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


PRESETS: Mapping[str, Preset] = _Presets()
"""Every preset by name."""


@cache
def _names() -> Sequence[str]:
    """Return the names of the presets; those of a method follow the preset that it names."""
    brought = [item for method in methods() for item in method.presets.items()]
    listed = []
    for core in CORE_PRESETS:
        listed += [core, *chain(*(presets for name, presets in brought if name == core.name))]
    listed += chain(*(presets for name, presets in brought if name not in _CORE))
    return [preset.name for preset in listed]


def served(preset: Preset) -> list[Need]:
    """Return the needs of a preset that the trainer meets under any settings."""
    return [need for need in preset.needs if need == REFERENCE or _provides(need.method)]


def _provides(name: str) -> bool:
    """Whether there is a method of a name, which needs no settings to provide what it serves."""
    method = get_method(name)
    return method is not None and method.provides is None


def runnable(available: Collection[str] = ()) -> list[str]:
    """Return the names of the presets that run in full, in alphabetical order.

    Args:
        available: Needs that the run meets besides those that the trainer always does.
    """
    return sorted(
        name
        for name, preset in PRESETS.items()
        if not preset.missing((*served(preset), *available)) and not preset.left_out
    )


def get_preset(name: str) -> Preset:
    """Look up a preset, also one that the bundled trainer cannot run; "default" is "turn-loo".

    Raises:
        ConfigurationError: There is no such preset; the message lists the runnable ones.
    """
    key = DEFAULT if name == "default" else name
    if key not in PRESETS:
        raise ConfigurationError(
            f"expected a preset of {', '.join(runnable())}, or MODULE:NAME of your own, got "
            f"{name!r}; {program_name('presets')} NAME shows what a preset is, or what it lacks"
        )
    return PRESETS[key]
