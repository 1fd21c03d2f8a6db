"""Checkpoints of reinforcement learning: by steps, and by time between those.

The target of a rollback must not depend on the clock. So a checkpoint by time only serves to resume
a killed run: there is at most one, kept besides ``--rl.keep-checkpoints`` until the next checkpoint
is whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from trainers.grpo.step_end import StepEnd
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.phases.save_clock import SaveClock
from trainers.processes import on_main

__all__ = ["TimedCheckpoints", "is_by_time"]

BY_TIME = "by-time"
"""Marker file of a checkpoint by time."""


class TimedCheckpoints:
    """Writes the checkpoints of reinforcement learning; all processes call it together.

    Args:
        trainer: The trainer.
        minutes: Minutes between two checkpoints; 0: none is due by time.
    """

    def __init__(self, trainer: MultiTurnTrainer, minutes: float) -> None:
        self._trainer, self._clock = trainer, SaveClock(minutes, together=True)

    @property
    def due(self) -> bool:
        """Whether one is due by time."""
        return self._clock.due

    def save(self, end: StepEnd, *, by_time: bool) -> None:
        """Write a checkpoint, and drop those that it replaces.

        Args:
            end: The end of the step.
            by_time: Whether it is due by time alone.
        """
        args = self._trainer.args
        output, limit = Path(args.output_dir or ""), args.save_total_limit
        folder = output / f"{PREFIX_CHECKPOINT_DIR}-{self._trainer.state.global_step}"
        earlier: list[Path] = on_main(lambda: _begin(output, folder, by_time))
        # Checkpoints by time come on top of the limit, so that they displace no others.
        args.save_total_limit = limit and limit + len(earlier) + by_time
        try:
            with self._clock:
                end.save()
        finally:
            args.save_total_limit = limit
        on_main(lambda: _remove(earlier))


def is_by_time(checkpoint: Path) -> bool:
    """Return whether a checkpoint was only written because of the time."""
    return (checkpoint / BY_TIME).exists()


def _begin(output: Path, folder: Path, by_time: bool) -> list[Path]:
    """Mark a folder before a checkpoint is written into it; return the earlier ones by time."""
    (folder / BY_TIME).unlink(missing_ok=True)  # A kill may have left a partial one.
    earlier = [path for path in output.glob(f"{PREFIX_CHECKPOINT_DIR}-*") if is_by_time(path)]
    if by_time:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / BY_TIME).touch()
    return earlier


def _remove(checkpoints: Iterable[Path]) -> None:
    """Remove checkpoints."""
    for path in checkpoints:
        shutil.rmtree(path, ignore_errors=True)
