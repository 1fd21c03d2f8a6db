"""``agentgym swe gold``, as a person calls it, and what it changes for those who play."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.runtime import runtime
from tests.cli.test_commands import run, wide
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.grading.test_blinded import (
    FAILS,
    FIRST,
    HIDDEN,
    PASSES,
    PATH,
    RIGHT,
    TESTS,
    WRONG,
)
from tests.envs.swe.official.folder_image import BOXES, FOLDERS, diff, make_instance
from tests.envs.swe.official.sample_rows import swe_gym

__all__ = ["wide"]
pytestmark = needs_box
IMAGE = "agentgym-test/ledger:latest"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rows of one image: one with a right solution, and one whose patch fits nowhere."""
    folder = tmp_path_factory.mktemp("rows")
    files = {"ledger/__init__.py": "", PATH: WRONG, TESTS: FIRST}
    make_instance(folder / "image", files, {PATH: RIGHT})
    FOLDERS[IMAGE] = folder / "image"
    sound = swe_gym(
        image_name=IMAGE,
        patch=diff({PATH: WRONG}, {PATH: RIGHT}),
        test_patch=diff({TESTS: FIRST}, {TESTS: HIDDEN}),
        FAIL_TO_PASS=list(FAILS),
        PASS_TO_PASS=list(PASSES),
    )
    odd = {**sound, "instance_id": "Quiet__ledger-8", "patch": diff({PATH: "a\n"}, {PATH: "b\n"})}
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (sound, odd)))
    return path


@pytest.mark.slow
def test_values_are_made_once_and_then_decide(capsys, rows, tmp_path, monkeypatch):
    runtime()  # lies in the old cache: what is shown in boxes must not lie where pytest writes
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    argv = ("swe", "gold", str(rows), "--sandbox", BOXES.sandbox, "--test-timeout", "60")
    code, out, _ = run(capsys, "swe", "list", str(rows))
    assert code == 0 and out.count("report with canaries") == 2
    code, out, _ = run(capsys, *argv)
    assert code == 1 and "Quiet__ledger-7" in out and "blinded values" in out and "1.00" in out
    assert "failed: Quiet__ledger-8: expected applying the solution to succeed" in out
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "swe").glob("gold-*")}
    code, out, _ = run(capsys, *argv, "--num-tasks", "1")
    assert code == 0 and "blinded values" in out
    assert {path: path.stat().st_mtime_ns for path in stored} == stored and len(stored) == 1
    out = run(capsys, "swe", "list", str(rows))[1]
    assert out.count("blinded values") == 1 and out.count("report with canaries") == 1

    env = SWEEnv(data=rows, sandbox=BOXES.sandbox)
    try:
        _, info = env.reset(options={"index": 0})
        over = False
        while not over:
            _, reward, over, _, info = env.step(env.oracle_action())
        details = info["details"]
        assert (reward, details["evidence"], details["blinded"]) == (1.0, "blinded values", 1.0)
    finally:
        env.close()


def test_what_cannot_be_asked(capsys, rows):
    code, _, err = run(capsys, "swe", "gold", str(rows), "--pull", "perhaps")
    assert code == 2 and "--pull" in err
    code, _, err = run(capsys, "swe", "gold", str(rows), "--test-timeout", "0")
    assert code == 2 and "--test-timeout" in err
