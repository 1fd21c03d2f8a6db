"""The how-to page of one's own method: its package trains, and goes on from a checkpoint."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.trainers import toy_runs
from tests.trainers.toy_runs import ROOT, run_command
from trainers.methods.table import GROUP

PAGE = ROOT / ".site/how-to/my-method.md"
LINES = 60
"""What fits on the page."""


def install(folder: Path) -> dict[str, str]:
    """Write the files of the page, and what pip would write of their entry point."""
    page = PAGE.read_text(encoding="utf-8")
    files = dict(re.findall(r"^`(\S+)`[^\n]*\n\n```\w+\n(.*?)```", page, flags=re.DOTALL | re.M))
    assert set(files) == {"pyproject.toml", "novelty.py", "novelty_step.py"}
    for name, text in files.items():
        (folder / name).write_text(text)
    (point,) = re.findall(rf'entry-points."{GROUP}"\]\n(.*)\n', files["pyproject.toml"])
    info = folder / "novelty-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: novelty\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{point.replace(chr(34), '')}\n")
    return files


def test_the_package_is_as_short_as_promised(tmp_path: Path) -> None:
    for name, text in install(tmp_path).items():
        assert len([line for line in text.splitlines() if line.strip()]) <= LINES, name


@pytest.mark.slow
def test_the_package_of_the_page_trains_and_resumes(tmp_path: Path) -> None:
    install(tmp_path)
    out = tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    settings = {"preset": "novelty", "steps": 2, "sft.max-steps": 5, "rl.save-every": 1}
    command = toy_runs.arguments(out, "--novelty.weight=0.2", **settings)
    process = run_command(command, environment=environment)
    assert process.returncode == 0, process.stderr
    seen_states = [record["states"] for record in toy_runs.by_phase(out)["rl"]]
    assert 0 < seen_states[0] < seen_states[1]
    assert "weight: 0.2" in (out / "config.yaml").read_text()
    process = run_command([*command, "--steps=3", "--resume"], environment=environment)
    assert process.returncode == 0, process.stderr
    assert toy_runs.by_phase(out)["rl"][2]["states"] >= seen_states[1]
