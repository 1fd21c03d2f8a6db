from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.swe import runtime as rooms
from agentgym.envs.swe import trees
from agentgym.envs.swe.instance import Edit, FolderSource
from agentgym.envs.swe.runtime import runtime
from agentgym.envs.swe.trees import TIME, contents, tree
from agentgym.errors import DataError
from tests.envs.swe.small import SmallSet


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSource:
    """A source whose tree is not in the cache yet."""
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(trees, "_trees", type(trees._trees)(10))
    tree_source = SmallSet().instance("train", 0).source
    assert isinstance(tree_source, FolderSource)
    return tree_source


def test_a_tree_holds_the_fault_and_nothing_of_the_folder_but_files(source: FolderSource) -> None:
    folder = tree(source)
    assert (folder / "sums/plain.py").read_text().count("return a - b") == 1
    names = {path.name for path in folder.rglob("*")} - {".git"}
    assert "__pycache__" not in names and "manifest.json" not in names
    assert {int(path.stat().st_mtime) for path in folder.rglob("*.py")} == {TIME}
    assert "a + b" in (source.folder / "sums/plain.py").read_text()


def test_a_damaged_tree_is_made_anew(source: FolderSource) -> None:
    folder = tree(source)
    (folder / "sums/plain.py").write_text("damaged")
    trees._trees.clear()
    assert tree(source) == folder and "return a - b" in (folder / "sums/plain.py").read_text()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_history_is_one_commit_and_the_same_everywhere(
    source: FolderSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = []
    for number in range(2):
        monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / f"cache{number}"))
        monkeypatch.setenv("GIT_AUTHOR_NAME", f"someone {number}")
        trees._trees.clear()
        command = ["git", "-c", "safe.directory=*", "log", "--all", "--format=%H %an %s"]
        heads.append(subprocess.check_output(command, cwd=tree(source), text=True))
    assert heads[0] == heads[1] and heads[0].count("\n") == 1
    assert heads[0].endswith("maintainer Import\n")


def test_edits_of_another_version_are_refused(source: FolderSource) -> None:
    with pytest.raises(DataError, match=r"sums/plain\.py"):
        contents(replace(source, edits=(Edit("sums/plain.py", 3, "nothing", ""),)))
    with pytest.raises(DataError, match="expected the file"):
        contents(replace(source, edits=(Edit("nothing.py", 0, "", "x"),)))
    with pytest.raises(DataError, match="folder of a repository"):
        contents(FolderSource(source.folder / "nowhere"))


@pytest.mark.slow
def test_the_private_copy_of_pytest_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs with nothing of the packages that are installed here."""
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    shared = runtime.__wrapped__()
    assert shared.folder.is_relative_to(tmp_path)
    (tmp_path / "test_x.py").write_text("def test_x():\n    assert True\n")
    process = subprocess.run(
        [shared.folder / "bin/python", "-S", "-m", "pytest", "-q", "-c", os.devnull, "test_x.py"],
        env={"PYTHONPATH": str(shared.folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "1 passed" in process.stdout, process.stderr
    names = {path.name for path in (shared.folder / "site").iterdir()}
    assert {"pytest", "_pytest", "pluggy"} <= names
    assert not {"agentgym", "numpy", "hypothesis", "trainers"} & names


def test_packages_of_this_python_are_hidden() -> None:
    base = Path(sys.base_prefix)
    hidden = rooms._hidden()
    for path in base.glob("lib/python*/site-packages"):
        assert path in hidden
