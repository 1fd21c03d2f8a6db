"""``agentgym init package``: once it is installed, every command plays its environment by name."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.cli import main
from agentgym.cli.init import NEXT, render
from tests.cli.test_init import FEW, HOW_TO, ROOT, SMALL
from tests.warm_python import AGENTGYM, run_warm

PAGE = (HOW_TO / "my-package.md").read_text(encoding="utf-8")
NAME = "lock2_box"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package as the command writes it."""
    folder = tmp_path_factory.mktemp("package")
    assert main(["init", "package", NAME, "--out", str(folder)]) == 0
    return folder / NAME


@pytest.fixture(scope="module")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installs the package."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(target)]
    process = subprocess.run([*pip, str(package)], capture_output=True, text=True)
    if re.search("No matching distribution|connection|NewConnection", process.stderr):
        pytest.skip("pip cannot fetch hatchling, which builds the package")
    assert process.returncode == 0, process.stderr
    return target


def agentgym(installed: Path, *argv: str) -> tuple[int, str, str]:
    process = run_warm(argv, AGENTGYM, PYTHONPATH=f"{installed}:{ROOT}", COLUMNS="200")
    return process.returncode, process.stdout, process.stderr


def test_the_page_shows_what_the_command_writes() -> None:
    files = render("package", "my_env")
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    (entry,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert files["my_env/my_env/__init__.py"] == source and entry in files["my_env/pyproject.toml"]
    assert {*re.findall(r"^\| `(my_env/.+?)`", PAGE, re.MULTILINE)} == {*files} - {
        "my_env/README.md"
    }
    for command in NEXT["package"]:
        assert f"\n{command.format(name='my_env')}\n" in PAGE


def test_no_file_keeps_a_name_of_its_template(package: Path) -> None:
    texts = [file.read_text() for file in package.rglob("*.*") if file.is_file()]
    assert len(texts) == 5
    assert not any(re.search(r"my_env|MyEnv|gymnasium\.register", text) for text in texts)


def test_its_own_test_passes(package: Path, installed: Path) -> None:
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package)]
    paths = {"PYTHONPATH": f"{installed}:{ROOT}", "PATH": "/usr/bin:/bin"}
    process = subprocess.run(run, capture_output=True, text=True, env=paths)
    assert process.returncode == 0 and "3 passed" in process.stdout, process.stdout


@pytest.mark.slow
def test_every_command_plays_it_by_name(installed: Path) -> None:
    code, out, _ = agentgym(installed, "list")
    assert code == 0 and NAME in out and "train 372" in out
    for line in NEXT["package"][:-1]:
        words = shlex.split(line.format(name=NAME))[1:]
        code, out, err = agentgym(installed, *words, *FEW.get(words[0], []))
        assert code == 0 and (NAME in out or " 0 fail." in out), out + err


@pytest.mark.slow
def test_its_records_are_replayed_without_consent(installed: Path, tmp_path: Path) -> None:
    """The user installed the package, and every command imports it."""
    results = str(tmp_path / "results")
    play = ("eval", NAME, "--policy", "oracle", "--num-tasks", "3", "--out", results)
    assert agentgym(installed, *play)[0] == 0
    code, out, err = agentgym(installed, "replay", results)
    assert code == 0 and "3" in out, out + err
    assert agentgym(tmp_path, "replay", results)[0] == 2  # where the package is not installed


@pytest.mark.slow
def test_it_is_trained_on(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("trainers.cli")
    run = tmp_path / "run"
    code, _, err = agentgym(installed, "train", "--env", NAME, *SMALL[:-1], str(run))
    assert code == 0 and (run / "summary.json").is_file(), err
