"""The native engine against Inform 7, on games of every challenge; skipped without TextWorld."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[4] / "benchmarks" / "textworld_parity.py"


@pytest.mark.slow
@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="TextWorld brings Inform 7 for Linux on x86-64",
)
def test_the_benchmark_finds_no_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One game of each challenge: text, points, end, admissible commands and state are equal."""
    pytest.importorskip("textworld", reason="the reference needs the package textworld")
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--per-challenge", "1", "--walks", "2"])
    script = importlib.import_module(SCRIPT.stem)
    code, result = script.main(), json.loads(capsys.readouterr().out)
    assert code == 0, result.get("examples", result)
    assert result["games"] == 5
    assert result["steps"]["admissible"] > 80
