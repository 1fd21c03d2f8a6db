"""``agentgym-train --seeds``: one training over several seeds, through the command."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from rich.console import Console

from agentgym import compare_trainings
from agentgym.support.folder_lock import LOCK
from tests.benchmarks.toy_study import FLAGS
from tests.trainers import forks, toy_runs
from tests.trainers.phases.multirun import forking
from tests.trainers.pictures import begin_blank
from tests.trainers.test_cli import sentence
from trainers.cli import main, parse_config
from trainers.models.memory_plan import Device
from trainers.phases.multirun.seed_flags import SEEDS_FILE, SeedFlags
from trainers.phases.multirun.seeds import seeds_sentences, train_over_seeds

RUN = (*FLAGS.split(), "--horizon", "3")
UNEQUAL = ("wall_s", "cpu_s", "commit", "estimated_gib", "peak_gib")
"""Entries of a run that two equal ones need not share: a commit may be made meanwhile."""


def over(seeds: Sequence[int], out: Path, *more: str) -> list[str]:
    return [*RUN, "--seeds", *map(str, seeds), "--out", str(out), *more]


def result(folder: Path) -> dict[str, Any]:
    """What a folder of seeds holds, without what two equal ones need not share."""
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    assert content.pop("commits")
    for run in content["runs"]:
        for name in UNEQUAL:
            run.pop(name, None)  # a machine may not know its memory
    return content


@pytest.fixture(autouse=True, scope="module")
def blank() -> Iterator[None]:
    """Leave the pictures of the seeds blank."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainers.phases.multirun.seeds.begin_process", begin_blank)
        yield


