"""Runs that are extended have the time of a longer run, by a clock that the tests move."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.trainers import toy_runs
from tests.trainers.phases.test_resume import LOG, Killed, die_after
from trainers.cli import main
from trainers.output.run_folder import RunFolder

pytestmark = pytest.mark.slow

CHANGES = {
    "steps": 30, "horizon": 5, "horizon_every": None, "minutes": 13, "sft__max_steps": 20,
    "rl__groups": 2, "rl__save_every": 1, "eval__every": 0, "eval__num_tasks": 4,
    "eval__valid_tasks": 4, "eval__baselines": "bc",
    "eval__baseline_steps": 60,
}  # fmt: skip
LASTS = {"rl": 150.0, "sft": 6.0, "imitation": 10.0, "eval": 30.0}
"""Seconds that pass before a record of each phase."""


@pytest.fixture(scope="module", autouse=True)
def _clock() -> Iterator[None]:
    """Let the time of a run pass with its records, and with nothing else."""
    seconds, log = [0.0], RunFolder.log

    def log_later(self: RunFolder, **record: Any) -> None:
        seconds[0] += LASTS[record["phase"]]
        if record["phase"] == "rl":
            record["seconds"] = LASTS["rl"]
        log(self, **record)

    with pytest.MonkeyPatch.context() as patch:
        clock = SimpleNamespace(
            monotonic=lambda: seconds[0], sleep=time.sleep, process_time=time.process_time
        )
        patch.setattr("trainers.output.run_folder.time", clock)
        patch.setattr(RunFolder, "log", log_later)
        yield


@pytest.fixture(scope="module")
def short(_clock: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 13 minutes that its time has ended."""
    return trained(tmp_path_factory.mktemp("short") / "run", minutes=13)


@pytest.fixture(scope="module")
def longer(_clock: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 26 minutes."""
    return trained(tmp_path_factory.mktemp("longer") / "run", minutes=26)


@pytest.fixture
def short_run(short: Path, tmp_path: Path) -> Path:
    """The run of 13 minutes, to be extended."""
    return Path(shutil.copytree(short, tmp_path / "run"))


def trained(out: Path, **changes: Any) -> Path:
    assert main(toy_runs.arguments(out, **{**CHANGES, **changes})) == 0
    return out


def extended(out: Path, *flags: str) -> int:
    return main(["--resume", "--out", str(out), *flags])


def learnt(folder: Path) -> list[dict[str, Any]]:
    return toy_runs.by_phase(folder)["rl"]


def state(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "state.json").read_text())
    return content


def forget_end(folder: Path) -> None:
    """Make the notes those of a run from before the end of training was noted."""
    new = ("rl_ended", "rl_paused")
    notes = {key: value for key, value in state(folder).items() if key not in new}
    (folder / "state.json").write_text(json.dumps(notes))


def read_error(capsys: pytest.CaptureFixture[str]) -> str:
    return toy_runs.last_line(capsys.readouterr().err)


def test_more_minutes_train_for_as_long_as_a_run_of_that_length_from_the_start(short_run, longer):
    state_before, step_count = state(short_run), len(learnt(short_run))
    assert state_before["seconds"] > state_before["rl_ended"] + LASTS["rl"], (
        "time that must not count"
    )
    assert extended(short_run, "--minutes=26") == 0
    assert learnt(short_run) == learnt(longer)
    # Half of 13 minutes more; a step that has begun is finished.
    assert len(learnt(short_run)) - step_count in (2, 3)
    for folder in (short_run, longer):
        summary = toy_runs.summary(folder)
        assert summary["cut"] == {"rl": len(learnt(folder))}
        assert f"reinforcement learning after {len(learnt(folder))} of 30" in summary["verdict"]


@pytest.mark.parametrize("moment", ["rl", "imitation"])
def test_a_kill_in_an_extension_changes_nothing(short_run, longer, monkeypatch, moment):
    last = {"phase": "rl", "step": len(learnt(longer)) - 1}
    with monkeypatch.context() as patch:
        die_after(patch, LOG, last if moment == "rl" else {"phase": "imitation", "loss": ...})
        with pytest.raises(Killed):
            extended(short_run, "--minutes=26")
    assert extended(short_run) == 0
    assert learnt(short_run) == learnt(longer)


@pytest.mark.parametrize("noted", [True, False])
def test_a_run_is_extended_again_also_if_its_end_was_not_noted(short_run, noted):
    # In 13, 24 and 39 minutes from the start 3, 6 and 9 steps begin before half of the time.
    for minutes, steps in ((24, 6), (39, 9)):
        if not noted:
            forget_end(short_run)
        assert extended(short_run, f"--minutes={minutes}") == 0
        assert len(learnt(short_run)) == steps


@pytest.mark.parametrize("noted", [True, False])
def test_an_extension_without_time_for_a_step_is_refused_with_the_minutes_it_needs(
    short_run, capsys, noted
):
    if not noted:
        forget_end(short_run)
    files_before = toy_runs.files(short_run)
    for flags in (["--minutes=13.5"], ["--steps=40"]):
        assert extended(short_run, *flags) == 2
        refusal = read_error(capsys)
        assert "or more for the run in" in refusal and "a step takes 150.0 s" in refusal
        assert toy_runs.files(short_run) == files_before
    needed = int(refusal.split("expected --minutes ")[1].split(" ")[0])
    assert extended(short_run, f"--minutes={needed - 1}") == 2
    assert toy_runs.files(short_run) == files_before
    step_count = len(learnt(short_run))
    assert extended(short_run, f"--minutes={needed}") == 0
    assert len(learnt(short_run)) > step_count


@pytest.mark.parametrize(
    ("changes", "flag", "sentence"),
    [
        ({"steps": 2}, "--minutes=90", "it has taken all of them; give more --steps"),
        ({"rl__turn_budget": 50}, "--steps=40", "all 50 of its --rl.turn-budget are used up"),
    ],
)
def test_steps_and_turns_that_are_used_up_are_refused_before_anything_is_given_up(
    tmp_path, capsys, changes, flag, sentence
):
    out = trained(tmp_path / "run", minutes=60, eval__baselines="none", **changes)
    files_before = toy_runs.files(out)
    assert extended(out, flag) == 2
    assert sentence in read_error(capsys)
    assert toy_runs.files(out) == files_before


def test_more_steps_alone_have_the_time_that_is_left(tmp_path):
    out = trained(tmp_path / "run", steps=3, eval__baselines="none")
    notes = state(out)
    assert notes["rl_ended"] + LASTS["rl"] < 780
    # The evaluation took until after the 13 minutes.
    (out / "state.json").write_text(json.dumps({**notes, "seconds": 2000.0}))
    assert extended(out, "--steps=4") == 0
    assert len(learnt(out)) == 4
