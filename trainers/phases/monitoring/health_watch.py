"""The action of an alarm: a warning, the end of training, or a rollback."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from trainers.config.sections import HealthConfig, Signal
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.monitoring.health import NON_FINITE, Alarm, HealthMonitor
from trainers.processes import broadcast, on_main

__all__ = ["HealthWatch"]

STOPPED = "stopped"
"""Key in the run's state: training was ended by an alarm."""

logger = logging.getLogger(__name__)


class HealthWatch:
    """Raises alarms after each step, and decides on the action.

    Args:
        health: Limits and actions.
        folder: Folder of the run.
        display: Shows the alarms.
        length: Steps and minutes of the run; a longer one goes on after an alarm has ended it.
        changes_policy: Whether the policy that acts differs from the trained one on purpose: with
            top-p below 1, or where earlier policies play.

    Attributes:
        pending: The alarm that requires a rollback, until the rollback is done.
        rollbacks: Number of rollbacks so far.
    """

    def __init__(
        self,
        health: HealthConfig,
        folder: RunFolder,
        display: Display,
        length: Mapping[str, float],
        changes_policy: bool,
    ) -> None:
        self._folder, self._display, self._length = folder, display, length
        # A gap between two policies that differ on purpose is no alarm.
        gaps: tuple[Signal, ...] = ("kl_behaviour", "logp_gap")
        self._settings = (
            replace(health, ignore=(*health.ignore, *gaps)) if changes_policy else health
        )
        self.pending: Alarm | None = None
        self.rollbacks = 0
        self.reload()

    def reload(self) -> None:
        """Restore the state from the records, after these were cut."""
        records = on_main(self._folder.metrics)
        steps = (r for r in records if r.get("phase") == Phase.REINFORCEMENT)
        self._monitor = HealthMonitor(self._settings, steps)
        self.rollbacks = sum(r.get("phase") == Phase.ROLLBACK for r in records)
        self.pending = None

    @property
    def stopped(self) -> bool:
        """Whether an alarm has ended the training and the run was not extended since."""
        note: Mapping[str, Any] = on_main(self._folder.state).get(STOPPED) or {}
        return bool(note) and {name: note[name] for name in self._length} == self._length

    def judge(self, record: Mapping[str, Any]) -> Alarm | None:
        """Judge a step by its record; return an alarm that ends training or causes a rollback."""
        # All processes must act alike, but a figure may differ in its last digit: the main one
        # decides.
        alarms = broadcast(self._monitor.observe(record))
        ending = [alarm for alarm in alarms if self._raise(alarm)]
        return ending[0] if ending else None

    def keeps(self, alarm: Alarm) -> bool:
        """Whether the run keeps the weights that caused the alarm."""
        return self.pending is None and alarm.signal != NON_FINITE

    def went_back(self, to: int, rate: float) -> None:
        """Record that training continues from the checkpoint after a step."""
        alarm = self.pending
        assert alarm is not None
        record = {**_record(alarm), "to": to, "learning_rate": rate}
        self._folder.log(phase=Phase.ROLLBACK, **record)
        self.reload()
        if self.rollbacks > self._settings.rollbacks:
            self._stop(alarm)
        consequence = "training ended" if self.stopped else "training goes on"
        self._say(
            f"{consequence} from step {to}, after the alarm at step {alarm.step}: {alarm.sentence}"
        )

    def give_up(self, reason: str) -> None:
        """End the training because there is no checkpoint to roll back to."""
        alarm = self.pending
        assert alarm is not None
        self.pending = None
        self._stop(alarm)
        self._say(f"training ends at step {alarm.step}, as {reason}")

    def _raise(self, alarm: Alarm) -> bool:
        """Carry out the configured action, and return whether training must end.

        A value that is not finite never results in a mere warning.
        """
        action = self._settings.on_alarm
        if action == "warn" and alarm.signal == NON_FINITE:
            action = "stop"
        self._folder.log(phase=Phase.HEALTH, action=action, **_record(alarm))
        self._say(f"alarm at step {alarm.step}: {alarm.sentence}")
        if action == "stop":
            self._stop(alarm)
        elif action == "rollback" and self.pending is None:
            self.pending = alarm
        return action != "warn"

    def _stop(self, alarm: Alarm) -> None:
        """Note that training has ended, for a process that resumes this run."""
        self._folder.note(**{STOPPED: {**_record(alarm), **self._length}})

    def _say(self, sentence: str) -> None:
        """Write to the screen and to ``warnings.log``."""
        logger.warning("%s", sentence)
        self._display.note(sentence)


def _record(alarm: Alarm) -> dict[str, Any]:
    """Return the record of an alarm."""
    values = asdict(alarm)
    del values["since"]
    return values
