"""Names of files in diffs, with git as the judge where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.edits import write_diff
from agentgym.envs.swe.git_names import read_name, write_name
from agentgym.envs.swe.official.patches import remaining_files, reversed_diff, touched_files

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
NAMES = st.text(
    alphabet=st.one_of(
        st.sampled_from('ab/ "\\\t\n\r\x01\x7fé漢😀.-[]\udcff'), st.characters(codec="utf-8")
    ),
    min_size=1,
    max_size=12,
)


@given(NAMES)
def test_a_name_that_was_written_is_read(name: str) -> None:
    escaped = write_name(name)
    assert read_name(escaped) == (name, "")
    assert "\n" not in escaped and "\t" not in escaped


@pytest.mark.parametrize(
    ("escaped", "name"),
    [
        (r'"na\303\257ve.py"', "naïve.py"),
        (r'"a\"b\\c\td.py"', 'a"b\\c\td.py'),
        (r'"\377.py"', "\udcff.py"),
        ('"déjà.py"', "déjà.py"),
        ("plain name.py", "plain name.py"),
    ],
)
def test_names_as_git_writes_them(escaped: str, name: str) -> None:
    assert read_name(escaped) == (name, "")


OLD_AND_NEW = (
    ("süß.py", "süß.py"),
    ("tab\there.py", "tab\there.py"),
    ('say "x".py', "plain.py"),
    ("plain.py", "größe.py"),
    ("a b.py", "a b/c d.py"),
    ("back\\slash.py", 'quo"te.py'),
)


@needs_git
@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW)
@pytest.mark.parametrize("quote_path", ["true", "false"])
def test_names_in_diffs_of_git(tmp_path: Path, old: str, new: str, quote_path: str) -> None:
    old_files = "".join(f"line {number}\n" for number in range(9)).encode()
    new_files = old_files.replace(b"line 4\n", b"line four\n")
    _store(tmp_path, {old: old_files, "gone.py": b"x\n"})
    (tmp_path / "gone.py").unlink()
    (tmp_path / old).unlink()
    _write(tmp_path, {new: new_files, "é new.py": b"y\n"})
    git(tmp_path, "add", "-A")
    diff = git(tmp_path, "-c", f"core.quotePath={quote_path}", "diff", "--cached", "-M").decode()
    changed = {old: None, new: new_files} if old != new else {new: new_files}
    assert apply_diff(diff, {old: old_files, "gone.py": b"x\n"}.get) == {
        **changed, "gone.py": None, "é new.py": b"y\n",
    }  # fmt: skip
    assert set(touched_files(diff)) == {old, new, "gone.py", "é new.py"}
    assert set(remaining_files(diff)) == {new, "é new.py"}
    git(tmp_path, "apply", "-R", "--check", "-", input_bytes=diff.encode())
    git(tmp_path, "apply", "--index", "-", input_bytes=reversed_diff(diff).encode())
    assert (tmp_path / old).read_bytes() == old_files


def _usable(name: str) -> bool:
    parts = name.split("/")
    return (
        all(part not in ("", ".", "..") and part.lower() != ".git" for part in parts)
        and "\0" not in name
        and not name.endswith(" ")
        and len(os.fsencode(name)) < 200
    )


@needs_git
@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(NAMES.filter(_usable), st.sampled_from(["made", "changed", "gone"]))
def test_git_and_we_read_each_other(
    tmp_path_factory: pytest.TempPathFactory, name: str, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("names")
    old = None if kind == "made" else b"a\x0cb\nc\r\nd"
    new = None if kind == "gone" else b"a\x0cb\nC\r\nd\xe2\x80\xa8e\n"
    old_files = {} if old is None else {name: old}
    new_files = {} if new is None else {name: new}
    own_diff = write_diff(old_files, new_files)
    assert [(change.old_path or change.new_path) for change in read_diff(own_diff)] == [name]
    assert apply_diff(own_diff, old_files.get) == {name: new}
    _store(folder, {**old_files, "other.py": b""})
    git(
        folder, "apply", "--index", "--whitespace=nowarn", "-", input_bytes=own_diff.encode("utf-8")
    )
    assert (folder / name).exists() == (new is not None)
    assert new is None or (folder / name).read_bytes() == new
    git_diff = git(folder, "diff", "--cached", "--no-renames").decode("utf-8", "surrogateescape")
    assert apply_diff(git_diff, old_files.get) == {name: new}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _store(folder: Path, files: dict[str, bytes]) -> None:
    """Make a repository of one commit."""
    git(folder, "init", "-q", "--template=")
    git(folder, "config", "core.autocrlf", "false")
    _write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")


def git(folder: Path, *arguments: str, input_bytes: bytes = b"") -> bytes:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    process = subprocess.run(command, cwd=folder, input=input_bytes, capture_output=True)
    assert not process.returncode, process.stderr.decode("utf-8", "replace")
    return process.stdout
