"""A certificate as a whole: what it says, its budget, and that it goes on where it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentgym.certification import Certificate, CheckResult, Status, certify
from agentgym.certification.run import RESULTS, read_certificate
from agentgym.certification.table import meaning
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.evaluation import evaluate
from tests.certification.drawers import SIZE, AnyColour, DrawersEnv, OwnProcess, register

NAME = register(DrawersEnv)
QUICK = ("unique_ids", "expert", "idle", "again")


def test_results_are_in_the_order_of_the_checks_and_say_how_many(tmp_path: Path) -> None:
    seen: list[CheckResult] = []
    certificate = certify(NAME, QUICK[::-1], num_tasks=6, out=tmp_path, on_check=seen.append)
    assert [result.check for result in certificate.results] == [*QUICK] == [r.check for r in seen]
    assert certificate.passed and certificate.complete and certificate["expert"].n == 6
    assert str(certificate) == (
        "drawers/DrawersEnv-v0: 4 pass, 0 fail, 0 not applicable, 0 not run."
    )
    data = read_certificate(tmp_path / "certificate.json")
    assert data["settings"]["counts"] == {"train": 3, "test": 3} and data["passed"]
    assert data["results"][1]["status"] == "pass" and data["panel_sha256"]
    markdown = (tmp_path / "certificate.md").read_text()
    assert "| expert | pass | 6 | solves 6 of 6 tasks" in markdown
    assert meaning("expert") in markdown
    assert "solves 6 of 6 tasks" in (tmp_path / "certificate.html").read_text()


def test_all_tasks_are_played_if_asked_for() -> None:
    assert certify(NAME, ["idle"], num_tasks=None)["idle"].n == 2 * SIZE
    assert certify(NAME, ["idle"], split="test", num_tasks=99)["idle"].n == SIZE


def test_all_failing_tasks_are_in_the_json_and_some_on_a_page() -> None:
    certificate = certify(register(AnyColour), ["adversarial_floor"], num_tasks=48)
    tasks = certificate["adversarial_floor"].evidence
    assert len(tasks) == len(set(tasks)) == 48
    for page in (certificate.markdown(), certificate.html()):
        assert tasks[19] in page and tasks[20] not in page and "and 28 more" in page


def test_untrusted_text_stays_text() -> None:
    result = CheckResult("expert", Status.FAIL, "<script>\u202e", evidence=("\x1b[2J|<b>",))
    certificate = Certificate("<i>", {}, "", "", {}, {}, "", (result,))
    for text in (certificate.html(), certificate.markdown()):
        assert not any(markup in text for markup in ("<script>", "\u202e", "\x1b", "<b>", "<i>"))


def test_a_spent_budget_is_said_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    first = certify(NAME, QUICK, num_tasks=6, seconds=1e-6, out=tmp_path)
    assert {result.status for result in first.results} == {Status.NOT_RUN}
    assert first.passed and not first.complete and "raise `seconds`" in first["expert"].summary
    second = certify(NAME, QUICK, num_tasks=6, out=tmp_path)
    assert second.complete and second.passed


def test_results_are_not_computed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = certify(NAME, QUICK, num_tasks=6, out=tmp_path)
    with (tmp_path / RESULTS).open("a") as file:
        file.write('{"check": "idle", "sta')  # killed while it wrote

    def refuse(*arguments: Any) -> None:
        raise AssertionError("a result is computed twice")

    monkeypatch.setattr("agentgym.certification.run.run_check", refuse)
    again = certify(NAME, QUICK, num_tasks=6, out=tmp_path)
    assert again.to_dict() == first.to_dict() and first.episodes_sha256


@pytest.mark.slow
def test_a_killed_certificate_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "certificate"
    command = [sys.executable, "-m", "agentgym", "certify", NAME, "--out", str(out)]
    checks = ["--checks", "expert", "process", "hash_seed", "blind"]
    with subprocess.Popen([*command, *checks], stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (out / RESULTS).exists() or len((out / RESULTS).read_text().splitlines()) < 3:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    written = (out / RESULTS).read_text().splitlines()[:3]
    subprocess.run([*command, *checks], check=True, stdout=subprocess.DEVNULL)
    assert (out / RESULTS).read_text().splitlines()[:3] == written
    assert len(json.loads((out / "certificate.json").read_text())["results"]) == 4


def test_the_folder_of_another_certificate_is_refused(tmp_path: Path) -> None:
    certify(NAME, ["idle"], num_tasks=6, out=tmp_path)
    with pytest.raises(ConfigurationError, match="same settings"):
        certify(NAME, ["idle"], num_tasks=8, out=tmp_path)


def test_evaluations_take_the_place_of_stand_ins(tmp_path: Path) -> None:
    folders = []
    for policy in ("random", "blind-first-new", "oracle"):
        folders.append(tmp_path / policy)
        evaluate(policy, NAME, "test", 12, out=folders[-1])
    checks = ["difficulty_separation", "headroom"]
    certificate = certify(NAME, checks, split="test", num_tasks=12, reports=folders)
    assert "oracle" in certificate["difficulty_separation"].summary
    assert certificate["difficulty_separation"].n == 12
    assert certificate["headroom"].status is Status.FAIL, "the strongest solves everything"


def test_what_means_nothing_says_why() -> None:
    certificate = certify(NAME, ["immutable_version", "cross_host", "other_python"], num_tasks=2)
    assert {result.status for result in certificate.results} == {Status.NOT_APPLICABLE}
    assert all("give" in result.summary for result in certificate.results)


@pytest.mark.slow
def test_a_coarse_ladder_of_stand_ins_fails_no_family() -> None:
    """A tenth of the expert's turns is too little in TextCraft, and a quarter is nearly all."""
    certificate = certify("textcraft", ["difficulty_separation"])
    assert certificate.passed, certificate["difficulty_separation"]


def test_a_training_needs_minutes() -> None:
    [result] = certify(NAME, ["training_signal"], num_tasks=2, seconds=60).results
    assert result.status is Status.NOT_RUN and "raise `seconds`" in result.summary


@pytest.mark.slow
def test_a_training_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("agentgym.certification.learning.LEAST_TRAINING", 0.0)
    [result] = certify("textcraft", ["training_signal"], num_tasks=2, seconds=2).results
    assert result.status is Status.NOT_RUN and "did not end in" in result.summary


@pytest.mark.slow
def test_another_python_is_asked() -> None:
    [result] = certify(
        register(OwnProcess), ["other_python"], num_tasks=3, python=[sys.executable]
    ).results
    assert result.status is Status.FAIL and "1 Pythons" in result.summary


def test_another_python_without_packages_is_told(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    [result] = certify(NAME, ["other_python"], num_tasks=1, python=[str(bare)]).results
    assert result.status is Status.NOT_RUN
    assert "bare ended: ModuleNotFoundError: No module named" in result.summary


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_tasks": 0}, ConfigurationError), ({"blind_limit": 2}, ConfigurationError),
        ({"seconds": 0}, ConfigurationError), ({"checks": ["exprt"]}, ConfigurationError),
        ({"split": "dev"}, TaskNotFound), ({"env_kwargs": {"a": 1}}, ConfigurationError),
        ({"earlier": "nowhere"}, ConfigurationError), ({"seed": -1}, ConfigurationError),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        certify(NAME, **arguments)


def test_an_unknown_environment() -> None:
    with pytest.raises(ConfigurationError, match="MODULE:ID"):
        certify("nothing")
