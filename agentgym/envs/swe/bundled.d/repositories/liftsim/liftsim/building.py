"""The house and the people who want to move in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Building:
    """A house with lifts that are all alike and wait on the ground floor, which is floor 0."""

    floors: int
    lifts: int = 1
    capacity: int = 8
    ticks_per_floor: int = 1
    """How long a lift takes from one floor to the next."""
    door_ticks: int = 2
    """How long the doors stay open at a stop."""

    def __post_init__(self) -> None:
        """Refuse a house in which nothing could move."""
        if self.floors < 2:
            raise ValueError(f"a lift needs at least two floors, got {self.floors}")
        for name in ("lifts", "capacity", "ticks_per_floor"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, got {getattr(self, name)}")
        if self.door_ticks < 0:
            raise ValueError(f"door_ticks cannot be negative, got {self.door_ticks}")

    def check(self, floor: int) -> None:
        """Raise ``ValueError`` if there is no such floor."""
        if not 0 <= floor < self.floors:
            raise ValueError(f"floors are 0 to {self.floors - 1}, there is no floor {floor}")


@dataclass(frozen=True)
class Ride:
    """Someone who calls a lift at a tick."""

    name: str
    time: int
    origin: int
    target: int

    def __post_init__(self) -> None:
        """Refuse a ride that begins before time 0 or leads nowhere."""
        if self.time < 0:
            raise ValueError(f"time cannot be negative, got {self.time}")
        if self.origin == self.target:
            raise ValueError(f"{self.name} is already on floor {self.target}")

    @property
    def upward(self) -> bool:
        """Whether the ride goes up."""
        return self.target > self.origin
