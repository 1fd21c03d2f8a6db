"""A pairing, and how home and away are given."""

from __future__ import annotations

from typing import NamedTuple

from podiumkit.model.results import Match


class Pairing(NamedTuple):
    """Two players who will meet, or one who has no opponent.

    Attributes:
        home: The first player.
        away: The second player; None for a bye.
    """

    home: str
    away: str | None

    @property
    def match(self) -> Match:
        """The match, as long as it was not played."""
        return Match(self.home, self.away)

    @property
    def turned(self) -> Pairing:
        """The same with home and away exchanged; a bye stays as it is."""
        return self if self.away is None else Pairing(self.away, self.home)
