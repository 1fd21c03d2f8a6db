"""A queue by priority in which priorities can change: a binary heap that knows its places."""

from __future__ import annotations


class UpdatableQueue:
    """Items with priorities; the smallest comes out first, equal ones in order of arrival."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str]] = []
        self._places: dict[str, int] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._heap)

    def __contains__(self, item: object) -> bool:
        """Say whether an item is waiting."""
        return item in self._places

    def push(self, item: str, priority: int) -> None:
        """Add an item.

        Raises:
            ValueError: The item is waiting already.
        """
        if item in self._places:
            raise ValueError(f"{item!r} is waiting already")
        self._heap.append((priority, self._arrivals, item))
        self._arrivals += 1
        self._places[item] = len(self._heap) - 1
        self._rise(len(self._heap) - 1)

    def update(self, item: str, priority: int) -> None:
        """Change the priority of an item, which keeps its time of arrival; KeyError if unknown."""
        place = self._places[item]
        self._heap[place] = (priority, self._heap[place][1], item)
        self._rise(place)
        self._sink(self._places[item])

    def priority(self, item: str) -> int:
        """Return the priority of an item; KeyError if unknown."""
        return self._heap[self._places[item]][0]

    def peek(self) -> tuple[str, int]:
        """Return the first item and its priority; IndexError if nothing is waiting."""
        priority, _, item = self._heap[0]
        return item, priority

    def pop(self) -> tuple[str, int]:
        """Take the first item out; IndexError if nothing is waiting."""
        item, priority = self.peek()
        self.remove(item)
        return item, priority

    def remove(self, item: str) -> None:
        """Take an item out, wherever it stands; KeyError if unknown."""
        place = self._places.pop(item)
        last = self._heap.pop()
        if place < len(self._heap):
            self._heap[place] = last
            self._places[last[2]] = place
            self._rise(place)
            self._sink(self._places[last[2]])

    def _rise(self, place: int) -> None:
        """Move an entry up while it is smaller than its parent."""
        while place > 0:
            parent = (place - 1) // 2
            if self._heap[parent] <= self._heap[place]:
                return
            self._swap(place, parent)
            place = parent

    def _sink(self, place: int) -> None:
        """Move an entry down while one of its children is smaller."""
        size = len(self._heap)
        while True:
            smallest = place
            for child in (2 * place + 1, 2 * place + 2):
                if child < size and self._heap[child] < self._heap[smallest]:
                    smallest = child
            if smallest == place:
                return
            self._swap(place, smallest)
            place = smallest

    def _swap(self, one: int, other: int) -> None:
        """Exchange two entries."""
        heap = self._heap
        heap[one], heap[other] = heap[other], heap[one]
        self._places[heap[one][2]] = one
        self._places[heap[other][2]] = other
