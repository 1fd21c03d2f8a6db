from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.cli import doctor, main
from agentgym.registration import FAMILIES
from tests.toy import TOY_ID


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        code = main(argv)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_list_shows_every_family(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    for entry in FAMILIES:
        assert entry.id in out and entry.name in out
    rows = json.loads(run(capsys, "list", "--json")[1])
    assert [row["id"] for row in rows] == [entry.id for entry in FAMILIES]
    assert all(row["status"] == "ready" and row["splits"]["test"] > 0 for row in rows)


def test_play_to_the_end_with_numbers_and_words(capsys, monkeypatch):
    # toy/red-blue is found by its index, whatever that is
    from tests.toy import ToyTasks

    task = ToyTasks().task("test", 3)
    buttons = task.content["buttons"]
    typed(monkeypatch, "\n".join(["dance", "1", *(f"press {b}" for b in buttons)]) + "\n")
    code, out, _ = run(capsys, "play", TOY_ID, "--split", "test", "--index", "3", "--oracle")
    assert code == 0
    assert f"{task.id}: {task.goal}" in out
    assert "  1. press red\n" in out and f"hint: press {buttons[0]}" in out
    assert "(not a valid action)" in out
    assert "score 1.000, reward 1.000" in out and "success after" in out


def test_play_survives_the_end_of_input(capsys, monkeypatch):
    typed(monkeypatch, "press red")
    code, out, _ = run(capsys, "play", TOY_ID, "--horizon", "3")
    assert code == 0 and "stopped after 1 of 3 turns" in out
    typed(monkeypatch, "")
    assert "stopped after 0 of 8 turns" in run(capsys, "play", TOY_ID)[1]
    typed(monkeypatch, "press red\n[bold] \x1b[31m\n \n99999999999999999999\n²\n")
    assert "stopped after 5 of 8" in run(capsys, "play", TOY_ID, "--set", "max_turns=8")[1]


def test_play_in_another_grammar(capsys, monkeypatch):
    typed(monkeypatch, "1\n")
    out = run(capsys, "play", TOY_ID, "--grammar", "xml")[1]
    assert "1. <press>red</press>" in out and "(not a valid action)" not in out


def test_eval_writes_a_report_and_a_record(capsys, tmp_path):
    report, record = tmp_path / "r.json", tmp_path / "e.jsonl"
    code, out, _ = run(
        capsys, "eval", TOY_ID, "--policy", "oracle", "--n", "5", "--output", str(report),
        "--record", str(record),
    )  # fmt: skip
    assert code == 0 and "1.000  [1.000, 1.000]" in out
    assert json.loads(report.read_text())["n"] == 5
    code, out, _ = run(capsys, "replay", str(record))
    assert code == 0 and "5 episodes played again, 0 changed" in out
    record.write_text(
        record.read_text().replace(
            '"reward": 1.0, "reward_terms"', '"reward": 2.0, "reward_terms"', 1
        )
    )
    code, out, _ = run(capsys, "replay", str(record))
    assert code == 1 and "reward differs: expected 2.0, got 1.0" in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["play", "nosuch"], "expected the name of an environment"),
        (["play", TOY_ID, "--index", "-1"], "expected an index"),
        (["play", TOY_ID, "--split", "exam"], "expected a split"),
        (["play", TOY_ID, "--horizon", "0"], "expected horizon"),
        (["play", TOY_ID, "--set", "colour"], "expected --set key=value"),
        (["play", TOY_ID, "--set", "colour=1"], "expected --set with arguments"),
        (["play", TOY_ID, "--set", "max_turns=x"], "expected max_turns"),
        (["eval", TOY_ID, "--n", "0"], "expected a panel"),
        (["eval", TOY_ID, "--policy", "chat"], "expected the name of a model"),
        (
            ["eval", TOY_ID, "--n", "1", "--output", "/dev/null/r.json"],
            "expected a file that can",
        ),
        (["eval", TOY_ID, "--n", "1", "--record", "/dev/null/e.jsonl"], "/dev/null"),
        (["replay", "/nonexistent.jsonl"], "expected a file of episodes"),
        (["fly"], "fly"),
        (["play"], "required"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, monkeypatch, argv, words):
    typed(monkeypatch, "")
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert words in err and "Traceback" not in err + out


def test_doctor_finds_the_core_in_order(capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0 and "The core is fine." in out
    checks = json.loads(run(capsys, "doctor", "--json")[1])
    core = {check["name"]: check for check in checks if check["group"] == "core"}
    assert {"python", "gymnasium", "numpy", "tyro", "rich"} <= set(core)
    assert all(check["ok"] for check in core.values())
    assert {"chat", "train", "dev"} <= {check["group"] for check in checks}


def test_doctor_names_the_repair(capsys, monkeypatch, tmp_path):
    requirements = ["numpy>=99", "no-such-package>=1", "other-package; extra == 'chat'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: requirements)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "file" / "cache"))
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and "The core is broken." in out
    assert "but >=99 is needed" in out and "no-such-package not installed" in out
    root = Path(doctor.__file__).resolve().parents[2]
    assert f'-m pip install -e "{root}"\n' in out and f'-m pip install -e "{root}[chat]"\n' in out
    assert "export AGENTGYM_CACHE=" in out


def test_doctor_asks_the_docker_socket(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert not doctor._docker().ok
    monkeypatch.setenv("DOCKER_HOST", "tcp://host:1")
    assert doctor._docker().ok


def python(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv], input=stdin, capture_output=True, text=True, timeout=60,
        env={**os.environ, "COLUMNS": "200"}, check=False,
    )  # fmt: skip


def test_module_entry_point_and_pipes():
    found = python("-m", "agentgym", "play", "webshop", stdin="1\n")
    assert found.returncode == 0 and "stopped after 1 of" in found.stdout
    found = python("-m", "agentgym", "play", "nosuch")
    assert found.returncode == 2 and found.stderr.count("\n") == 1


def test_importing_the_package_stays_light():
    heavy = "rich tyro openai torch transformers packaging"
    code = f"import sys, agentgym; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"
