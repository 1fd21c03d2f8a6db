"""A whole study, small enough for a test, through its command."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from benchmarks.studies.__main__ import main
from benchmarks.studies.runner.keys import runs_of, settle_arm
from benchmarks.studies.runner.recorded import RECORDED
from benchmarks.studies.runner.results import collect
from benchmarks.studies.runner.study import (
    BEFORE,
    Arm,
    Pilot,
    Study,
    chosen_arms,
    load_study,
    study_names,
    words_for,
)
from tests.benchmarks.toy_study import STUDY
from tests.trainers import toy_runs
from tests.trainers.forks import ForkedRun
from trainers.cli import main as train
from trainers.cli import parse_config
from trainers.phases.multirun.cache import BEGUN, DONE, Run, RunCache
from trainers.phases.multirun.played import PlayedRun
from trainers.phases.multirun.playing import play

NAME = "tests.benchmarks.toy_study"
BEGIN = partial(ForkedRun, train)
CLOCK = ("seconds", "time", "tokens_per_second")
"""Fields of records that two equal runs do not share."""


@pytest.fixture(autouse=True, scope="module")
def forked() -> Iterator[None]:
    """Fork the runs from what has imported the trainer; ``multirun/test_seeds.py`` starts it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.studies.__main__.begin_process", ForkedRun)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the study has been played once."""
    path = tmp_path_factory.mktemp("studies")
    assert main(command(path)) == 0
    return path


def command(folder: Path, *more: str) -> list[str]:
    places = ["--out", str(folder / "runs"), "--results", str(folder)]
    return [NAME, "--seeds", "1", "--jobs", "2", *places, *more]


def result(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "toy_study.json").read_text())
    return content


def runs() -> list[Run]:
    return runs_of(STUDY.arms, [0])


def of_arms(arms: Sequence[Arm]) -> Study:
    return replace(STUDY, arms=arms)


def with_one_run(folder: Path, tmp_path: Path) -> list[str]:
    """Make a folder of runs that lacks the second; return the flags that name it."""
    key = runs()[0].keys.run
    shutil.copytree(folder / "runs" / key, tmp_path / "one" / key)
    return ["--out", str(tmp_path / "one")]


def refuse(*_: Any) -> BaseProcess:
    raise AssertionError("a run was played")


def records(run: PlayedRun) -> list[Mapping[str, Any]]:
    """What training wrote down, without what depends on the clock."""
    return [
        {name: value for name, value in record.items() if name not in CLOCK}
        for record in (*run.steps, *run.validations)
    ]


def load_run(cache: RunCache, run: Run) -> PlayedRun:
    played_run = cache.find_played(run)
    assert played_run is not None
    return played_run


@pytest.mark.slow
def test_a_study_writes_figures_with_their_origin_and_a_picture(folder: Path) -> None:
    figures = result(folder)
    assert figures["study"] == "toy_study" and figures["seeds"] == [0]
    assert figures["command"] == f"python -m benchmarks.studies {NAME} --seeds 1 --jobs 2"
    assert figures["missing"] == [] and figures["failed"] == {}
    assert set(figures["arms"]) == {"short", "long"}
    assert figures["measured"]["python"] and figures["measured"]["n"] == [8]
    assert figures["measured"]["seeds"] == [0] and len(figures["measured"]["panel"]) == 1
    for run in runs():
        (fact,) = figures["runs"][run.arm]["runs"]
        summary = json.loads((folder / "runs" / run.keys.run / "summary.json").read_text())
        assert fact["key"] == run.keys.run and fact["n"] == 8 and fact["steps"] == 4
        assert fact["commit"] == summary["commit"]
        assert fact["panel_sha256"] == summary["evaluation"]["panel_sha256"]
        assert figures["arms"][run.arm]["values"] == [summary["eval"]["trained"]["success"]]
        assert run.keys.run in figures["commits"][fact["commit"]]
    assert (folder / "toy_study.png").read_text() == "short, long"


@pytest.mark.slow
def test_a_second_call_plays_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.studies.__main__.begin_process", refuse)
    old_text = result(folder)
    assert main(command(folder)) == 0
    assert result(folder) == old_text


