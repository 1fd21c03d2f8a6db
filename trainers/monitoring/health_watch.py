"""What an alarm does: a word, an end, or a step back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trainers.config.resolve import ResolvedRun
from trainers.config.sections import Signal
from trainers.monitoring.health import NON_FINITE, Alarm, HealthMonitor
from trainers.monitoring.run_logger import RunLogger
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.processes import broadcast, on_main

__all__ = ["HealthWatch"]

STOPPED = "stopped"
"""Note in the state of a run whose training an alarm ended."""

logger = logging.getLogger(__name__)


class HealthWatch(TrainerCallback):
    """Raise alarms after each step, and act on them.

    Attributes:
        pending: The alarm because of which training is to go back, until it has.
        rollbacks: Times that training went back.
    """

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, display: Display, log: RunLogger
    ) -> None:
        self._folder, self._display, self._log = folder, display, log
        health = run.config.health
        nucleus: tuple[Signal, ...] = ("kl_behaviour", "logp_gap")
        self._settings = (
            replace(health, ignore=(*health.ignore, *nucleus))
            if run.config.rl.top_p < 1
            else health
        )
        self._length = {"steps": run.config.steps, "minutes": run.config.minutes}
        self.pending: Alarm | None = None
        self.rollbacks = 0
        self.reload()

    def reload(self) -> None:
        """Read from the records what has been, as after they were cut."""
        records = on_main(self._folder.metrics)
        steps = (r for r in records if r.get("phase") == Phase.REINFORCEMENT)
        self._monitor = HealthMonitor(self._settings, steps)
        self.rollbacks = sum(r.get("phase") == Phase.ROLLBACK for r in records)
        self.pending = None

    @property
    def stopped(self) -> bool:
        """Whether an alarm has ended the training, which was not extended since."""
        note: Mapping[str, Any] = on_main(self._folder.state).get(STOPPED) or {}
        return bool(note) and {name: note[name] for name in self._length} == self._length

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Judge the step; its record has just been written."""
        if logs is None or "loss" not in logs:
            return
        # All processes have to do the same; a figure may differ in its last digit.
        for alarm in broadcast(self._monitor.observe(self._log.record)):
            self._act(alarm, control)

    def went_back(self, to: int, rate: float) -> None:
        """Write down that training goes on from the checkpoint after a step."""
        alarm = self.pending
        assert alarm is not None
        record = {**_record(alarm), "to": to, "learning_rate": rate}
        self._folder.log(phase=Phase.ROLLBACK, **record)
        self.reload()
        if self.rollbacks > self._settings.rollbacks:
            self._stop(alarm)
        done = "training ended" if self.stopped else "training goes on"
        self._say(f"{done} from step {to}, after the alarm at step {alarm.step}: {alarm.sentence}")

    def give_up(self, reason: str) -> None:
        """End the training because there is nowhere to go back to."""
        alarm = self.pending
        assert alarm is not None
        self.pending = None
        self._stop(alarm)
        self._say(f"training ends at step {alarm.step}, as {reason}")

    def _act(self, alarm: Alarm, control: TrainerControl) -> None:
        """Do what the settings say; what is not finite is never left at a warning."""
        action = self._settings.on_alarm
        if action == "warn" and alarm.signal == NON_FINITE:
            action = "stop"
        self._folder.log(phase=Phase.HEALTH, action=action, **_record(alarm))
        self._say(f"alarm at step {alarm.step}: {alarm.sentence}")
        if action == "warn":
            return
        control.should_training_stop = True
        # Weights that caused an alarm are kept if they are those of the run from now on.
        control.should_save = action == "stop" and alarm.signal != NON_FINITE
        if action == "stop":
            self._stop(alarm)
        elif self.pending is None:
            self.pending = alarm

    def _stop(self, alarm: Alarm) -> None:
        """Note that the training has ended, for a process that goes on after this one."""
        self._folder.note(**{STOPPED: {**_record(alarm), **self._length}})

    def _say(self, sentence: str) -> None:
        """Tell the screen and the file of warnings."""
        logger.warning("%s", sentence)
        self._display.note(sentence)


def _record(alarm: Alarm) -> dict[str, Any]:
    """Return what is written of an alarm."""
    values = asdict(alarm)
    del values["since"]
    return values
