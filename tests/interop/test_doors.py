"""One name of another project's environment, through every door."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.certification import Status, certify
from tests.cli.test_commands import run
from tests.interop.harbor.test_harbor import write_task

NAME = "gymnasium:FrozenLake-v1"


def test_eval_replay_and_view(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, output, _ = run(capsys, "eval", NAME, "--num-tasks", "3", "--out", str(out))
    assert code == 0 and "gymnasium/FrozenLake-v1-v0" in output
    record = json.loads((out / "episodes.jsonl").read_text().splitlines()[0])
    assert record["env_id"] == "gymnasium/FrozenLake-v1-v0"
    agentgym.replay_file(out / "episodes.jsonl")
    assert run(capsys, "replay", str(out))[0] == 0
    page = tmp_path / "page.html"
    assert run(capsys, "view", str(out), "--out", str(page))[0] == 0
    assert "FrozenLake" in page.read_text("utf-8")


def test_play(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("down\nright\n"))
    code, out, _ = run(capsys, "play", NAME)
    assert code == 0 and "(red S)FFF" in out and "stopped after 2 of 100 turns" in out


def test_certify(capsys: Any) -> None:
    checks = ("--checks", "expert", "idle", "blind")
    code, out, _ = run(capsys, "certify", NAME, "--num-tasks", "3", "--split", "test", *checks)
    assert code == 0 and "there is no expert" in out and "2 pass" in out


@pytest.mark.slow
def test_workers_in_other_processes() -> None:
    report = agentgym.evaluate("random", NAME, num_tasks=4, concurrency=2, backend="process")
    local = agentgym.evaluate("random", NAME, num_tasks=4)
    assert [row.turns for row in report.rows] == [row.turns for row in local.rows]


def test_training_resolves_it(capsys: Any) -> None:
    pytest.importorskip("torch")
    from trainers.cli import main

    assert main(["--env", NAME, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "gymnasium/FrozenLake-v1-v0" in out and "gymnasium-frozenlake-v1" in out


def test_training_says_what_tasks_without_a_split_need(capsys: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from trainers.cli import main

    write_task(tmp_path / "sum")
    assert main(["--env", f"harbor:{tmp_path}", "--dry-run"]) == 2
    assert "--env-kwargs deal=true" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_servers_show_the_same_episodes() -> None:
    """What ``agentgym serve`` shows of it, over HTTP and as tools."""
    results = certify(NAME, ["http", "mcp"], num_tasks=4, horizon=6).results
    assert [(result.status, result.n) for result in results] == [(Status.PASS, 4)] * 2


@pytest.mark.slow
def test_training_takes_steps_in_it(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("torch")
    from tests.trainers.test_families import SMALL
    from trainers.cli import main

    out = tmp_path / "run"
    less = dict.fromkeys(
        ("horizon", "eval.num-tasks", "sft.max-steps", "sft.eval-every", "sft.eval-tasks"), 2
    )
    settings = {
        **SMALL, **less, "env": NAME, "steps": 2, "sft.demonstrator": "random",
        "sft.demonstrations": 4, "eval.baselines": "none", "out": out,
    }  # fmt: skip
    assert main([f"--{name}={value}" for name, value in settings.items()]) == 0, (
        capsys.readouterr().err
    )
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "gymnasium/FrozenLake-v1-v0" and summary["eval"]["trained"]["n"] == 2
    steps = [json.loads(line) for line in (out / "metrics.jsonl").open()]
    assert [step["step"] for step in steps if step["phase"] == "rl"] == [1, 2]
