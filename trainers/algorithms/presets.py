"""All presets by name: those of ``core_presets`` and those of optional methods.

A preset has the name of its paper. The bundled trainer either runs it in full (``runnable``) or
rejects it and lists what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from agentgym.errors import ConfigurationError
from trainers.algorithms.core_presets import CORE_PRESETS, TURN_LOO
from trainers.algorithms.needs import REFERENCE
from trainers.algorithms.preset import Preset
from trainers.methods.table import methods
from trainers.program_name import program_name

DEFAULT = TURN_LOO.name
"""Name of the default preset."""
SERVES = (
    REFERENCE,
    *(need for method in methods() if method.provides is None for need in method.needs),
)
"""Requirements of presets that the trainer meets under any settings."""


def _in_order() -> Iterator[Preset]:
    """Yield the presets; a method's presets follow the preset that the method names."""
    names = {preset.name for preset in CORE_PRESETS}
    for preset in CORE_PRESETS:
        yield preset
        for method in methods():
            yield from method.presets.get(preset.name, ())
    for method in methods():
        for name, presets in method.presets.items():
            if name not in names:
                yield from presets


PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _in_order()})
"""Every preset by name."""


def runnable(available: Collection[str] = SERVES) -> list[str]:
    """Return the names of the presets that can be run in full, in alphabetical order."""
    return sorted(
        name
        for name, preset in PRESETS.items()
        if not preset.missing(available) and not preset.left_out
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
