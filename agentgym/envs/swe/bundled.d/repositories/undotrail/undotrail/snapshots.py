"""States that were remembered, so that they need not be computed again."""

from __future__ import annotations

import copy
from typing import Any


class Snapshots:
    """Remembers states by the number of events that led to them.

    Args:
        interval: A state is remembered after every so many events.
        limit: How many are kept; the closest pairs are thinned out first.
    """

    def __init__(self, interval: int = 10, limit: int = 20) -> None:
        if interval < 1 or limit < 1:
            raise ValueError(f"interval and limit are at least 1, got {interval} and {limit}")
        self.interval = interval
        self.limit = limit
        self._states: dict[int, Any] = {}

    @property
    def positions(self) -> list[int]:
        """After how many events states are remembered, ascending."""
        return sorted(self._states)

    def offer(self, position: int, state: Any) -> bool:
        """Remember a state if one is due after so many events; return whether it was."""
        if position % self.interval != 0 or position == 0:
            return False
        self._states[position] = copy.deepcopy(state)
        if len(self._states) > self.limit:
            self._thin()
        return True

    def nearest(self, position: int) -> tuple[int, Any] | None:
        """Find the last remembered state that is not behind a position."""
        found = max((known for known in self._states if known <= position), default=None)
        return None if found is None else (found, copy.deepcopy(self._states[found]))

    def forget_after(self, position: int) -> int:
        """Forget the states behind a position, and return how many there were."""
        gone = [known for known in self._states if known > position]
        for known in gone:
            del self._states[known]
        return len(gone)

    def _thin(self) -> None:
        """Drop the one whose neighbours are closest to each other, the earlier among equals."""
        places = [0, *self.positions]
        gaps = [
            (places[index + 1] - places[index - 1], places[index])
            for index in range(1, len(places) - 1)
        ]
        del self._states[min(gaps)[1] if gaps else places[-1]]
