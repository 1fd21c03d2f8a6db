"""The end of a step, after its last update, when TRL logs and saves."""

from __future__ import annotations

from collections.abc import Callable

from transformers import TrainerControl, TrainerState

__all__ = ["StepEnd"]


class StepEnd:
    """The end of a step: TRL logs and saves on request instead of by itself.

    Attributes:
        step: Completed steps.
        due: Whether a checkpoint is due by TRL's count, or because this was the last step.
    """

    def __init__(
        self, step: int, state: TrainerState, control: TrainerControl, act: Callable[[], None]
    ) -> None:
        """Take over from TRL; ``act`` carries out what its flags request."""
        self.step, self.due = step, bool(control.should_save)
        self._state, self._control, self._act = state, control, act
        control.should_log = control.should_save = False

    def log(self) -> dict[str, float]:
        """Let TRL log, and return the metrics of the step."""
        self._control.should_log = True
        self._act()
        return {name: v for name, v in self._state.log_history[-1].items() if name != "step"}

    def save(self) -> None:
        """Write a checkpoint."""
        self._control.should_save = True
        self._act()

    def stop(self) -> None:
        """Let the training end with this step."""
        self._control.should_training_stop = True