@pytest.fixture(scope="module")
def seeds_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three seeds that were played side by side; change nothing in it."""
    folder = tmp_path_factory.mktemp("seeds") / "whole"
    assert main(over([0, 1, 2], folder, "--jobs", "2")) == 0
    return folder


# -- the result ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_seeds_make_one_report_with_intervals_over_them(seeds_folder: Path) -> None:
    report = result(seeds_folder)
    assert report["seeds"] == [0, 1, 2] and report["interval"] == "95 %, Student t over 3 seeds"
    singles = [toy_runs.summary(seeds_folder / f"seed{seed}") for seed in report["seeds"]]
    values = [single["eval"]["trained"]["success"] for single in singles]
    trained = report["eval"]["trained"]
    assert trained["success"]["values"] == values and trained["over"] == "seeds"
    assert trained["success"]["mean"] == pytest.approx(sum(values) / 3)
    for number, single in enumerate(singles):
        gain = report["paired"]["trained_minus_warm_start"]["score"]
        assert gain["values"][number] == single["paired"]["trained_minus_warm_start"]["score_mean"]
        assert gain["paired"][number] == single["paired"]["trained_minus_warm_start"]["score_ci95"]
    assert report["eval"]["random"]["over"] == "tasks"
    page = (seeds_folder / "report.html").read_text()
    assert report["verdict"] == report["headline"]["text"] in page and "Student t" in page
    assert all(f"seed{seed}/report.html" in page for seed in report["seeds"])
    assert (seeds_folder / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_runs_of_a_training_are_compared_by_the_figures_of_their_summaries(
    seeds_folder: Path,
) -> None:
    comparison = compare_trainings(seeds_folder / "seed0", seeds_folder / "seed1")
    singles = [toy_runs.summary(seeds_folder / f"seed{seed}") for seed in (0, 1)]
    for part, kind in zip(comparison.differences, ("eval", "greedy"), strict=True):
        rows = [single[kind]["trained"] for single in singles]
        assert [part.success.first, part.success.second] == [row["success"] for row in rows]
        scores = [row["score_mean"] for row in rows]
        assert [part.score.first, part.score.second] == pytest.approx(scores)
    assert comparison.panel_sha256 == singles[0]["evaluation"]["panel_sha256"]
    assert "at least 3 seeds in common, got seeds 0 and 1" in comparison.verdict
    assert comparison.differing == {}


@pytest.mark.slow
def test_what_no_seed_changes_is_played_once(seeds_folder: Path) -> None:
    for arm in ("random", "oracle"):
        episodes = {
            (seeds_folder / f"seed{n}/eval_episodes/{arm}.jsonl").read_bytes() for n in range(3)
        }
        assert len(episodes) == 1
    assert not [log for log in seeds_folder.glob("seed*.log") if "[references]" in log.read_text()]


@pytest.mark.slow
def test_a_seed_comes_to_what_it_comes_to_alone(seeds_folder: Path, tmp_path: Path) -> None:
    assert main([*RUN, "--seed", "1", "--out", str(tmp_path / "alone")]) == 0
    alone, together = tmp_path / "alone", seeds_folder / "seed1"
    assert toy_runs.by_phase(alone) == toy_runs.by_phase(together)
    assert toy_runs.summary(alone) == toy_runs.summary(together)


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_command_that_is_killed_twice_goes_on_to_the_same_report(
    seeds_folder: Path, tmp_path: Path
) -> None:
    """Killed while baselines are played, and in training; a third seed comes in afterwards."""
    folder = tmp_path / "killed"
    command = over([0, 1], folder, "--jobs", "2")
    for more, file, word in (
        ([], "seed0/metrics.jsonl", "random"),
        (["--resume"], "seed1/metrics.jsonl", "valid"),
    ):
        assert word not in read(folder / file)
        environment = {**os.environ, **toy_runs.ALONE}
        started = forks.Started(forking.__name__, [*command, *more], environment)
        until(lambda file=file, word=word: word in read(folder / file), started.process)
        started.terminate()
        wait_until_free(folder)
        assert not (folder / "summary.json").exists()
    assert main(["--resume", "--out", str(folder), *over([0, 1, 2], folder)[:-2]]) == 0
    assert result(folder) == result(seeds_folder)


def wait_until_free(folder: Path) -> None:
    """Wait until a command that was killed, and the runs that it had started, have ended."""
    for place in (folder, *folder.glob("seed?")):
        FileLock(place / LOCK).acquire(timeout=60).lock.release()


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def until(true: Any, process: forks.Forked) -> None:
    """Wait until something is true of what a process writes."""
    while not true():
        with suppress(TimeoutError):
            raise AssertionError(f"it ended with {process.wait(0.005)} before it could be killed")


@pytest.mark.slow
def test_finished_seeds_are_not_played_again(seeds_folder: Path, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a run was played")

    old_text = result(seeds_folder)
    monkeypatch.setattr("trainers.phases.multirun.seeds.begin_process", refuse)
    assert main(["--resume", "--out", str(seeds_folder)]) == 0  # it knows its seeds
    assert result(seeds_folder) == old_text


@pytest.mark.slow
def test_sentences_about_seeds_are_broken_between_words_on_a_terminal(seeds_folder: Path) -> None:
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=60, color_system=None)
    flags = SeedFlags.read(["--resume", "--out", str(seeds_folder)])
    assert flags is not None
    sentences = seeds_sentences(train_over_seeds(flags, parse_config, main, console=terminal))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    longest = max(sentences, key=len)
    assert len(longest) > 60 and longest not in lines
    assert longest in " ".join(lines), "no word is broken"
    assert all(len(line) <= 60 or " " not in line for line in lines)


@pytest.mark.slow
def test_more_steps_extend_every_seed(seeds_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "seeds"
    shutil.copytree(seeds_folder, folder)
    arguments = ["--resume", "--out", str(folder), "--steps", "6", "--jobs", "2"]
    assert main(arguments) == 2  # a copy may be somebody else's
    assert main([*arguments, "--trust", "env=tests.toy:agentgym-test/Toy-v0"]) == 0
    assert [run["steps"] for run in result(folder)["runs"]] == [6, 6, 6]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--seeds 0 1 1", "expected different --seeds, got 1 more than once"),
        ("--seeds 0 -1", "--seeds to be whole numbers of at least 0, got '-1'"),
        ("--seeds 0 x", "got 'x'"),
        ("--seeds 0 1.5", "got '1.5'"),
        ("--seeds", "at least two --seeds"),
        ("--seeds 3", "at least two --seeds, because intervals need their spread, got 1"),
        ("--seeds 0 1 --seed 2", "--seeds or --seed, got both (--seed 2)"),
        ("--seeds 0 1 --jobs 0", "--jobs to be whole numbers of at least 1, got '0'"),
        ("--seeds 0 1 --jobs two", "got 'two'"),
        ("--jobs 2", "expected --jobs with --seeds, got --jobs 2 alone"),
        ("--seeds 0 1 --push-to-hub me/it", "no --push-to-hub with --seeds"),
        ("--seeds 0 1 --resume", "expected runs over seeds to resume in"),
        ("--seeds 0 1 --preset nope", "expected a preset of"),
    ],
)
def test_bad_seeds_end_in_one_sentence(
    flags: str, expected: str, tmp_path: Path, capsys: Any
) -> None:
    folder = tmp_path / "seeds"
    assert main([*RUN, "--out", str(folder), *flags.split()]) == 2
    assert expected in sentence(capsys)
    assert not folder.exists()


def test_runs_that_do_not_fit_side_by_side_are_refused(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    small = Device("this machine", 64 * 2**20, gpu=False)
    monkeypatch.setattr(Device, "current", classmethod(lambda cls: small))
    assert main(over([0, 1], tmp_path / "seeds", "--jobs", "64")) == 2
    assert "fits this machine, shared by 64 runs, of 0.0 GiB" in sentence(capsys)
    assert not (tmp_path / "seeds").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(over([0, 1], tmp_path)) == 2
    assert "folder of several seeds" in sentence(capsys)
    (tmp_path / SEEDS_FILE).write_text("seeds: [0, 1]")
    assert main(over([0, 1], tmp_path)) == 2
    assert "pass --resume" in sentence(capsys)
    (tmp_path / SEEDS_FILE).write_text("seeds: none")
    assert main(["--resume", "--out", str(tmp_path)]) == 2
    assert "to hold seeds" in sentence(capsys)


def test_a_dry_run_names_the_seeds_and_makes_no_folder(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "seeds"
    assert main(over([4, 7], folder, "--jobs", "2", "--dry-run")) == 0
    output = capsys.readouterr().out
    assert re.search(r"seeds: 4 7 \(2 runs, 2 at a time", output) and "rl.learning-rate" in output
    assert not folder.exists()


@pytest.mark.slow
def test_runs_side_by_side_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def begin(*_: object, **options: int) -> None:
        threads.append(options["threads"])
        raise KeyboardInterrupt

    monkeypatch.setattr("trainers.phases.multirun.seeds.begin_process", begin)
    monkeypatch.setattr("trainers.phases.multirun.seeds.thread_limit", lambda: 7)
    flags = SeedFlags.read(over([0, 1], tmp_path / "seeds", "--jobs", "2"))
    assert flags is not None
    with pytest.raises(KeyboardInterrupt):
        train_over_seeds(flags, parse_config, main, quiet=True)
    assert threads == [3]
