"""``agentgym push``: folders with all of their code; nothing is sent unless a user asks for it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import run, wide
from tests.cli.test_init_package import NAME, agentgym, installed, package

__all__ = ["installed", "package", "wide"]
PLAY = (
    "import agentgym, json, sys; env = agentgym.make({name!r}); env.reset(seed=0);"
    "print(json.dumps([agentgym.__file__, env.unwrapped.oracle_action()]))"
)
PUSHES = {
    "openenv": ("webshop", ["push", "FOLDER", "--repo-id", "me/webshop", "--private"]),
    "prime": (
        "webshop",
        ["env", "push", "--path", "FOLDER", "--owner", "me", "--visibility", "PRIVATE"],
    ),
    "harbor": ("swe", ["publish", "FOLDER"]),
}
"""Program of a hub -> an environment, and the arguments with which it uploads it."""
KINDS = {"openenv": "openenv", "prime": "verifiers", "harbor": "harbor"}


def play_from(place: Path, name: str) -> tuple[Path, str]:
    """Play with the agentgym that lies in a folder, outside of the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(place)}
    process = subprocess.run(
        [sys.executable, "-c", PLAY.format(name=name)],
        capture_output=True, text=True, cwd=place, env=environment, check=True,
    )  # fmt: skip
    file, action = json.loads(process.stdout)
    return Path(file), action


def arguments(program: str, folder: Path, *more: str) -> tuple[str, ...]:
    options = ("--num-tasks", "1", "--split", "test") if program == "harbor" else ()
    return ("push", KINDS[program], PUSHES[program][0], str(folder), *options, *more)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that only note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PUSHES:
        script = folder / name
        script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{folder}/{name}.called"\n')
        script.chmod(0o755)
    monkeypatch.setattr("agentgym.support.hub_upload.sys.executable", str(folder / "python"))
    return folder


@pytest.mark.parametrize("program", PUSHES)
def test_only_an_upload_sends_something(
    program: str, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = [word.replace("FOLDER", str(tmp_path / "out")) for word in PUSHES[program][1]]
    code, out, err = run(capsys, *arguments(program, tmp_path / "out", "--owner", "me"))
    assert (code, err) == (0, "") and (tmp_path / "out").is_dir()
    assert "Nothing was sent." in out and f"  {shlex.join([program, *expected])}\n" in out
    assert not [*programs.glob("*.called")]
    if program != "harbor":  # which keeps the tasks that it finds
        expected = [word.replace(str(tmp_path / "out"), str(tmp_path / "two")) for word in expected]
    folder = tmp_path / ("out" if program == "harbor" else "two")
    code, out, err = run(capsys, *arguments(program, folder, "--owner", "me", "--upload"))
    assert (code, err) == (0, "") and "Nothing was sent" not in out
    assert [file.name for file in programs.glob("*.called")] == [f"{program}.called"]
    assert (programs / f"{program}.called").read_text().splitlines() == expected


@pytest.mark.parametrize("program", PUSHES)
def test_an_upload_that_cannot_be_writes_nothing(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("agentgym.support.hub_upload.sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for more, reason in (
        (("--upload", "--owner", "me"), f"expected the program {program}, which uploads, got none"),
        (("--upload",), "expected --owner with --upload"),
        (("--public",), "expected --public with --upload"),
    ):
        code, _, err = run(capsys, *arguments(program, tmp_path / "out", *more))
        assert code == 2 and reason in " ".join(err.split()), err
    assert not [*tmp_path.iterdir()]


def test_an_upload_that_failed_can_be_repeated(programs: Path, tmp_path: Path, capsys: Any) -> None:
    (programs / "prime").write_text("#!/bin/sh\nexit 3\n")
    argv = arguments("prime", tmp_path / "out", "--owner", "me", "--upload", "--public")
    code, _, err = run(capsys, *argv)
    words = " ".join(err.split())
    assert code == 2 and "ended with code 3; the folder is complete: repeat prime env push" in words
    assert "PUBLIC" in words and (tmp_path / "out" / "pyproject.toml").is_file()


@pytest.mark.parametrize("kind", ["openenv", "verifiers"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tests.toy:toy/Toy-v0", "MODULE:ID"),
        ("gymnasium:CliffWalking-v1", "agentgym init package writes such a package"),
        ("nothing", "expected the name of an environment"),
    ],
)
def test_a_folder_needs_the_code_of_a_family(
    kind: str, name: str, reason: str, tmp_path: Path, capsys: Any
) -> None:
    code, _, err = run(capsys, "push", kind, name, str(tmp_path / "out"))
    assert code == 2 and reason in " ".join(err.split()), err
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    code, _, err = run(capsys, "push", kind, "webshop", str(tmp_path / "out"))
    assert code == 2 and "expected a new folder" in err
    assert [file.name for file in tmp_path.rglob("*")] == ["out", "mine"]


@pytest.mark.slow
def test_a_folder_has_its_own_copy_of_agentgym(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, place in (("openenv", ""), ("verifiers", "agentgym_textcraft_lookup/code")):
        folder = tmp_path / kind
        code, out, _ = run(capsys, "push", kind, "textcraft:lookup", kind)
        assert code == 0 and ("pip install ./verifiers\n" in out) == (kind == "verifiers")
        file, action = play_from(folder / place, "textcraft:lookup")
        assert file.is_relative_to(folder) and action


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openenv", "verifiers"])
def test_an_installed_package_is_taken_along(kind: str, installed: Path, tmp_path: Path) -> None:
    """What pip makes of the folder plays without the package and without the checkout."""
    folder, target = tmp_path / "folder", tmp_path / "target"
    code, out, err = agentgym(installed, "push", kind, NAME, str(folder))
    assert code == 0 and "Nothing was sent" in out, err
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, str(folder)], check=True)
    if kind == "verifiers":
        (target / "agentgym_lock2_box" / "code" / "agentgym").rename(target / "agentgym")
    file, action = play_from(target, NAME)
    assert file.is_relative_to(target) and action.startswith("guess ")
