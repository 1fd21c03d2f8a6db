"""Questions about events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from undotrail.event import Event


class Query:
    """A choice of events; every method that narrows it returns a new one.

    Args:
        events: The events.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = list(events)

    def __iter__(self) -> Iterator[Event]:
        """Go through the chosen events."""
        return iter(self._events)

    def kind(self, *kinds: str) -> Query:
        """Keep events of some kinds; ``user.*`` stands for all kinds that begin with ``user.``."""

        def fits(event: Event) -> bool:
            return any(
                event.kind.startswith(kind[:-1]) if kind.endswith(".*") else event.kind == kind
                for kind in kinds
            )

        return Query(event for event in self._events if fits(event))

    def where(self, **data: Any) -> Query:
        """Keep events whose data have these values."""
        return Query(
            event
            for event in self._events
            if all(name in event.data and event.data[name] == data[name] for name in data)
        )

    def between(self, first: int = 1, last: int | None = None) -> Query:
        """Keep events with numbers from ``first`` to ``last``, both included."""
        return Query(
            event
            for event in self._events
            if event.number >= first and (last is None or event.number <= last)
        )

    def last(self, count: int = 1) -> Query:
        """Keep the last events."""
        return Query(self._events[-count:] if count > 0 else [])

    def count(self) -> int:
        """Count the events."""
        return len(self._events)

    def counts(self) -> dict[str, int]:
        """Count the events of each kind, the most frequent first, then by name."""
        found: dict[str, int] = {}
        for event in self._events:
            found[event.kind] = found.get(event.kind, 0) + 1
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def values(self, name: str) -> list[Any]:
        """List a value of the events that have it."""
        return [event.data[name] for event in self._events if name in event.data]

    def fold(self, function: Callable[[Any, Event], Any], start: Any) -> Any:
        """Combine all events, one after the other."""
        result = start
        for event in self._events:
            result = function(result, event)
        return result
