"""The native engine against Inform 7, on games of every challenge; skipped without TextWorld."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[4] / "benchmarks" / "textworld_parity.py"


@pytest.mark.slow
@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="TextWorld brings Inform 7 for Linux on x86-64",
)
def test_the_benchmark_finds_no_difference() -> None:
    """One game of each challenge: text, points, end, admissible commands and state are equal."""
    pytest.importorskip("textworld", reason="the reference needs the package textworld")
    command = [sys.executable, str(SCRIPT), "--per-challenge", "1", "--walks", "2"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=SCRIPT.parents[1], check=False
    )
    assert done.stdout, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert done.returncode == 0, result.get("examples", result)
    assert result["games"] == 5
    assert result["steps"]["admissible"] > 80
