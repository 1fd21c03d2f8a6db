"""Schedules: numbers that depend on the training step, such as the turn budget of ScalingInter-RL.

Steps count from 1. All but ``Gated`` are pure functions of the step, so a resumed run needs no
state for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentgym.errors import ConfigurationError


class Schedule(Protocol):
    """The interface of a schedule."""

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
    """Steps in each stage; the last stage never ends."""

    def __post_init__(self) -> None:
        """Check the fields."""
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


@dataclass
class Gated:
    """Move to the next round when mean success over a full window reaches a threshold.

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
        """Check the fields."""
        if not self.rounds or self.window < 1 or not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(
                "expected rounds, window >= 1 and threshold in [0, 1], got "
                f"rounds={self.rounds}, window={self.window}, threshold={self.threshold}"
            )

    def __call__(self, step: int) -> int:
        """Value at a step that has been reached, or at the next one."""
        return self.rounds[self.stage(step)]

    def report_success(self, step: int, success: float, planned: int = 0) -> None:
        """Record the mean success, in [0, 1], of a trained step (from 1).

        A new stage starts at the next step that is not planned yet: ``planned`` steps after this
        one already have the value of the old stage and do not count for the new one.
        """
        check_step(step)
        if not 0.0 <= success <= 1.0:
            raise ConfigurationError(
                f"expected a success rate in [0, 1], got {success}; pass the mean"
            )
        if self._starts and step < self._starts[-1]:
            return  # It was played at the horizon of the stage before.
        self._recent.append(success)
        while len(self._recent) > self.window:
            self._recent.popleft()
        full = len(self._recent) == self.window
        if full and sum(self._recent) / self.window >= self.threshold:
            if len(self._starts) < len(self.rounds) - 1:
                self._starts.append(step + 1 + planned)
            self._recent.clear()

    def stage(self, step: int) -> int:
        """Index into ``rounds`` at the step, as far as observed."""
        check_step(step)
        return sum(start <= step for start in self._starts)

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state for a checkpoint."""
        return {"starts": list(self._starts), "recent": list(self._recent)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._starts = [int(start) for start in state["starts"]]
        self._recent = deque(float(success) for success in state["recent"])


@dataclass(frozen=True)
class PerFamily:
    """The turn budgets of several task families, each with its own schedule.

    The value is the largest of all families; stages are counted over all families.
    """

    schedules: Mapping[str, Schedule]
    """Schedule of each family."""

    def __call__(self, step: int) -> int:
        """Largest value at a step."""
        return max(self.values(step).values())

    def values(self, step: int) -> dict[str, int]:
        """Value of each family at a step."""
        return {name: int(schedule(step)) for name, schedule in self.schedules.items()}

    def stage(self, step: int) -> int:
        """How many times the value of a family has changed by this step."""
        return sum(schedule.stage(step) for schedule in self.schedules.values())

    def report_success(self, step: int, success: Mapping[str, float], planned: int = 0) -> None:
        """Record the mean success of each family that played in a trained step.

        Gated schedules advance by the success of their own family; see ``Gated.report_success``.
        """
        for name, schedule in self.schedules.items():
            if isinstance(schedule, Gated) and name in success:
                schedule.report_success(step, success[name], planned)

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state for a checkpoint."""
        gated = {n: s for n, s in self.schedules.items() if isinstance(s, Gated)}
        return {name: schedule.state_dict() for name, schedule in gated.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        for name, part in state.items():
            schedule = self.schedules[name]
            assert isinstance(schedule, Gated), "only gated schedules have a state"
            schedule.load_state_dict(part)


def parse_rounds(text: str) -> tuple[int, ...]:
    """Read a horizon: ``9`` is constant, ``5,8,10`` are stages, ``5-15`` grows by one at a time.

    Raises:
        ConfigurationError: The text has none of these forms, or the horizon shrinks.
    """
    parts = [part.strip() for part in text.split("-" if "-" in text else ",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts) or (
        "-" in text and len(parts) != 2
    ):
        raise ConfigurationError(
            f"expected turn budgets such as '8', '5,8,10' or '5-15', got {text!r}; give positive "
            "integers separated by commas, or the first and the last"
        )
    rounds = tuple(map(int, parts))
    if list(rounds) != sorted(rounds):
        raise ConfigurationError(
            f"expected --horizon to grow from stage to stage, such as 5,8,10; got {text!r}"
        )
    return tuple(range(rounds[0], rounds[1] + 1)) if "-" in text else rounds


def check_step(step: int) -> None:
    """Raise ConfigurationError for a step below 1."""
    if step < 1:
        raise ConfigurationError(
            f"expected a training step counted from 1, got {step}; pass step + 1"
        )
