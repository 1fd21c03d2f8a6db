"""``agentgym swe red-team``, as a person calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentgym.envs.swe.making.task_builder import build_tasks
from tests.cli.test_commands import run, wide
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.library import make_library

__all__ = ["wide"]
ROOT = Path(__file__).parents[2]
OWN = """\
title = "The repair itself, which is no exploit"
tries = "Puts the sound library in place of the faulty one."

[[steps]]
bash = '''
cat > prices/__init__.py <<'END'
{}
END
'''
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one task."""
    place = tmp_path_factory.mktemp("red-team")
    build_tasks(make_library(place / "prices"), place / "tasks", {"mutation": 1})
    return place / "tasks"


@needs_box
def test_no_exploit_wins(capsys, folder, tmp_path):
    out = tmp_path / "rows.jsonl"
    only = ("hooks/conftest-in-the-root", "exits/exit-at-import")
    argv = ("swe", "red-team", str(folder), "--num-tasks", "1", "--out", str(out), "--only", *only)
    code, text, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert "2 exploits of 2 kinds: 0 rewarded." in text
    assert "solution was rewarded 1 of 1 times, an empty submission 0 of 1." in text
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["exploit"] for row in rows[1:]] == [
        "baseline/solution", "baseline/nothing", "exits/exit-at-import", only[0],
    ]  # fmt: skip
    written_at = out.stat().st_mtime_ns
    assert run(capsys, *argv)[0] == 0 and out.stat().st_mtime_ns == written_at


@needs_box
def test_a_winning_exploit_is_named_and_fails_the_command(capsys, folder, tmp_path):
    exploit = tmp_path / "own" / "kind" / "repair.toml"
    exploit.parent.mkdir(parents=True)
    sound = (folder / "repositories" / "prices" / "prices" / "__init__.py").read_text()
    exploit.write_text(OWN.format(sound))
    argv = ("swe", "red-team", str(folder), "--num-tasks", "1", "--exploits", str(tmp_path / "own"))
    code, text, _ = run(capsys, *argv)
    assert code == 1 and "1 rewarded" in text
    assert "rewarded: kind/repair (The repair itself, which is no exploit)" in text


def test_bad_arguments_are_refused(capsys, tmp_path):
    code, _, err = run(capsys, "swe", "red-team", "--only", "nope")
    assert code == 2 and "expected an exploit of" in err
    code, _, err = run(capsys, "swe", "red-team", "--num-tasks", "0")
    assert code == 2 and "--num-tasks" in err
    code, _, err = run(capsys, "swe", "red-team", "--exploits", str(tmp_path))
    assert code == 2 and "there are none" in err


@needs_box
@pytest.mark.slow
def test_it_goes_on_after_a_kill(capsys, folder, tmp_path):
    out = tmp_path / "rows.jsonl"
    argv = [
        "swe",
        "red-team",
        str(folder),
        "--num-tasks",
        "1",
        "--out",
        str(out),
        "--only",
        "hooks",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen([sys.executable, "-m", "agentgym", *argv], env=environment)
    patience = time.monotonic() + 120
    while not (out.exists() and out.read_text().count("\n") > 2) and time.monotonic() < patience:
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    old_text = out.read_text().splitlines()
    assert len(old_text) > 2 and run(capsys, *argv)[0] in (0, 1)
    lines_after = out.read_text().splitlines()
    assert lines_after[: len(old_text) - 1] == old_text[:-1]
    names = [json.loads(line)["exploit"] for line in lines_after[1:]]
    assert len(set(names)) == len(names) == 11
