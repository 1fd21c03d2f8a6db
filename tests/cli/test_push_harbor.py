"""``agentgym push harbor``, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run, wide

__all__ = ["wide"]


def test_tasks_are_written_and_those_that_are_there_stay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("push", "harbor", "swe", str(tmp_path / "out"), "--split", "test")
    code, out, err = run(capsys, *argv, "--num-tasks", "2", "--image", "my/image:1")
    assert (code, err) == (0, "")
    assert "2 tasks written" in out and "agentgym.interop.harbor:NamespaceEnvironment" in out
    folders = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert len(folders) == 2 and "Nothing was sent" in out
    assert "FROM my/image:1" in (folders[0] / "environment/Dockerfile").read_text()
    edited = (folders[0] / "task.toml").read_text() + "# mine\n"
    (folders[0] / "task.toml").write_text(edited)
    code, out, err = run(capsys, *argv, "--num-tasks", "3", "--json")
    assert (code, err, json.loads(out)) == (0, "", {"written": 1, "there": 2})
    assert (folders[0] / "task.toml").read_text() == edited


def test_arguments_of_the_environment_choose_the_tasks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("push", "harbor", "swe", str(tmp_path), "--num-tasks", "1")
    code, _, err = run(capsys, *argv, "--env-kwargs", "data=bundled-tokens")
    assert (code, err) == (0, "")
    names = [path.name.rpartition("-")[0] for path in sorted(tmp_path.glob("*-*"))]
    assert names == [f"swe-bundled-tokens-{split}" for split in ("test", "train", "valid")]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("webshop", "out"), "an environment of SWE"),
        (("swe", "out", "--split", "none"), "expected a split"),
        (("swe", "out", "--num-tasks", "0"), "--num-tasks"),
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
    code, _, err = run(capsys, "push", "harbor", *argv)
    assert code == 2 and reason in err
    assert not [*tmp_path.iterdir()]
