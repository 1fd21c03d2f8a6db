"""A pretrained model is tested before any training: that decides on its warm start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.config.resolve import ResolvedRun, resolve
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.base_model import TESTED, BaseModel, decided_run

SMALL: dict[str, Any] = {
    "sft__max_steps": None, "sft__demonstrations": 24, "sft__eval_every": 64, "sft__eval_tasks": 6,
    "sft__learning_rate": None, "steps": 1, "horizon": "3", "horizon_every": None,
    "rl__groups": 2, "rl__num_generations": 2, "eval__num_tasks": 6, "eval__every": 0,
}  # fmt: skip
"""A pretrained model that is tested, imitates in 64 steps and takes one step by reward."""


def run_of(out: Path, model: Path, *flags: str, **changes: Any) -> tuple[ResolvedRun, RunFolder]:
    config = toy_runs.config(out, *flags, model=model, **{**SMALL, **changes})
    run = resolve(config)
    return run, RunFolder.open(out, config, run.resolved())


def decided_with(
    monkeypatch: pytest.MonkeyPatch, out: Path, model: Path, solved: int
) -> tuple[ResolvedRun, RunFolder]:
    """A run whose base model solves some of 20 validation tasks."""
    run, folder = run_of(out, model, sft__eval_tasks=20)
    base = BaseModel(run, folder, Display(quiet=True))
    original = base.play

    def play(tasks: Any, *args: Any) -> Any:
        episodes = original(tasks, *args)
        for number, episode in enumerate(episodes):
            episode.success = number < solved
        return episodes

    monkeypatch.setattr(base, "play", play)
    try:
        return base.decide(), folder
    finally:
        base.close()


@pytest.mark.parametrize(("solved", "imitates"), [(0, True), (1, True), (2, False)])
def test_a_tenth_of_the_validation_tasks_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_model: Path, solved: int, imitates: bool
) -> None:
    run, folder = decided_with(monkeypatch, tmp_path / "run", small_model, solved)
    assert run.imitates is imitates
    assert folder.state()[TESTED] == {"solved": {"toy": [solved, 20]}, "imitate": imitates}
    [record] = toy_runs.metrics(tmp_path / "run")
    assert (record["phase"], record["step"], record["success"]) == ("sft", 0, solved / 20)
    resumed, _ = run_of(tmp_path / "run", small_model, "--resume", sft__eval_tasks=20)
    assert decided_run(resumed, folder).imitates is imitates, "no second test"


@pytest.fixture(scope="module")
def taught(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose base model solves nothing."""
    out = tmp_path_factory.mktemp("taught") / "run"
    assert main(toy_runs.arguments(out, model=small_model, **SMALL)) == 0
    return out


@pytest.mark.slow
def test_the_base_model_is_a_row_of_the_table(taught: Path) -> None:
    summary = toy_runs.summary(taught)
    assert list(summary["eval"])[1:] == ["base-model", "warm-start", "trained", "oracle"]
    assert summary["names"]["base-model"] == "base-model"
    assert summary["warm_start"]["steps"] == 64
    assert summary["paired"]["trained_minus_base_model"]["n"] == 6
    page = (taught / "report.html").read_text()
    assert page.count("base-model") > 2 and "var(--base)" in page
    assert len(RunFolder(taught).eval_files("base-model")) == 1


@pytest.mark.slow
def test_a_killed_run_decides_as_an_unbroken_one(
    taught: Path, small_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    for moment, flags in (("sft:0", []), ("eval:base-model", ["--resume"])):
        command = toy_runs.arguments(out, *flags, model=small_model, **SMALL)
        assert toy_runs.run_command(command, moment).returncode != 0
    command = toy_runs.arguments(out, "--resume", model=small_model, **SMALL)
    assert toy_runs.run_command(command).returncode == 0
    assert toy_runs.by_phase(out) == toy_runs.by_phase(taught)


@pytest.mark.slow
def test_a_model_that_solves_enough_has_no_warm_start(
    small_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    changes: Mapping[str, Any] = {**SMALL, "env": toy_runs.EASY_ID, "horizon": "4"}
    assert main(toy_runs.arguments(out, model=small_model, **changes)) == 0
    message = " ".join(capsys.readouterr().err.split())
    assert "the base model solves 6 of 6 validation tasks: training begins without" in message
    summary = toy_runs.summary(out)
    assert summary["warm_start"] is None and "base-model" not in summary["eval"]
    assert summary["names"]["warm-start"] == "base-model"
    assert not (out / "checkpoints" / "warm-start").exists()
    assert main(["--resume", f"--out={out}", "--trust", f"model={small_model}"]) == 0


def test_a_number_of_steps_and_what_must_be_imitated_need_no_test(tmp_path: Path) -> None:
    def run_of(**changes: Any) -> ResolvedRun:
        settings = {**SMALL, "model": "some/model", **changes}
        return resolve(toy_runs.config(tmp_path / "run", **settings))

    assert run_of().warm_start_if_needed
    assert run_of(sft__max_steps="auto").warm_start_if_needed
    assert run_of().resolved()["sft"]["if_needed"] is True
    assert not run_of(sft__max_steps=9).warm_start_if_needed
    assert not run_of(eval__baselines="bc").warm_start_if_needed
    assert not run_of(model="tiny").warm_start_if_needed
    assert run_of(model="tiny", sft__max_steps="auto").config.sft.max_steps == 1600
    absent = run_of(memory__quantize="none", agent="tests.trainers.toy_agents:plain")
    assert absent.config.sft.max_steps == 0, "an agent need not act as the demonstrator does"
