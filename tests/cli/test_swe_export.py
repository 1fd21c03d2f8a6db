"""``agentgym swe export``, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run, wide

__all__ = ["wide"]


def test_tasks_are_written_and_those_that_are_there_stay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("swe", "export", str(tmp_path / "out"), "--split", "test")
    code, out, err = run(capsys, *argv, "--num-tasks", "2", "--image", "my/image:1")
    assert (code, err) == (0, "")
    assert "2 tasks written" in out and "agentgym.interop.harbor:NamespaceEnvironment" in out
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 2
    assert "FROM my/image:1" in (folders[0] / "environment/Dockerfile").read_text()
    (folders[0] / "task.toml").write_text("mine")
    code, out, err = run(capsys, *argv, "--num-tasks", "3", "--json")
    assert (code, err, json.loads(out)) == (0, "", {"written": 1, "there": 2})
    assert (folders[0] / "task.toml").read_text() == "mine"


def test_arguments_of_the_environment_choose_the_tasks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("swe", "export", str(tmp_path), "--num-tasks", "1")
    code, _, err = run(capsys, *argv, "--env-kwargs", "data=bundled-tokens")
    assert (code, err) == (0, "")
    names = [path.name.rpartition("-")[0] for path in sorted(tmp_path.iterdir())]
    assert names == [f"swe-bundled-tokens-{split}" for split in ("test", "train", "valid")]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("out", "--env", "webshop"), "an environment of SWE"),
        (("out", "--split", "none"), "expected a split"),
        (("out", "--num-tasks", "0"), "--num-tasks"),
    ],
)
def test_what_does_not_fit_is_refused(
    argv: tuple[str, ...],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "swe", "export", *argv)
    assert code == 2 and reason in err
    assert not [*tmp_path.iterdir()]
