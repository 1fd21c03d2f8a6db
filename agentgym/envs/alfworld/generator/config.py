"""How large and how hard generated households are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from agentgym.core.options import integer, preset
from agentgym.core.tasks import canonical_json
from agentgym.envs.alfworld.engine.household import TASK_TYPES
from agentgym.envs.alfworld.generator.object_tables import ROOM_KINDS, TASK_ROOMS
from agentgym.errors import ConfigurationError

SHORT_NAMES = dict(zip(("place", "look", "clean", "heat", "cool", "two"), TASK_TYPES, strict=True))
"""Short names of the task types."""

SMALLEST_HOUSEHOLD = 3
"""Receptacles that every task can do with: a start, an appliance and a destination."""

MOST = 1000

Range = tuple[int, int]


@dataclass(frozen=True)
class GeneratorConfig:
    """Settings of the household generator.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    task_types: Sequence[str] = TASK_TYPES
    """Task types, by their full names or as ``place``, ``look``, ``clean``, ``heat``, ``cool`` and
    ``two``. Game number ``i`` of a split is of type ``i % len(task_types)``."""
    rooms: Sequence[str] = ROOM_KINDS
    """Kinds of rooms: ``Kitchen``, ``LivingRoom``, ``Bedroom``, ``Bathroom``."""
    receptacles: int | Range | None = None
    """Number of receptacles that the room keeps: a number, an inclusive range, or None for all. At
    least 3; those that the task needs are always kept, and a room may have fewer than asked."""
    distractors: int | Range | None = None
    """Number of objects besides those of the task: a number, a range, or None for zero to two of
    every type that occurs in the room. At most three of a type, so small rooms may hold fewer than
    asked."""
    hidden: bool | None = None
    """True: the objects to take start in closed receptacles; False: in the open; None: either."""
    ready: int = 0
    """Percentage of the tasks to clean, heat or cool whose object needs no treatment. Only
    ``examine`` shows it, with the object in hand."""

    def __post_init__(self) -> None:
        """Check the values and bring them into one form."""
        types = full_names(self.task_types)
        kinds = _names("rooms", self.rooms, {name: name for name in ROOM_KINDS})
        object.__setattr__(self, "task_types", types)
        object.__setattr__(self, "rooms", kinds)
        for name, least in (("receptacles", SMALLEST_HOUSEHOLD), ("distractors", 0)):
            object.__setattr__(self, name, _range(name, getattr(self, name), least))
        integer(self.ready, "ready (in per cent)", 0, 100)
        if self.hidden is not None and type(self.hidden) is not bool:
            raise ConfigurationError(
                f"expected hidden to be True, False or None, got {self.hidden!r}"
            )
        homeless = [name for name in types if TASK_ROOMS[name].isdisjoint(kinds)]
        if homeless:
            raise ConfigurationError(
                f"expected rooms in which every task type is set, but {homeless[0]!r} is only set "
                f"in {', '.join(sorted(TASK_ROOMS[homeless[0]]))}; got rooms={list(kinds)}: add "
                "one of those, or leave the task type out"
            )

    @classmethod
    def of(cls, value: GeneratorConfig | str | Mapping[str, Any]) -> GeneratorConfig:
        """Return the config of a difficulty's name, of a mapping of values, or as it is given.

        Raises:
            ConfigurationError: There is no such difficulty or setting.
        """
        if isinstance(value, GeneratorConfig | str):
            return preset(value, "a difficulty", DIFFICULTIES)
        settings = [field.name for field in fields(cls)]
        if not isinstance(value, Mapping):
            raise ConfigurationError(
                f"expected generator settings: the name of a difficulty "
                f"({', '.join(DIFFICULTIES)}), or a mapping of {', '.join(settings)}; got "
                f"{value!r:.80}"
            )
        unknown = sorted(set(map(str, value)) - set(settings))
        if unknown:
            raise ConfigurationError(
                f"expected generator settings among {', '.join(settings)}; got {unknown[0]!r}"
            )
        return cls(**value)

    def text(self) -> str:
        """Return all values as one canonical line; equal configs have equal lines."""
        values = asdict(self)
        if not self.ready:  # Games without it are those from before there was such a setting.
            del values["ready"]
        return canonical_json(values)

    @property
    def key(self) -> str:
        """Name for task ids: that of the difficulty, or one made of a hash of the values."""
        for name, config in DIFFICULTIES.items():
            if config == self:
                return name
        return f"custom-{hashlib.sha256(self.text().encode()).hexdigest()[:8]}"


def as_range(value: int | Range | None) -> Range | None:
    """Return a number as a range with both ends; a range and None stay as they are."""
    return (value, value) if isinstance(value, int) else value


def full_names(task_types: Sequence[str]) -> tuple[str, ...]:
    """Return the full names of task types, given by full or short names, in the order given.

    Raises:
        ConfigurationError: One of them is not the name of a task type, or there are none.
    """
    aliases = {**SHORT_NAMES, **{name: name for name in TASK_TYPES}}
    return _names("task_types", task_types, aliases)


def _names(field: str, value: Any, aliases: Mapping[str, str]) -> tuple[str, ...]:
    """Check a sequence of names and return them in full, in the order given."""
    requested = [value] if isinstance(value, str) else value
    listed = isinstance(requested, Sequence) and all(isinstance(name, str) for name in requested)
    if not listed or not requested or any(name not in aliases for name in requested):
        raise ConfigurationError(
            f"expected {field} to be a sequence of {', '.join(aliases)}; got {value!r}"
        )
    names = tuple(aliases[name] for name in requested)
    if len(set(names)) != len(names):
        raise ConfigurationError(f"expected each of {field} once, got {value!r}")
    return names


def _range(field: str, value: Any, least: int) -> Range | None:
    """Check a number or range and return it as a range."""
    pair: Any = as_range(value)
    if pair is None:
        return None
    well_formed = (
        isinstance(pair, Sequence) and len(pair) == 2 and all(type(n) is int for n in pair)
    )
    if not well_formed or not least <= pair[0] <= pair[1] <= MOST:
        raise ConfigurationError(
            f"expected {field} to be a whole number from {least} to {MOST}, a range (low, high) of "
            f"such, or None for as many as the room has; got {value!r}"
        )
    return (pair[0], pair[1])


DIFFICULTIES: dict[str, GeneratorConfig] = {
    "easy": GeneratorConfig(receptacles=(4, 6), distractors=(2, 4), hidden=False),
    "medium": GeneratorConfig(receptacles=(8, 14), distractors=(6, 12)),
    "hard": GeneratorConfig(),
}
"""Named settings: a corner of a room with little in it and nothing hidden, half a room, and whole
rooms of about the size of the official games."""
