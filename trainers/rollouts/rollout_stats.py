"""Where the time of rollouts goes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RolloutStats"]


@dataclass
class RolloutStats:
    """The runner's time by part."""

    turns: int = 0
    """Turns taken."""
    seconds: float = 0.0
    """Wall time."""
    engine_seconds: float = 0.0
    """Wall time inside the engine."""
    env_seconds: float = 0.0
    """Wall time inside calls of the environments: their work in this thread, or waiting for them
    because the engine had nothing to do."""
    env_busy_seconds: float = 0.0
    """Wall time in which at least one environment was stepping; the part beyond ``env_seconds`` was
    hidden behind generation."""

    @property
    def overhead_us(self) -> float:
        """Microseconds per turn spent neither inside the engine nor inside the environments."""
        overhead = self.seconds - self.engine_seconds - self.env_seconds
        return 1e6 * overhead / max(1, self.turns)
