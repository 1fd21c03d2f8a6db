"""The commands that the trainer adds: found by their entry points, never imported by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from agentgym import registration
from agentgym.cli import main
from agentgym.cli.parsing import TRAINER, OtherCommand, parse
from trainers import cli as trainer

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install what pyproject.toml declares, whatever the metadata of this environment say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points = project["entry-points"][registration.COMMANDS]
    install(monkeypatch, points)
    assert tuple(points) == TRAINER


def install(monkeypatch: pytest.MonkeyPatch, points: dict[str, str]) -> None:
    real = registration.metadata.entry_points

    def entry_points(group: str) -> Any:
        if group != registration.COMMANDS:
            return real(group=group)
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(registration.metadata, "entry_points", entry_points)
    registration.commands.cache_clear()


@pytest.fixture(autouse=True)
def fresh() -> Any:
    yield
    registration.commands.cache_clear()


def test_the_trainers_commands_stand_beside_the_others(
    declared: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    page = capsys.readouterr().out
    assert "train:\n  train       Train a policy" in page and "\n  merge " in page
    assert "\n  presets " in page and "\n  eval " in page


def test_train_is_the_same_program(declared: None, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[str]] = []
    monkeypatch.setattr(trainer, "main", lambda argv: heard.append(list(argv)) or 7)
    assert main(["train", "webshop", "--quick", "--rl.beta=1"]) == 7
    assert main(["--quiet", "presets", "--log-level=info"]) == 7
    assert main(["merge", "--help"]) == 7
    assert heard == [
        ["webshop", "--quick", "--rl.beta=1"],
        ["presets", "--quiet", "--log-level", "info"],
        ["merge", "--help"],
    ]


def test_what_is_typed_for_it_is_not_read_here(declared: None) -> None:
    command = parse(["train", "--no-such-flag", "-h"])
    assert isinstance(command, OtherCommand) and command.argv == ("--no-such-flag", "-h")


@pytest.mark.parametrize("name", TRAINER)
def test_without_the_trainer_a_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    install(monkeypatch, {})
    assert main([name, "webshop"]) == 2
    error = capsys.readouterr().err
    assert "expected the trainer" in error and "pip install -e '.[train]'" in error
    assert error.count("\n") == 1


def test_a_command_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, {"fly": "trainers.cli:main"})
    assert main(["list"]) == 2
    assert "fly = trainers.cli:main of agentgym.commands to be a Command" in capsys.readouterr().err
