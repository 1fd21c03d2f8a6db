"""A state with its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from undotrail.event import Event
from undotrail.log import Log
from undotrail.snapshots import Snapshots

S = TypeVar("S")


class NothingToDo(Exception):
    """There is nothing to undo or redo."""


class Trail(Generic[S]):
    """Computes a state from a log of events, and goes back and forth in it.

    Args:
        reduce: Gets a state and an event, and returns the next state.
        initial: The state before the first event.
        snapshots: Where states are remembered; by default after every tenth event.
        keep_branches: Whether events that were undone are kept when others are recorded.
    """

    def __init__(
        self,
        reduce: Callable[[S, Event], S],
        initial: S,
        snapshots: Snapshots | None = None,
        keep_branches: bool = False,
    ) -> None:
        self.reduce = reduce
        self.initial = initial
        self.snapshots = Snapshots() if snapshots is None else snapshots
        self.keep_branches = keep_branches
        self.branches: list[list[Event]] = []
        self.log = Log()
        self.marks: dict[str, int] = {}
        self._state = initial
        self._position = 0
        self._group = 0
        self._groups = 0
        self._label = ""

    @property
    def state(self) -> S:
        """The present state."""
        return self._state

    @property
    def position(self) -> int:
        """How many events count at present."""
        return self._position

    def record(self, kind: str, **data: Any) -> Event:
        """Let something happen; what was undone before is dropped."""
        if self._position < len(self.log):
            self._drop_undone()
        event = self.log.append(kind, data, self._group, self._label)
        self._state = self.reduce(self._state, event)
        self._position += 1
        self.snapshots.offer(self._position, self._state)
        return event

    def _drop_undone(self) -> None:
        dropped = self.log.truncate(self._position)
        self.snapshots.forget_after(self._position)
        self.marks = {name: at for name, at in self.marks.items() if at <= self._position}
        if self.keep_branches:
            self.branches.append(dropped)

    @contextmanager
    def group(self, label: str = "") -> Iterator[None]:
        """Undo and redo what is recorded within as one step; an error takes it all back."""
        if self._group:
            raise RuntimeError("groups cannot be nested")
        start = self._position
        self._groups += 1
        self._group, self._label = self._groups, label
        try:
            yield
        except BaseException:
            self._move(start)
            self.log.truncate(start)
            self.snapshots.forget_after(start)
            raise
        finally:
            self._group, self._label = 0, ""

    @property
    def can_undo(self) -> bool:
        """Whether something can be undone."""
        return self._position > 0

    @property
    def can_redo(self) -> bool:
        """Whether something was undone and can be done again."""
        return self._position < len(self.log)

    def undo(self, steps: int = 1) -> S:
        """Go back by steps, each a group or a single event, and return the state."""
        target = self._position
        for _ in range(steps):
            if target == 0:
                raise NothingToDo(f"cannot undo {steps} steps")
            target -= self._step_size(target, -1)
        return self._move(target)

    def redo(self, steps: int = 1) -> S:
        """Go forth by steps that were undone and return the state."""
        target = self._position
        for _ in range(steps):
            if target == len(self.log):
                raise NothingToDo(f"cannot redo {steps} steps")
            target += self._step_size(target + 1, 1)
        return self._move(target)

    def _step_size(self, number: int, direction: int) -> int:
        """How many events belong to the step that begins with one, seen in a direction."""
        group = self.log[number].group
        size = 1
        while group and 1 <= number + direction * size <= len(self.log):
            if self.log[number + direction * size].group != group:
                break
            size += 1
        return size

    def undo_labels(self) -> list[str]:
        """Name the steps that can be undone, the last one first: their labels, or their kinds."""
        labels = []
        position = self._position
        while position > 0:
            event = self.log[position]
            labels.append(event.label or event.kind)
            position -= self._step_size(position, -1)
        return labels

    def state_at(self, position: int) -> S:
        """Compute the state after some number of events."""
        if not 0 <= position <= len(self.log):
            raise IndexError(f"there are {len(self.log)} events, not {position}")
        start, state = self.snapshots.nearest(position) or (0, self.initial)
        for number in range(start + 1, position + 1):
            state = self.reduce(state, self.log[number])
        return state

    def mark(self, name: str) -> None:
        """Give the present position a name."""
        self.marks[name] = self._position

    def goto(self, name: str) -> S:
        """Go to a position that has a name."""
        if name not in self.marks:
            raise KeyError(name)
        return self._move(self.marks[name])

    def switch(self, branch: int) -> S:
        """Take up a branch: its events replace those that came instead of them.

        The events that are replaced become a branch themselves.
        """
        if not 0 <= branch < len(self.branches):
            raise IndexError(f"there are {len(self.branches)} branches, no number {branch}")
        events = self.branches.pop(branch)
        start = events[0].number - 1
        if start > len(self.log):
            raise ValueError("the branch begins behind the end of the log")
        self._move(start)
        replaced = self.log.truncate(start)
        self.snapshots.forget_after(start)
        if replaced:
            self.branches.append(replaced)
        for event in events:
            self.log.append(event.kind, event.data, event.group, event.label)
        return self._move(len(self.log))

    def _move(self, position: int) -> S:
        self._state = self.state_at(position)
        self._position = position
        return self._state
