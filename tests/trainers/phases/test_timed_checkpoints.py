"""Checkpoints by time: a kill costs minutes, and the clock decides nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from tests.trainers.phases.test_resume import LOG, Killed, assert_same_run, die_after
from trainers.config.config_file import compare, stored_settings
from trainers.output.display import Display
from trainers.phases import save_clock
from trainers.phases.monitoring.health import Alarm
from trainers.phases.run import train
from trainers.phases.save_clock import SaveClock
from trainers.phases.timed_checkpoints import TimedCheckpoints


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands at the last entry."""
    seconds = [1000.0]
    monkeypatch.setattr(save_clock.time, "monotonic", lambda: seconds[-1])
    return seconds


def test_one_is_due_minutes_after_the_last_and_none_without_minutes(now: list[float]) -> None:
    clock, never = SaveClock(5, together=False), SaveClock(0, together=False)
    now.append(1299.0)
    assert not clock.due
    now.append(1300.0)
    assert clock.due and not never.due
    with clock:
        now.append(1310.0)
    assert not clock.due, "counted from the end of the last"
    now.append(1610.0)
    assert clock.due


def test_saving_takes_at_most_a_twentieth_of_the_time(now: list[float]) -> None:
    clock = SaveClock(1, together=False)
    with clock:
        now.append(1030.0)  # half a minute of writing
    now.append(1030.0 + 599.0)
    assert not clock.due
    now.append(1030.0 + 600.0)
    assert clock.due


def test_the_minutes_may_change_on_resume(tmp_path: Path) -> None:
    settings_before, settings_after = (
        stored_settings(
            toy_runs.config(tmp_path, sft__save_minutes=minutes, rl__save_minutes=minutes)
        )
        for minutes in (5, 1)
    )
    assert compare(settings_before, settings_after).changes == ()


ALARM = Alarm("kl", step=4, since=3, value=2.0, usual=None, sentence="kl 2, above 1")


def always_due(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SaveClock, "due", property(lambda self: bool(self._seconds)))


def checkpoints(folder: Path, *parts: str) -> list[str]:
    return sorted(path.name for path in folder.joinpath("checkpoints", *parts).iterdir())


@pytest.mark.slow
def test_a_run_killed_between_two_checkpoints_by_steps_resumes_to_the_same_weights(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies in the middle of a logged interval, and of the steps between two checkpoints."""
    folder, flags = tmp_path / "run", list[str]()
    changes = {"sft__save_every": 1000, "rl__save_every": 1000}
    always_due(monkeypatch)
    for call, parts, names_left in (
        ({"phase": "sft", "step": 30}, (), "sft-29"),
        ({"phase": "rl", "step": 5}, ("rl",), "checkpoint-4"),
    ):
        with monkeypatch.context() as patch:
            die_after(patch, LOG, call)
            with pytest.raises(Killed):
                train(toy_runs.config(folder, *flags, **changes), Display(quiet=True))
        assert names_left in checkpoints(folder, *parts)
        flags = ["--resume"]
    train(toy_runs.config(folder, *flags, **changes), Display(quiet=True))
    assert_same_run(folder, finished)


@pytest.mark.slow
def test_one_by_time_stands_beside_those_by_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    always_due(monkeypatch)
    listings: list[list[str]] = []
    save = TimedCheckpoints.save

    def watched(self: TimedCheckpoints, *args: Any, **kwargs: Any) -> None:
        save(self, *args, **kwargs)
        listings.append(checkpoints(tmp_path / "run", "rl"))

    monkeypatch.setattr(TimedCheckpoints, "save", watched)
    changes = {"eval__every": 0, "sft__max_steps": 0, "rl__keep_checkpoints": 2}
    train(toy_runs.config(tmp_path / "run", **changes), Display(quiet=True))
    steps = [[int(name.rsplit("-", 1)[1]) for name in names] for names in listings]
    assert steps == [[1], [2], [2, 3], [2, 4], [2, 4, 5], [4, 6]]


@pytest.mark.slow
def test_an_alarm_goes_back_to_a_checkpoint_by_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollback at step 4 leads to step 2, with and without a checkpoint of step 3."""
    changes = {
        "eval__every": 0, "sft__max_steps": 0, "rl__save_every": 2, "health__usual_steps": 2,
        "health__patience": 1, "health__learning_rate_factor": 0.01, "rl__keep_checkpoints": 9,
    }  # fmt: skip
    monkeypatch.setattr(
        "trainers.phases.monitoring.health.HealthMonitor.observe",
        lambda self, record: [ALARM] if record["step"] == 4 else [],
    )
    records = {}
    for name, minutes in (("never", 0), ("always", 5)):
        with monkeypatch.context() as patch:
            always_due(patch)
            flags = ["--health.on-alarm=rollback", "--health.rollbacks=1"]
            folder = tmp_path / name
            settings = toy_runs.config(folder, *flags, rl__save_minutes=minutes, **changes)
            train(settings, Display(quiet=True))
            records[name] = toy_runs.by_phase(folder)
    assert [record["to"] for record in records["never"]["rollback"]] == [2, 2]
    assert records["always"] == records["never"]
