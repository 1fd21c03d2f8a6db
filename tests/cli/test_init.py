"""``agentgym init``: what it writes works as the how-to pages say, and hides nothing."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from agentgym.cli import main
from agentgym.cli.init import NEXT, STEMS, render, title

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / ".site" / "how-to"
PAGES = {
    "env": "my-environment", "policy": "my-policy", "reward": "my-reward",
    "algorithm": "my-algorithm",
}  # fmt: skip
SMALL = shlex.split(
    "--steps 1 --sft.max-steps 4 --sft.demonstrations 8 --sft.eval-every 4 --eval.valid-tasks 1 "
    "--rl.groups 2 --rl.num-generations 4 --eval.num-tasks 2 --eval.baselines none --out run"
)
"""What makes a training as short as can be."""
FEW = {
    "eval": ["--num-tasks", "3"],
    "certify": ["--num-tasks", "8", "--checks", "expert", "idle", "again", "hash_seed"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder from which modules are imported, and forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.input", lambda *args: "quit")
    yield tmp_path
    for name in [name for name, module in sys.modules.items() if name in names(tmp_path)]:
        del sys.modules[name]
    for env_id in [
        env_id for env_id in gymnasium.registry if env_id.split("/")[0] in names(tmp_path)
    ]:
        del gymnasium.registry[env_id]


def names(folder: Path) -> set[str]:
    return {file.stem for file in folder.glob("*.py")}


def commands(page: str) -> list[list[str]]:
    """Return the commands of a page that call agentgym, without the first."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", page, flags=re.DOTALL))
    lines = [line for line in blocks.splitlines() if line.startswith("agentgym ")]
    assert lines[0].startswith("agentgym init ")
    return [shlex.split(line)[1:] for line in lines[1:]]


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_shows_what_the_command_writes(kind: str, folder: Path) -> None:
    name = STEMS[kind]
    page = (HOW_TO / f"{PAGES[kind]}.md").read_text(encoding="utf-8")
    assert main(["init", kind, name]) == 0
    (source,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert (folder / f"{name}.py").read_text(encoding="utf-8") == source
    assert f"agentgym init {kind} {name}\npython -m pytest test_{name}.py   # after pip" in page
    words = re.sub(r"```python\n.*?```", "", page, flags=re.DOTALL).split()
    assert len(words) <= 250


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_the_written_test_passes_under_another_name(
    kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "algorithm":
        pytest.importorskip("trainers.algorithms")
    assert main(["init", kind, "lock2_box", "--out", "deep/down"]) == 0
    output = capsys.readouterr().out
    assert "deep/down/lock2_box.py and deep/down/test_lock2_box.py are written" in output
    assert "cd deep/down && python -m pytest test_lock2_box.py" in output
    assert STEMS[kind] not in output and len(NEXT[kind]) == output.count("&& agentgym ")
    inside = folder / "deep" / "down"
    text = (inside / "lock2_box.py").read_text(encoding="utf-8")
    assert STEMS[kind] not in text and title(STEMS[kind]) not in text and "Lock2Box" in text
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=inside,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.returncode == 0 and "passed" in process.stdout, process.stdout


def test_templates_are_documented_and_import_no_more_than_they_need() -> None:
    for kind in STEMS:
        files = render(kind, "mine")
        for text in (text for file, text in files.items() if file.endswith(".py")):
            tree = ast.parse(text)
            assert ast.get_docstring(tree)
            imported = {
                alias.name.split(".")[0] if isinstance(node, ast.Import) else str(node.module)
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            assert kind == "algorithm" or not any(name.startswith("trainers") for name in imported)


@pytest.mark.parametrize("installed", [True, False])
def test_the_commands_begin_with_what_is_missing(
    installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name: object() if name == "pytest" and installed else None,
    )
    assert main(["init", "policy", "newcomer"]) == 0
    first = capsys.readouterr().out.splitlines()[1].strip()
    assert first == (
        "python -m pytest test_newcomer.py" if installed else "python -m pip install pytest"
    )


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lock.py", "test_lock.py"):
        (folder / name).write_text("mine")
        assert main(["init", "env", "lock"]) == 2
        assert f"{name} exists" in " ".join(capsys.readouterr().err.split())
        assert [file.name for file in folder.iterdir()] == [name]
        assert (folder / name).read_text() == "mine"
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("3d", "small letters"), ("my-env", "small letters"), ("my env", "small letters"),
        ("class", "small letters"), ("MyEnv", "small letters"), ("../up", "small letters"),
        ("", "small letters"), ("_env", "small letters"), ("größe", "small letters"),
        ("a.b", "small letters"), ("test_lock", "without test_"), ("json", "hide"),
        ("agentgym", "hide"), ("numpy", "hide"), ("sys", "hide"),
        ("webshop", "no environment has"), ("scienceworld", "no environment has"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_used_are_refused(
    name: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("env", "package"):
        assert main(["init", kind, name]) == 2
    assert reason in " ".join(capsys.readouterr().err.split()) and not [*folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_the_commands_of_a_page_work(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    trainers = pytest.importorskip("trainers.cli")
    name = STEMS[kind]
    lines = commands((HOW_TO / f"{PAGES[kind]}.md").read_text(encoding="utf-8"))
    assert main(["init", kind, name]) == 0
    output = capsys.readouterr().out
    # What the command says next is what the page says, in other words for the policy to beat.
    assert {line[0] for line in lines} == {
        line.split()[1] for line in output.splitlines() if line.startswith("  agentgym ")
    }
    for line in lines:
        if line[0] == "train":
            assert trainers.main([*line[1:], *SMALL]) == 0, capsys.readouterr().err
        else:
            assert main([*line, *FEW.get(line[0], [])]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    if kind in ("env", "reward", "algorithm"):
        config = Path("run", "config.yaml").read_text(encoding="utf-8")
        assert name in config
        assert json.loads(Path("run", "summary.json").read_text())["eval"]
    if kind == "env":
        assert " 0 fail," in out
