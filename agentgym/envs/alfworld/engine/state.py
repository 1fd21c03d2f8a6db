"""What can change in a household, as one immutable value.

Entities are numbers: receptacles first (so that they index :attr:`HouseholdState.contents`), then
objects, locations and the rest, each kind in the order of its PDDL names. Order by number is
therefore the order in which the original lists things.
"""

from __future__ import annotations

from typing import Any, NamedTuple

NOBODY = -1
"""In place of an object: the hand is empty."""


class HouseholdState(NamedTuple):
    """The changing facts of a household."""

    place: int
    """Location of the agent."""
    hand: int
    """Object in hand, or :data:`NOBODY`."""
    opened: frozenset[int]
    """Open receptacles."""
    contents: tuple[tuple[int, ...], ...]
    """Objects of each receptacle, in order."""
    lying: frozenset[tuple[int, int]]
    """(object, location) pairs of ``objectAtLocation``; not always where its receptacle is."""
    displaced: frozenset[tuple[int, int]]
    """(object, receptacle) pairs such that the object was once taken from there and not put back;
    ``look`` tells some of them."""
    clean: frozenset[int]
    """Clean objects."""
    hot: frozenset[int]
    """Hot objects."""
    cool: frozenset[int]
    """Cold objects."""
    toggled: frozenset[int]
    """Objects switched on at least once."""
    sliced: frozenset[int]
    """Sliced objects."""

    def facts(self) -> tuple[frozenset[Any], ...]:
        """Return all fields that are sets."""
        return (self.opened, self.lying, self.displaced, self.clean, self.hot, self.cool,
                self.toggled, self.sliced)  # fmt: skip