@pytest.mark.slow
def test_arms_with_the_same_warm_start_share_it(folder: Path, tmp_path: Path) -> None:
    """And come to the result to which they come alone."""
    shared, alone = RunCache(folder / "runs", parse_config), RunCache(tmp_path, parse_config)
    first, second = runs()
    assert "[warm-start]" in shared.log(first).read_text()
    assert "[warm-start]" not in shared.log(second).read_text()
    assert not play(alone, [second], 1, BEGIN, share_start=False)
    assert "[warm-start]" in alone.log(second).read_text()
    together, single = load_run(shared, second), load_run(alone, second)
    assert records(together) == records(single)
    assert together.summary["eval"] == single.summary["eval"]
    assert together.summary["warm_start"] == single.summary["warm_start"]


def test_a_run_that_is_given_its_warm_start_is_not_charged_for_it(
    folder: Path, tmp_path: Path
) -> None:
    cache, (first, second) = RunCache(tmp_path, parse_config), runs()
    shutil.copytree(folder / "runs" / first.keys.run, cache.folder(first))
    cache.begin(second, [first])
    assert set(json.loads((cache.folder(second) / "state.json").read_text())) == {"sft"}


@pytest.mark.slow
def test_a_killed_run_costs_no_other_and_goes_on(folder: Path, tmp_path: Path) -> None:
    cache, (first, second) = RunCache(tmp_path, parse_config), runs()
    killer = Killer(cache.folder(first) / "metrics.jsonl")
    (failure,) = play(cache, [first, second], 2, killer)
    assert failure.run == first and "signal 9" in failure.why
    assert cache.state(first) == BEGUN and cache.state(second) == DONE
    old_text = cache.log(first).read_text()
    assert not play(cache, [first, second], 1, BEGIN)
    assert "[warm-start]" in old_text
    assert "[warm-start]" not in cache.log(first).read_text().removeprefix(old_text)
    uninterrupted = load_run(RunCache(folder / "runs", parse_config), first)
    assert records(load_run(cache, first)) == records(uninterrupted)
    assert load_run(cache, first).summary["eval"] == uninterrupted.summary["eval"]


class Killer:
    """Starts processes and kills the first one after its second step of training."""

    def __init__(self, metrics: Path) -> None:
        self._metrics, self._first = metrics, True

    def __call__(self, arguments: list[str], log: Path) -> BaseProcess:
        process: Any = BEGIN(arguments, log)
        if self._first:
            self._first = False
            threading.Thread(target=self._kill, args=(process,), daemon=True).start()
        return process

    def _kill(self, process: ForkedRun) -> None:
        while process.exitcode is None:
            metrics = self._metrics.read_text() if self._metrics.exists() else ""
            if '"phase": "rl", "step": 3' in metrics:
                process.kill()
                return
            time.sleep(0.005)


def test_a_failed_arm_is_named_at_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Arm("broken", (*STUDY.arms[0].settings, "--model", "/nowhere"))
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", of_arms([broken, *STUDY.arms]))
    elsewhere = folder / "other"
    assert main([*command(folder), "--results", str(elsewhere)]) == 1
    figures = result(elsewhere)
    assert set(figures["arms"]) == {"short", "long"}
    assert figures["missing"] == ["broken, seed 0"] == list(figures["failed"])
    assert "/nowhere" in figures["failed"]["broken, seed 0"]
    assert "failed: broken, seed 0" in capsys.readouterr().out


def test_a_run_of_another_commit_is_reported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.studies.runner.results.COMMIT", "another")
    assert main([*command(folder), "--results", str(tmp_path), "--collect"]) == 0
    assert result(tmp_path)["of_another_commit"] == sorted(run.keys.run for run in runs())


def test_what_has_not_been_played_is_missing(folder: Path, tmp_path: Path) -> None:
    places = with_one_run(folder, tmp_path)
    assert main([*command(tmp_path), *places, "--collect"]) == 0
    assert result(tmp_path)["missing"] == ["long, seed 0"]


def test_without_a_run_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(tmp_path), "--collect"]) == 1
    error = capsys.readouterr().err
    assert "none: nothing was measured" in error and "--out" in error
    broken = Arm("broken", (*STUDY.arms[0].settings, "--model", "/nowhere"))
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", of_arms([broken]))
    assert main(command(tmp_path)) == 1
    captured = capsys.readouterr()
    assert "failed: broken, seed 0" in captured.out and "nothing was measured" in captured.err
    assert not list(tmp_path.glob("toy_study.*"))


