"""The list of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from undotrail.event import Event

Listener = Callable[[Event], None]


class Log:
    """Events in the order in which they happened."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._listeners: list[tuple[str, Listener]] = []

    def append(
        self, kind: str, data: dict[str, Any] | None = None, group: int = 0, label: str = ""
    ) -> Event:
        """Add an event at the end and tell the listeners."""
        if not kind:
            raise ValueError("an event has a kind")
        event = Event(len(self._events) + 1, kind, dict(data or {}), group, label)
        self._events.append(event)
        for wanted, listener in list(self._listeners):
            if wanted in (kind, "*"):
                listener(event)
        return event

    def subscribe(self, kind: str, listener: Listener) -> Callable[[], None]:
        """Call a function for each new event of a kind, or of any with ``"*"``.

        Returns:
            A function that ends the subscription; calling it again does nothing.
        """
        entry = (kind, listener)
        self._listeners.append(entry)

        def cancel() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return cancel

    def truncate(self, length: int) -> list[Event]:
        """Drop the events behind the first ``length`` and return them."""
        if not 0 <= length <= len(self._events):
            raise ValueError(f"cannot cut {len(self._events)} events to {length}")
        dropped = self._events[length:]
        del self._events[length:]
        return dropped

    def compact(self, merge: Callable[[Event, Event], dict[str, Any] | None]) -> int:
        """Merge neighbours of the same kind and group where possible.

        Args:
            merge: Gets two events and returns the data of one that stands for both, or ``None``.

        Returns:
            How many events were saved.
        """
        kept: list[Event] = []
        for event in self._events:
            last = kept[-1] if kept else None
            data = None
            if last is not None and (last.kind, last.group) == (event.kind, event.group):
                data = merge(last, event)
            if last is not None and data is not None:
                kept[-1] = replace(last, data=data)
            else:
                kept.append(replace(event, number=len(kept) + 1))
        saved = len(self._events) - len(kept)
        self._events = kept
        return saved

    def since(self, number: int) -> list[Event]:
        """List the events behind the one with a number; 0 lists all."""
        return self._events[max(number, 0) :]

    def __len__(self) -> int:
        """How many events there are."""
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        """Go through the events, oldest first."""
        return iter(list(self._events))

    def __getitem__(self, number: int) -> Event:
        """Give the event with a number, counted from 1."""
        if not 1 <= number <= len(self._events):
            raise IndexError(f"there is no event {number} among {len(self._events)}")
        return self._events[number - 1]
