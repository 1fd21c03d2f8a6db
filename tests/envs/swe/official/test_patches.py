"""Diffs: which files they touch, and what undoes them."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.official.patches import remaining_files, reversed_diff, touched_files
from agentgym.errors import DataError
from tests.envs.swe.official.sample_rows import TEST_PATCH

BINARY = (
    "diff --git a/tests/a.png b/tests/a.png\nnew file mode 100644\nindex 000..111\n"
    "GIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n"
)


def test_files_of_a_diff() -> None:
    assert touched_files(TEST_PATCH + BINARY) == (
        "tests/data/big.json", "tests/test_sums.py", "tests/test_gone.py", "tests/a.png",
    )  # fmt: skip
    assert remaining_files(TEST_PATCH + BINARY) == (
        "tests/data/big.json", "tests/test_sums.py", "tests/a.png",
    )  # fmt: skip
    assert touched_files("") == ()


def test_binary_files_have_no_reverse() -> None:
    with pytest.raises(DataError, match="text files"):
        reversed_diff(BINARY)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "-- x\n", "++ y\n"]), max_size=14)


def diff_of(old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), "a/f.py", "b/f.py", n=1
    )
    diff_text = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(diff_text)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_the_reverse_undoes(before: list[str], after: list[str], cut: bool, cut_new: bool) -> None:
    old, new = "".join(before), "".join(after)
    old, new = old[:-1] if cut else old, new[:-1] if cut_new else new
    patch = diff_of(old, new)
    files = apply_diff(patch, {"f.py": old.encode()}.get)
    assert files.get("f.py", old.encode()) == new.encode()
    undone = apply_diff(reversed_diff(patch), {"f.py": new.encode()}.get)
    assert undone.get("f.py", new.encode()) == old.encode()


def test_git_takes_the_reverse(tmp_path: Path) -> None:
    def git(*arguments: str, text: str = "") -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        process = subprocess.run(
            command, cwd=tmp_path, input=text, capture_output=True, text=True, check=True
        )
        return process.stdout

    git("init", "-q")
    (tmp_path / "gone.py").write_text("x = 1\ny = 2")
    (tmp_path / "kept.py").write_text("".join(f"line {number}\n" for number in range(40)))
    (tmp_path / "old name.py").write_text("".join(f"other {number}\n" for number in range(20)))
    git("add", "-A")
    git("commit", "-qm", "first")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.py").write_text("z = 3\n")
    text = (tmp_path / "kept.py").read_text()
    (tmp_path / "kept.py").write_text(text.replace("line 3\n", "").replace("line 30\n", "a\nb\n"))
    (tmp_path / "old name.py").rename(tmp_path / "name.py")
    git("add", "-A")
    patch = git("diff", "--cached", "-M", "HEAD")
    git("apply", "-", text=reversed_diff(patch))
    git("add", "-A")
    assert git("diff", "HEAD") == ""
    assert not (tmp_path / "new.py").exists()
    assert not (tmp_path / "name.py").exists()
