"""What the expert has to do, in units of one object: errands, and how far a plan has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.envs.alfworld.engine.actions import Action
from agentgym.envs.alfworld.engine.state import NOBODY


@dataclass(frozen=True, slots=True)
class Errand:
    """What to do with one object of several."""

    objects: tuple[int, ...]
    """Objects that will do."""
    treatments: tuple[str, ...] = ()
    """What must have been done to it: ``clean``, ``heat``, ``cool``, ``slice``."""
    group: int = NOBODY
    """Errands of one group end in one receptacle; those of group -1 keep the object in hand."""
    ends: tuple[int, ...] = ()
    """Receptacles to choose from, the same for all errands of a group."""


class Visit(NamedTuple):
    """Where to be when all errands are done."""

    receptacle: int
    """The agent goes to this receptacle ..."""
    place: int
    """... which is at this location ..."""
    switch: int
    """... and uses this object, unless it is below 0."""


class Point(NamedTuple):
    """How far a plan has come."""

    place: int
    hand: int
    opened: frozenset[int]
    """Receptacles that the plan has opened."""
    cost: int
    """Commands so far."""
    trail: Any
    """The last command and, nested, those before it: ``(trail, Action)`` or None."""

    def did(self, verb: str, first: int, second: int, hand: int) -> Point:
        """Add a command that leaves ``hand`` in hand."""
        trail = (self.trail, Action(verb, first, second))
        return Point(self.place, hand, self.opened, self.cost + 1, trail)


class Agenda(NamedTuple):
    """What is left to do."""

    left: tuple[int, ...]
    """Numbers of errands."""
    used: tuple[int, ...]
    """Objects of the errands that are done."""
    ends: Mapping[int, int]
    """Group -> receptacle, where it is chosen."""
