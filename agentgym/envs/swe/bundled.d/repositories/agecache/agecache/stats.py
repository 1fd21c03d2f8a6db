"""How well a cache does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Stats:
    """Counters of a cache.

    Attributes:
        hits: Questions that were answered.
        misses: Questions that were not.
        evictions: Entries that gave way to others.
        expirations: Entries that became too old.
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    expirations: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of questions that were answered; 0 if there were none."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def reset(self) -> None:
        """Set all counters to 0."""
        self.hits = self.misses = self.evictions = self.expirations = 0
