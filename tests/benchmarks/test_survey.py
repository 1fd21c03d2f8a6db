"""The survey of other projects' environments, with one that is installed here."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from agentgym.certification import CHECKS, certify
from benchmarks import survey


def test_every_check_has_words() -> None:
    assert set(survey.WORDS) == set(CHECKS) - set(survey.LEFT_OUT)


@pytest.mark.slow
def test_rows_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = "tests.certification.drawers:drawers/Instances-v0"
    project = survey.Project("none", "1", (env,), tasks=3)
    monkeypatch.setattr(survey, "PROJECTS", {"none": project})
    monkeypatch.setattr(survey, "CHECKS", {name: CHECKS[name] for name in ("expert", "again")})
    monkeypatch.setattr(survey, "install", lambda place, project: sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(survey.ROOT))
    rows = tmp_path / "rows.jsonl"
    options = argparse.Namespace(rows=rows, projects=["none"], seconds=60.0)
    survey.certify_all(options, tmp_path)
    rows.write_text(rows.read_text() + '{"env": "cut')
    survey.certify_all(options, tmp_path)
    [row] = map(json.loads, rows.read_text().splitlines())
    assert row["failed"] == {"again": {"n": 3, "words": survey.WORDS["again"]}}
    assert row["counts"]["pass"] == 1 and "drawers/train" not in json.dumps(row)


@pytest.mark.parametrize("name", ["gsm8k", "gsm8k_multi_turn", "aime"])
def test_skyrl_questions(name: str) -> None:
    pytest.importorskip("skyrl_gym", reason="skyrl-gym is in .ci/peers")
    certificate = certify(
        f"benchmarks.skyrl_questions:skyrl/{name}-v0", ["expert", "unbroken"], num_tasks=6
    )
    assert certificate.passed and certificate.complete, certificate.markdown()


def test_inspect_sample() -> None:
    pytest.importorskip("inspect_ai", reason="inspect-ai is in .ci/peers")
    file = survey.ROOT / "benchmarks" / "inspect_sample.py"
    certificate = certify(f"inspect:{file}@popularity", ["expert"], num_tasks=6)
    assert certificate.passed and certificate.complete, certificate.markdown()
