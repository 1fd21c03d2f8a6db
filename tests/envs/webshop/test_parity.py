"""Recorded sessions of the original, replayed; skipped where the recordings are absent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.envs.webshop.conftest import shared_data

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "webshop_parity.py"


def test_the_recordings_are_reproduced() -> None:
    data = shared_data("webshop")
    command = [sys.executable, str(SCRIPT), "--catalogue", str(data / "catalogue"),
               "--pack", str(data / "pack1")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parents[1])
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    assert result["total"] == {
        "episodes": 276, "steps": 2090, "purchases": 232, "text": 0, "text_rich": 0,
        "clickables": 0, "reward": 0, "done": 0, "reward_parts": 0,
    }  # fmt: skip
    assert {run["goals_that_we_make_differ"] for run in result["recordings"].values()} == {0}
    ranked = result["rankings"]
    assert ranked["identical_at_10"] == ranked["identical_at_50"] == ranked["queries"] == 596
    assert result["tokens"] == {"documents": 1000, "differ": 0, "examples": []}


def test_a_pack_without_optional_files_is_reported(tmp_path: Path) -> None:
    data = shared_data("webshop")
    command = [sys.executable, str(SCRIPT), "--catalogue", str(data / "catalogue"),
               "--pack", str(tmp_path)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parents[1])
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["missing"]) == 4
