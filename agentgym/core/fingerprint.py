"""Fingerprints of the arguments of objects.

Snapshots contain the fingerprint of their environment: an episode cannot continue in an environment
that parses, rewards or shows things differently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from agentgym.core.hooks import TurnReward
from agentgym.core.options import arguments

VIEWS = frozenset({"expose_oracle", "horizon", "render_mode", "split"})
"""Arguments that do not affect a running episode: snapshots may differ in them. (An episode stores
its own horizon.)"""
DEPTH = 6
"""Maximum depth to which an argument is inspected."""
BREADTH = 1000
"""Maximum number of inspected entries of a collection; for larger ones, only the size counts."""


def fingerprint(cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return a fingerprint of an environment's arguments, as 16 hexadecimal digits.

    Equal arguments give equal fingerprints, passed or default, on every machine and in every
    process. Plain values, functions, dataclasses and reward hooks count with all their contents;
    for other objects (a shop of a million products) only the class counts, and a snapshot also
    compares its task.
    """
    defaults = arguments(cls)
    values = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
    parts = {name: describe(value) for name, value in values.items() if name not in VIEWS}
    text = json.dumps([_name(cls), sorted(parts.items())])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def describe(value: object, depth: int = DEPTH) -> Any:
    """Describe a value by JSON lists and scalars: its class and contents, to a depth of ``depth``.

    Values of equal class and contents have equal descriptions.
    """
    if isinstance(value, Enum):
        return [_name(type(value)), value.name]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return ["float", repr(value)]
    if depth == 0:
        return _name(type(value))
    inside = partial(describe, depth=depth - 1)
    if isinstance(value, type):
        return ["class", _name(value)]
    if isinstance(value, PurePath):
        return ["path", str(value)]
    if isinstance(value, Sized) and len(value) > BREADTH:
        return ["large", _name(type(value)), len(value)]
    if isinstance(value, Mapping):
        return ["mapping", sorted(([inside(k), inside(v)] for k, v in value.items()), key=str)]
    if isinstance(value, list | tuple):
        return ["sequence", [*map(inside, value)]]
    if isinstance(value, AbstractSet):
        return ["set", sorted(map(inside, value), key=str)]
    if isinstance(value, np.generic):
        return inside(value.item())
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), inside(value.tolist())]
    if isinstance(value, FunctionType | MethodType | partial):
        return _function(value, inside)
    if isinstance(value, TurnReward) or is_dataclass(value):
        return [_name(type(value)), inside(_contents(value))]
    return _name(type(value))


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _function(
    value: FunctionType | MethodType | partial[Any], inside: Callable[[object], Any]
) -> Any:
    """Describe a function by its name, bytecode, constants, closure and default arguments.

    The bytecode makes a changed function differ, although its name stays the same.
    """
    if isinstance(value, partial):
        return ["partial", inside(value.func), inside(value.args), inside(value.keywords)]
    if isinstance(value, MethodType):
        return ["method", inside(value.__func__), inside(value.__self__)]
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    code = value.__code__
    constants = [part for part in code.co_consts if not hasattr(part, "co_code")]
    digest = hashlib.blake2b(code.co_code, digest_size=8).hexdigest()
    carried = [constants, code.co_names, cells, value.__defaults__, value.__kwdefaults__]
    return ["function", value.__module__, value.__qualname__, digest, inside(carried)]


def _contents(value: object) -> dict[str, Any]:
    """Return the attributes of an object, including slots."""
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**attributes, **getattr(value, "__dict__", {})}


def _slots(cls: type) -> list[str]:
    slot_names = vars(cls).get("__slots__", ())
    names = [slot_names] if isinstance(slot_names, str) else list(slot_names)
    return [name for name in names if not name.startswith("__")]