def test_a_result_is_kept_from_one_that_lacks_its_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run_flags = tmp_path / "toy_study.json", with_one_run(folder, tmp_path)
    all_runs = ["--out", str(folder / "runs"), "--collect"]
    assert main([*command(tmp_path), *all_runs]) == 0
    old_text = file.read_bytes()
    assert main([*command(tmp_path), *run_flags, "--collect"]) == 2
    error = capsys.readouterr().err
    assert f"all 2 runs of the result in {file}" in error and "1 measured" in error
    assert "long, seed 0." in error and "--results FOLDER" in error and "--replace" in error
    assert file.read_bytes() == old_text
    assert main([*command(tmp_path), *run_flags, "--collect", "--replace"]) == 0
    assert set(result(tmp_path)["runs"]) == {"short"}
    assert main([*command(tmp_path), *all_runs]) == 0  # a larger one
    assert set(result(tmp_path)["runs"]) == {"short", "long"}


def test_runs_that_would_be_lost_are_named_before_play(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("benchmarks.studies.__main__.begin_process", refuse)
    assert main([*command(tmp_path), "--out", str(folder / "runs")]) == 0
    old_text = result(tmp_path)
    capsys.readouterr()
    for more in (["--seeds", "3", "3"], ["--only", "short"]):
        assert main([*command(tmp_path), *more]) == 2
        error = capsys.readouterr().err
        assert "long, seed 0" in error and "will be played" in error
    other_settings = [
        replace(arm, settings=(*arm.settings, "--rl.learning-rate", "1")) for arm in STUDY.arms
    ]
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", of_arms(other_settings))
    assert main(command(tmp_path)) == 2
    assert result(tmp_path) == old_text
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("content", ['{"families": {}}', "[]", "{"])
def test_a_file_that_lists_no_runs_is_kept(
    content: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "toy_study.json"
    file.write_text(content)
    assert main([*command(tmp_path), "--out", str(folder / "runs")]) == 2
    assert str(file) in capsys.readouterr().err and file.read_text() == content


def test_the_command_of_a_result_plays_its_runs(folder: Path, tmp_path: Path) -> None:
    start, out_flags = f"python -m benchmarks.studies {NAME}", ["--out", str(folder / "runs")]
    run_flags = with_one_run(folder, tmp_path)
    for more, expected in (
        ([*run_flags, "--only", "horizon=short"], "--only horizon=short --seeds 1 --jobs 2"),
        ([*run_flags, "--collect", "--seeds", "4"], "--only horizon=short --seeds 1"),
        # the other arm has been played, too, and stands in the result
        ([*out_flags, "--only", "short"], "--seeds 1 --jobs 2"),
        ([*out_flags, "--only", "short", "long"], "--only short long --seeds 1 --jobs 2"),
    ):
        assert main([*command(tmp_path), *more, "--replace"]) == 0
        assert result(tmp_path)["command"] == f"{start} {expected}"


def test_one_seed_is_named_twice_in_the_command(folder: Path, tmp_path: Path) -> None:
    run = runs_of(STUDY.arms[:1], [3])[0]
    shutil.copytree(folder / "runs" / runs()[0].keys.run, tmp_path / "runs" / run.keys.run)
    assert main([*command(tmp_path), "--seeds", "3", "3", "--collect"]) == 0
    assert result(tmp_path)["command"].endswith("--only horizon=short --seeds 3 3")


def test_a_result_keeps_no_secret(folder: Path) -> None:
    run, words = runs()[0], ("--env-kwargs", "api_key=hunter2", "host=https://me:pw@web.org/")
    arm = replace(STUDY.arms[0], settings=(*words, "--env-kwargs=auth_token=hunter2"))
    figures = collect(of_arms([arm]), RunCache(folder / "runs", parse_config), [run], command="")
    assert figures["runs"]["short"]["settings"] == [
        "--env-kwargs", "api_key=[hidden]", "host=https://web.org/",
        "--env-kwargs=auth_token=[hidden]",
    ]  # fmt: skip


def test_a_dry_run_shows_what_differs_and_what_is_cached(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*command(folder), "--dry-run"]) == 0
    output = capsys.readouterr().out
    for run in runs():
        assert run.keys.run in output and run.keys.start in output
    assert "rounds" in output and "rl.learning_rate" not in output
    assert output.count("done") == 2
    assert main([*command(tmp_path), "--dry-run", "--only", "horizon=long"]) == 0
    output = capsys.readouterr().out
    assert "open" in output and "short" not in output
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    flags = ("--env", toy_runs.KEYED_ID, "--env-kwargs", f"api_key={toy_runs.API_KEY}")
    locked = Arm("locked", (*STUDY.arms[0].settings, *flags))
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", of_arms([locked, *STUDY.arms]))
    assert main([*command(tmp_path), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "api_key [hidden]" in output and toy_runs.API_KEY not in output


@pytest.mark.usefixtures("smollm2")
def test_every_study_can_be_loaded_is_listed_and_its_flags_are_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert "horizon_map" in study_names()
    for name in study_names():
        study = load_study(name)
        assert study.name == name and name in listed
        for arm in (study.arms[0], study.arms[-1]):
            settle_arm(arm)


def with_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the study a pilot of seed 0, which chooses the second arm once both have ended."""
    pilot = Pilot(0, lambda ended: ["long"] if set(ended) == {"short", "long"} else [])
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", replace(STUDY, pilot=pilot))


def test_what_a_pilot_chooses_is_played_with_the_seeds(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with_pilot(monkeypatch)
    assert main([*command(folder), "--seeds", "1", "1", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert output.count(" short ") == 1 and output.count(" long ") == 2
    assert output.count("done") == 2 and output.count(" open ") == 1


@pytest.mark.slow
def test_one_command_plays_the_pilot_and_what_it_chooses(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pilot(monkeypatch)
    run_flags = with_one_run(folder, tmp_path)
    assert main([*command(tmp_path), *run_flags, "--seeds", "1", "1"]) == 0
    seeds = {
        arm: [run["seed"] for run in arm_runs["runs"]]
        for arm, arm_runs in result(tmp_path)["runs"].items()
    }
    assert seeds == {"short": [0], "long": [0, 1]}


def test_nothing_is_compared_without_a_pilot(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_pilot(monkeypatch)
    run_flags = [*with_one_run(folder, tmp_path), "--seeds", "1", "1", "--collect"]
    assert main([*command(tmp_path), *run_flags]) == 2
    error = capsys.readouterr().err
    assert "pilot of toy_study (seed 0)" in error and "got 1 of its 2 runs" in error
    assert main([*command(tmp_path), *run_flags, "--seeds", "3"]) == 2
    assert "expected --seeds without 0" in capsys.readouterr().err
    assert not list(tmp_path.glob("toy_study.*"))


TAUGHT = Arm(
    "taught",
    (
        *STUDY.arms[0].settings, "--model", f"{BEFORE}/checkpoints/warm-start",
        "--sft.episodes", f"{BEFORE}/{RECORDED}/episodes.jsonl",
        "--preset", "on-policy-distillation", "--distill.teacher", BEFORE,
    ),
    {"horizon": "taught"},
    after=STUDY.arms[0],
)  # fmt: skip
"""Learns from what the first arm has trained."""


def with_following(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an arm come after the first one, which plays training tasks for it."""
    recorded = ("tests.toy:agentgym-test/Toy-v0", "--split", "train", "--num-tasks", "6")
    study = replace(STUDY, arms=[TAUGHT, *STUDY.arms], recorded=recorded)
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", study)


@pytest.mark.slow
def test_an_arm_comes_after_another_and_reads_what_that_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_following(monkeypatch)
    places = with_one_run(folder, tmp_path)
    assert main([*command(tmp_path), *places, "--only", "taught"]) == 0
    entry = result(tmp_path)["runs"]["taught"]
    assert entry["after"] == "short" and entry["settings"][-1] == BEFORE
    first = tmp_path / "one" / runs()[0].keys.run
    episodes = [json.loads(line) for line in (first / RECORDED / "episodes.jsonl").open()]
    assert [episode["split"] for episode in episodes] == ["train"] * 6
    config = (tmp_path / "one" / entry["runs"][0]["key"] / "config.yaml").read_text()
    assert f"teacher: {first}\n" in config and f"{first}/{RECORDED}/episodes.jsonl" in config
    monkeypatch.setattr("benchmarks.studies.__main__.begin_process", refuse)
    monkeypatch.setattr("benchmarks.studies.runner.recorded.begin_process", refuse)
    assert main([*command(tmp_path), *places, "--only", "taught"]) == 0


def test_an_arm_that_another_comes_after_is_chosen_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    with_following(monkeypatch)
    assert main([*command(tmp_path), "--only", "taught", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert output.count(" open ") == 2 and " short " in output and " long " not in output
    assert f"distill.teacher {BEFORE}" in output


def test_an_arm_does_not_come_after_a_run_that_failed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(STUDY.arms[0], settings=(*STUDY.arms[0].settings, "--model", "/nowhere"))
    study = of_arms([broken, STUDY.arms[1], replace(TAUGHT, after=broken)])
    monkeypatch.setattr("tests.benchmarks.toy_study.STUDY", study)
    run = runs()[1].keys.run
    shutil.copytree(folder / "runs" / run, tmp_path / "runs" / run)
    assert main(command(tmp_path)) == 1
    figures = result(tmp_path)
    assert set(figures["failed"]) == {"short, seed 0"} and set(figures["arms"]) == {"long"}
    assert figures["missing"] == ["short, seed 0", "taught, seed 0"]


def test_words_choose_arms() -> None:
    study = load_study("horizon_map")
    arms = chosen_arms(study, ["tasks=short", "tasks=long", "schedule=gated"])
    assert [arm.name for arm in arms] == [
        f"{start}/{tasks}/gated"
        for start in ("none", "weak", "strong")
        for tasks in ("short", "long")
    ]
    assert [arm.name for arm in chosen_arms(study, ["weak/long/short"])] == ["weak/long/short"]
    by_default = chosen_arms(study, [])
    assert len(by_default) == 45 and not any(arm.needs for arm in by_default)
    assert not any(arm.needs for arm in chosen_arms(study, ["start=weak"]))
    assert len(chosen_arms(study, ["start=weak", "tasks=search"])) == 5
    with pytest.raises(ConfigurationError, match="tasks=mixed"):
        chosen_arms(study, ["tasks=other"])


@pytest.mark.parametrize(
    "only",
    [
        ["start=weak", "strong/short/long"],
        ["weak/short/long", "tasks=mixed", "start=weak"],
    ],
)
def test_words_that_exclude_one_another_are_refused(
    only: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--out", str(tmp_path), "--results", str(tmp_path)]
    assert main(["horizon_map", "--collect", *places, "--only", *only]) == 2
    assert f"got {' '.join(only)}: no arm fits all" in capsys.readouterr().err


def test_words_without_what_arms_need_are_refused() -> None:
    dear = [replace(arm, needs="horizon=short") for arm in STUDY.arms]
    with pytest.raises(ConfigurationError, match=r"horizon=long: .* by horizon=short"):
        chosen_arms(of_arms(dear), ["horizon=long"])
    with pytest.raises(ConfigurationError, match="no words"):
        chosen_arms(of_arms(dear), [])


@pytest.mark.parametrize(
    ("only", "by_words"),
    [
        ([], True),
        (["tasks=search"], True),
        (["start=weak", "tasks=mixed", "schedule=gated", "schedule=long"], True),
        (["tasks=short", "tasks=search", "tasks=mixed", "start=strong"], True),
        (["weak/mixed/short", "strong/short/long"], False),
    ],
)
def test_arms_are_told_by_few_words(only: list[str], by_words: bool) -> None:
    study = load_study("horizon_map")
    names = {arm.name for arm in chosen_arms(study, only)}
    words = words_for(study, names)
    assert {arm.name for arm in chosen_arms(study, words)} == names
    assert sorted(words) == sorted(only) if by_words else set(words) == names
    everything = {arm.name for arm in study.arms}
    assert len(chosen_arms(study, words_for(study, everything))) == len(everything)


@pytest.mark.parametrize("name", ["training_gain", "from_scratch"])
def test_the_bar_of_training_is_not_met_by_nothing(name: str) -> None:
    assert load_study(name).measure({})["met"] is False


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "horizon_map"),
        ("missing_studies.own", "No module named 'missing_studies'"),
        ("json.decoder", "STUDY = None"),
        (".study", "can be imported"),
    ],
)
def test_an_unknown_study_is_refused(
    name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == 2
    error = capsys.readouterr().err
    assert why in error and repr(name) in error and error.count("\n") == 1
