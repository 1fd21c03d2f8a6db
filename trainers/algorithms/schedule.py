"""Schedules: numbers that depend on the training step, such as the turn budget of ScalingInter-RL.

Steps count from 1. All but ``Gated`` are pure functions of the step: a resumed run needs no state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentgym.errors import ConfigurationError


class Schedule(Protocol):
    """What every schedule can do."""

    def __call__(self, step: int) -> float:
        """Value at a step (from 1)."""

    def stage(self, step: int) -> int:
        """How many times the value has changed by this step: 0 in the first stage."""


@dataclass(frozen=True)
class Constant:
    """The same value at every step."""

    value: float
    """The value."""

    def __call__(self, step: int) -> float:
        """Return the value."""
        check_step(step)
        return self.value

    def stage(self, step: int) -> int:
        """Always 0."""
        check_step(step)
        return 0


@dataclass(frozen=True)
class Stages:
    """ScalingInter-RL (arXiv 2509.08755): ``rounds[min((step - 1) // every, len - 1)]``."""

    rounds: tuple[int, ...]
    """Value of each stage; ScalingInter lets it grow, as in (5, 8, 10) turns."""
    every: int
    """Steps in each stage but the last, which never ends."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ConfigurationError: There are no rounds, or ``every`` is below 1.
        """
        if not self.rounds:
            raise ConfigurationError(
                "expected at least one round, got none; give for example (5, 8, 10)"
            )
        if self.every < 1:
            raise ConfigurationError(
                f"expected every >= 1 step, got {self.every}; give for example 100"
            )

    def __call__(self, step: int) -> int:
        """Value of the stage that contains the step."""
        return self.rounds[self.stage(step)]

    def stage(self, step: int) -> int:
        """Index into ``rounds`` at the step."""
        check_step(step)
        return min((step - 1) // self.every, len(self.rounds) - 1)


@dataclass(frozen=True)
class Linear:
    """A straight line from ``start`` at step 1 to ``end`` at step ``steps``, then constant."""

    start: float
    """Value at step 1."""
    end: float
    """Value from step ``steps`` on."""
    steps: int
    """Step at which ``end`` is reached."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ConfigurationError: The ramp is shorter than two steps.
        """
        if self.steps < 2:
            raise ConfigurationError(f"expected steps >= 2, got {self.steps}; or use Constant")

    def __call__(self, step: int) -> float:
        """Value at the step."""
        fraction = self.stage(step) / (self.steps - 1)
        return (1.0 - fraction) * self.start + fraction * self.end

    def stage(self, step: int) -> int:
        """Steps taken along the ramp, at most ``steps - 1``."""
        check_step(step)
        return min(step, self.steps) - 1


@dataclass
class Gated:
    """Moves to the next round when mean success over a full window reaches a threshold.

    The only schedule with a state: keep ``state_dict()`` in the checkpoint. The window starts empty
    in each stage, so a stage lasts at least ``window`` observed steps.
    """

    rounds: tuple[int, ...]
    """Value of each stage."""
    threshold: float = 0.7
    """Mean success, in [0, 1], that opens the next stage."""
    window: int = 20
    """Observed steps the mean is taken over."""
    _starts: list[int] = field(default_factory=list, init=False, repr=False)
    _recent: deque[float] = field(default_factory=deque, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ConfigurationError: No rounds, an empty window, or a threshold outside [0, 1].
        """
        if not self.rounds or self.window < 1 or not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(
                "expected rounds, window >= 1 and threshold in [0, 1], got "
                f"rounds={self.rounds}, window={self.window}, threshold={self.threshold}"
            )

    def __call__(self, step: int) -> int:
        """Value at a step that has been reached, or at the next one."""
        return self.rounds[self.stage(step)]

    def report_success(self, step: int, success: float) -> None:
        """Record the success rate of a finished step; a new stage starts at the next step.

        Args:
            step: The step that was trained, from 1.
            success: Its mean success, in [0, 1].

        Raises:
            ConfigurationError: The step is below 1 or the success is outside [0, 1].
        """
        check_step(step)
        if not 0.0 <= success <= 1.0:
            raise ConfigurationError(
                f"expected a success rate in [0, 1], got {success}; pass the mean"
            )
        self._recent.append(success)
        while len(self._recent) > self.window:
            self._recent.popleft()
        full = len(self._recent) == self.window
        if full and sum(self._recent) / self.window >= self.threshold:
            if len(self._starts) < len(self.rounds) - 1:
                self._starts.append(step + 1)
            self._recent.clear()

    def stage(self, step: int) -> int:
        """Index into ``rounds`` at the step, as far as observed."""
        check_step(step)
        return sum(start <= step for start in self._starts)

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state for a checkpoint."""
        return {"starts": list(self._starts), "recent": list(self._recent)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned.

        Raises:
            KeyError: The state lacks one of its entries.
        """
        self._starts = [int(start) for start in state["starts"]]
        self._recent = deque(float(success) for success in state["recent"])


def parse_horizon(text: str, every: int = 100) -> Constant | Stages:
    """Read a horizon from a command line: ``"8"`` is constant, ``"5,8,10"`` are stages.

    Args:
        text: Turn budgets separated by commas, each a positive integer.
        every: Steps in each stage; unused for a single budget.

    Returns:
        The schedule.

    Raises:
        ConfigurationError: The text is not a list of positive integers, or ``every`` is below 1.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigurationError(
            f"expected turn budgets such as '8' or '5,8,10', got {text!r}; "
            "give positive integers separated by commas"
        )
    rounds = tuple(int(part) for part in parts)
    return Constant(rounds[0]) if len(rounds) == 1 else Stages(rounds, every)


def check_step(step: int) -> None:
    """Raise ConfigurationError for a step below 1."""
    if step < 1:
        raise ConfigurationError(
            f"expected a training step counted from 1, got {step}; pass step + 1"
        )
