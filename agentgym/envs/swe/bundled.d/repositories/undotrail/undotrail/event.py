"""What happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """Something that happened, once and for all."""

    number: int
    """Its place in the log, from 1."""
    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    group: int = 0
    """Events with the same group are undone together; 0 stands alone."""
    label: str = ""

    def __str__(self) -> str:
        """Write the event in a line."""
        data = ", ".join(f"{name}={value!r}" for name, value in sorted(self.data.items()))
        return f"#{self.number} {self.kind}({data})"
