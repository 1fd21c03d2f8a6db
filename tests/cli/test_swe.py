"""``agentgym swe build`` and ``agentgym swe list``, as a person calls them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from agentgym.envs.swe import bundled
from agentgym.envs.swe.held_out import load_bank
from agentgym.envs.swe.making.subcommands.task_commands import _yield
from agentgym.envs.swe.making.task_builder import BuildProgress
from agentgym.envs.swe.stored_instances import StoredInstances
from tests.cli.test_commands import run, wide
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import make_library

__all__ = ["wide"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "prices")


@pytest.mark.slow
@needs_box
def test_build_prints_its_outcome_and_the_next_step(capsys, library, tmp_path):
    output = tmp_path / "out"
    argv = ("swe", "build", str(library), "--out", str(output), "--num-tasks", "2")
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert "prices" in out and f"2 tasks in {output} (train 1, test 1)" in out
    assert f"agentgym certify swe --env-kwargs data={output}" in out
    stored = StoredInstances(output)
    assert (stored.len("train"), stored.len("test")) == (1, 1)
    held_out = stored.instance("train", 0).held_out
    assert held_out is not None and held_out.file == output / "held_out" / "prices.json.gz"
    bank = load_bank(held_out)
    assert sorted(bank.tasks) == ["prices-001", "prices-002"]
    assert all(task.telling and task.wrong_repairs is not None for task in bank.tasks.values())
    assert bank.guards is not None
    code, out, err = run(capsys, "swe", "list", str(output))
    assert (code, err) == (0, "")
    assert "prices-001" in out and "prices-002" in out and "train: 1 tasks" in out
    checks = ("--checks", "expert", "idle", "--env-kwargs", f"data={output}")
    code, out, err = run(capsys, "certify", "swe", *checks)
    assert (code, err) == (0, "") and "solves 2 of 2 tasks" in out


@pytest.mark.slow
@needs_box
def test_the_seed_and_the_kind_are_passed_on(capsys, library, tmp_path):
    outputs = []
    for seed in ("0", "1"):
        output = tmp_path / seed
        argv = ("swe", "build", str(library), "--out", str(output), "--num-tasks", "1")
        assert run(capsys, *argv, "--seed", seed, "--no-held-out")[0] == 0
        assert not (output / "held_out").exists()
        outputs.append((output / "instances.jsonl").read_text())
    assert outputs[0] != outputs[1]
    newer = make_library(tmp_path / "prices-2")
    argv = ("swe", "build", str(library), str(newer), "--kind", "versions", "--out")
    code, out, err = run(capsys, *argv, str(tmp_path / "pairs"))
    assert code == 2 and "1 same source" in out and "trials.jsonl" in err


@pytest.mark.slow
@needs_box
def test_build_goes_on_after_a_kill(capsys, library, tmp_path):
    output = tmp_path / "out"
    argv = ["swe", "build", str(library), "--out", str(output), "--num-tasks", "4", "--no-held-out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen([sys.executable, "-m", "agentgym", *argv], env=environment)
    trials = output / "trials.jsonl"
    patience = time.monotonic() + 120
    while not (trials.exists() and trials.stat().st_size) and time.monotonic() < patience:
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    old_text = trials.read_text().splitlines()
    assert old_text and run(capsys, *argv)[0] == 0
    lines_after = trials.read_text().splitlines()
    assert lines_after[: len(old_text) - 1] == old_text[:-1]
    edits = [json.dumps(json.loads(line)["edit"]) for line in lines_after]
    stored = StoredInstances(output)
    assert len(set(edits)) == len(edits) and sum(map(stored.len, stored.splits)) == 4


@pytest.mark.slow
@needs_box
def test_the_bundled_tasks_are_made_anew_where_a_library_has_changed(capsys, tmp_path, monkeypatch):
    libraries, output = tmp_path / "libraries", tmp_path / "out"
    monkeypatch.setattr(bundled, "REPOSITORIES", libraries)
    for name in ("ales", "beers"):
        make_library(libraries / name)
    argv = ("swe", "build", "bundled-tokens", "--out", str(output), "--num-tasks", "1")
    assert run(capsys, *argv)[0] == 0
    banks = [file.name for file in sorted((output / "held_out").iterdir())]
    assert banks == ["ales.json.gz", "beers.json.gz"]
    argv = (*argv, "--no-held-out")
    first = (output / "mutations.jsonl").read_text().splitlines()
    assert [line[:16] for line in first] == [
        '{"repository":"a', '{"id":"ales-001"', '{"repository":"b', '{"id":"beers-001'
    ]  # fmt: skip
    (libraries / "beers" / "NEWS").write_text("changed")
    log = (output / "ales" / "trials.jsonl").read_text()
    assert run(capsys, *argv)[0] == 0
    second = (output / "mutations.jsonl").read_text().splitlines()
    assert second[:2] == first[:2] and second[2] != first[2] and second[3] == first[3]
    assert (output / "ales" / "trials.jsonl").read_text() == log


@needs_box
def test_a_library_without_tests_is_refused(capsys, tmp_path):
    library = make_library(tmp_path / "prices", "")
    code, _, err = run(capsys, "swe", "build", str(library), "--out", str(tmp_path / "out"))
    assert code == 2 and "none is found" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("no such thing",), "expected a folder, the file of a source distribution"),
        (("gone.tar.gz",), "got no file gone.tar.gz"),
        (("installed:no-such-thing",), "pip list"),
        ((".", "--kind", "versions"), "two or more releases"),
        ((".", "--num-tasks", "0"), "--num-tasks"),
    ],
)
def test_bad_input_is_said_in_a_sentence(capsys, tmp_path, arguments, problem):
    code, _, err = run(capsys, "swe", "build", *arguments, "--out", str(tmp_path / "out"))
    assert code == 2 and problem in err and err.count("\n") == 1


def test_list_shows_the_bundled_tasks(capsys):
    code, out, err = run(capsys, "swe", "list", "--split", "valid", "--num-tasks", "2")
    assert (code, err) == (0, "")
    assert "citepress" in out
    assert "train: " in out and "test: " in out
    assert run(capsys, "swe", "list", "no-such-folder/")[0] == 2
    assert "expected --num-tasks" in run(capsys, "swe", "list", "--num-tasks", "-1")[2]


def test_the_table_of_a_build_cuts_nothing_at_80_columns():
    row = BuildProgress(
        "durationtext-1.1", target=512, candidates=12345, tests=1234, flaky=12, seconds=9876.5,
        outcomes={"usable": 512, "timed out": 33, "survived": 4321, "too many failing": 17},
    )  # fmt: skip
    text = io.StringIO()
    Console(file=text, width=80, color_system=None).print(_yield([row, row]))
    output = text.getvalue()
    words = ("library", "candidates", "s each", "durationtext-1.1", "12345", "not usable: ", "4321")
    assert all(word in output for word in words) and "…" not in output
