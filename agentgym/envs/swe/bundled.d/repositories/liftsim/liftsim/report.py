"""What came of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field

from liftsim.building import Ride


@dataclass(frozen=True)
class Entry:
    """One thing that a lift did."""

    time: int
    lift: int
    floor: int
    what: str
    """``call``, ``board`` or ``leave``."""
    name: str


@dataclass
class Report:
    """Who called, boarded and left, and when."""

    rides: list[Ride]
    log: list[Entry] = field(default_factory=list)
    travelled: dict[int, int] = field(default_factory=dict)
    """Floors that each lift passed."""

    def time_of(self, name: str, what: str) -> int:
        """Tell when something happened to someone; ``KeyError`` if it never did."""
        for entry in self.log:
            if entry.name == name and entry.what == what:
                return entry.time
        raise KeyError(f"{name} did not {what}")

    def waiting(self, name: str) -> int:
        """Count the ticks between the call and the boarding."""
        return self.time_of(name, "board") - self.time_of(name, "call")

    def riding(self, name: str) -> int:
        """Count the ticks between boarding and leaving."""
        return self.time_of(name, "leave") - self.time_of(name, "board")

    def average_waiting(self) -> float:
        """Average the waiting of all rides; 0.0 if there is none."""
        if not self.rides:
            return 0.0
        return sum(self.waiting(ride.name) for ride in self.rides) / len(self.rides)

    def longest_waiting(self) -> str | None:
        """Name who waited longest, the first caller among equals; ``None`` without rides."""
        if not self.rides:
            return None
        return max(self.rides, key=lambda ride: self.waiting(ride.name)).name

    def lines(self) -> list[str]:
        """Write the log, one line for each entry."""
        return [
            f"{item.time:>4}  lift {item.lift}  floor {item.floor:>2}  {item.name} {item.what}s"
            for item in self.log
        ]
