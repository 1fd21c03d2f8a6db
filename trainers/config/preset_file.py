"""``--preset-file``: parts of a preset in the plain form in which ``config.yaml`` keeps them.

A part is written as its class and fields, ``{part: RewardToGo, gamma: 0.95}``; omitted fields have
their defaults. ``MODULE:NAME`` names a user's dataclass in place of a built-in class, or a user's
function where a part takes a function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agentgym.core.options import import_own
from agentgym.errors import ConfigurationError
from agentgym.support.guesses import with_guesses
from agentgym.trust import Claim, check_trusted
from agentgym.trust.claims import claim
from agentgym.trust.table import PRESET_PART
from agentgym.trust.typed_here import TypedHere
from trainers.algorithms import filters, preferences, shaping, signals
from trainers.algorithms.advantage import Term, Whiten
from trainers.algorithms.loss import Loss
from trainers.algorithms.preset import PARTS, Preset
from trainers.config.config_file import read_settings
from trainers.methods.table import methods

_CORE: Mapping[str, tuple[type, ...]] = {
    "terms": (Term,),
    "post": (Whiten,),
    "loss": (Loss,),
    "filters": (
        filters.ZeroVariance, filters.TopVariance, filters.HarnessEndings, filters.FlaggedTurns,
    ),
    "shapers": (shaping.EndPenalty, shaping.Overlong, shaping.FlagPenalty),
    "signal": (
        signals.EpisodeReturn, signals.Solved, signals.StepReward, signals.RewardToGo,
        signals.KLToGo, preferences.Preference,
    ),
}  # fmt: skip
SUPPLIED: Mapping[str, tuple[type, ...]] = {
    field: (
        *_CORE.get(field, ()),
        *(cls for method in methods() for cls in method.parts.get(field, ())),
    )
    for field in dict.fromkeys([*_CORE, *(name for method in methods() for name in method.parts)])
}
"""Built-in classes, by the field that takes them."""
_LISTS = ("terms", "filters", "shapers")


def with_parts_of(preset: Preset, path: Path) -> Preset:
    """Return a preset with some parts replaced by those of a file.

    Args:
        preset: The preset, which keeps the parts that the file omits.
        path: A YAML file with some of ``terms``, ``post``, ``loss``, ``filters``, ``shapers``,
            ``pool`` and ``branching``, as under ``preset_parts`` in the ``config.yaml`` of a run.

    Raises:
        ConfigurationError: The file cannot be read, or holds something else.
    """
    settings = read_settings(path)
    claims, typed = _part_claims(settings), TypedHere(path.parent)
    check_trusted(claims, str(path), typed)
    typed.remember(claims)  # So that the run can be resumed without flags.
    try:
        if unknown := [str(name) for name in settings if name not in PARTS]:
            raise ConfigurationError(
                f"expected parts of a preset ({', '.join(PARTS)}), as under preset_parts in the "
                f"config.yaml of a run, got {with_guesses(unknown, PARTS)}"
            )
        parts = {name: _read_value(value, name) for name, value in settings.items()}
        return replace(preset, **parts, name=path.stem, title=f"parts of {path.name}", arxiv=None)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} (in {path})") from error


def _part_claims(value: Any) -> list[Claim]:
    """Return claims for all parts and functions that a file names, at any depth."""
    if isinstance(value, Mapping):
        return [part for entry in value.values() for part in _part_claims(entry)]
    if isinstance(value, list):
        return [part for entry in value for part in _part_claims(entry)]
    return [claim("part", value, PRESET_PART)] if isinstance(value, str) else []


def _read_value(value: Any, field: str) -> Any:
    """Read the value of a preset's field."""
    if field in _LISTS:
        if not isinstance(value, list):
            raise ConfigurationError(f"expected a list of parts as {field}, got {value!r:.80}")
        return tuple(_part(part, f"{field}[{n}]", field) for n, part in enumerate(value))
    if value is None and field in ("post", "pool", "branching"):
        return None
    return _part(value, field, field)


def _part(value: Any, place: str, field: str) -> Any:
    """Make a part from its class and its fields."""
    supplied = {cls.__name__: cls for cls in SUPPLIED[field]}
    form = f"a part as {place} (part: {' or '.join(supplied)}, or MODULE:NAME of your own)"
    if not isinstance(value, Mapping) or "part" not in value:
        raise ConfigurationError(f"expected {form}, got {value!r:.80}")
    cls: Any = supplied.get(name := value["part"])
    if cls is None:
        if not (isinstance(name, str) and ":" in name):
            raise ConfigurationError(f"expected {form}, got {name!r:.80}")
        cls = import_own(
            name, form, "a dataclass", lambda e: isinstance(e, type) and is_dataclass(e)
        )
    names = [item.name for item in fields(cls) if item.init]
    if unknown := [str(key) for key in value if key not in ("part", *names)]:
        raise ConfigurationError(
            f"expected fields of {name} as {place}, got {with_guesses(unknown, names)}"
        )
    arguments = {key: _value(value[key], f"{place}.{key}", key) for key in names if key in value}
    try:
        return _maker(cls).validate_python(arguments)
    except ValidationError as error:
        raise ConfigurationError(_sentence(error, place)) from error


def _value(value: Any, place: str, field: str) -> Any:
    """Read a field of a part: another part, a function, or a plain value."""
    if field in SUPPLIED:
        return _part(value, place, field)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"expected {place} to be finite, got {value}")
    if isinstance(value, str) and ":" in value:
        return import_own(value, f"MODULE:NAME as {place}", "a function", callable)
    return value


def _sentence(error: ValidationError, place: str) -> str:
    """Return an error message about the fields of a part."""
    first = error.errors()[0]
    if first["type"] == "value_error":  # the part's own message
        return f"{first['ctx']['error']} as {place}"
    setting = ".".join([place, *map(str, first["loc"][:1])])
    if first["type"] == "missing":
        return f"expected {setting}, got none"
    expectation = first["msg"].removeprefix("Input should be ")
    return f"expected {setting} to be {expectation}, got {first['input']!r:.80}"


@cache
def _maker(cls: type) -> TypeAdapter[Any]:
    """Return the validator that makes a part of its fields."""
    return TypeAdapter(cls)
