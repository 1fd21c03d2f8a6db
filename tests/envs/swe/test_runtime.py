from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.envs.swe import runtime
from agentgym.envs.swe.runtime import SHOWN
from agentgym.sandbox import SandboxConfig, open_sandbox
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import bash, small_env

pytestmark = needs_box


def checkout(folder: Path) -> Path:
    """Make what a clone of the project looks like; return its package."""
    for name in (".git/objects/pack", "agentgym/envs/swe", "build/lib/agentgym", "outer"):
        (folder / name).mkdir(parents=True)
        (folder / name / "solution").write_text("gold")
    (folder / "agentgym" / "__init__.py").write_text("")
    (folder / "pyproject.toml").write_text("")
    return folder / "agentgym"


def find_solutions(folder: Path) -> str:
    """Return what a box sees of a folder that is visible, and of the solutions in it."""
    folder.chmod(0o755)  # commands have another user
    config = SandboxConfig(visible=(folder,), hidden=runtime._hidden(), trusted=True)
    with open_sandbox(config) as box:
        return box.exec(f"grep -rl gold {folder}").text


def test_nothing_of_a_checkout_is_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "PACKAGE", checkout(tmp_path / "src" / "app"))
    assert find_solutions(tmp_path) == ""


def test_nor_the_history_of_a_worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    checkout(main)
    (main / ".git" / "worktrees" / "tree").mkdir(parents=True)
    (tree / "agentgym").mkdir(parents=True)
    (tree / "agentgym" / "solution").write_text("gold")
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/tree\n")
    monkeypatch.setattr(runtime, "PACKAGE", tree / "agentgym")
    assert find_solutions(tmp_path) == ""


def test_what_a_box_needs_stays_visible_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PACKAGE", checkout(tmp_path))
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tool").write_text("gold")
    assert find_solutions(tmp_path).split() == [str(tmp_path / "cache" / "tool")]


def test_the_folder_that_observations_name_is_there() -> None:
    env = small_env()
    env.reset(options={"split": "train", "index": 0})
    observation = env.step(bash("python3 -c 'import pytest; print(pytest.__file__)'"))[0]
    assert observation == f"[exit 0]\n{SHOWN}/site/pytest/__init__.py"
    assert env.step(bash(f"head -c 3 {SHOWN}/site/pytest/__init__.py"))[0].startswith("[exit 0]")
    env.close()
