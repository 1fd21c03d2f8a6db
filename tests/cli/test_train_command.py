"""The commands that the trainer adds: found by their entry points, never imported by name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from agentgym.cli import main
from agentgym.cli.parsing import TRAINER, OtherCommand, parse
from agentgym.registration import COMMANDS, commands
from tests.policies import installed
from trainers import cli as trainer


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Install what pyproject.toml declares, whatever the metadata of this environment say."""
    points = installed.declared(COMMANDS)
    assert tuple(points) == TRAINER
    installed.install(monkeypatch, tmp_path / "site", points, group=COMMANDS)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    commands.cache_clear()
    yield
    commands.cache_clear()


def test_the_trainers_commands_stand_beside_the_others(
    declared: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    page = capsys.readouterr().out
    assert "train:\n  train       Train a policy" in page and "\n  merge " in page
    assert "\n  presets " in page and "\n  eval " in page


def test_train_is_the_same_program(declared: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(trainer, "main", lambda argv: calls.append(list(argv)) or 7)
    assert main(["train", "webshop", "--quick", "--rl.beta=1"]) == 7
    assert main(["--quiet", "presets", "--log-level=info"]) == 7
    assert main(["merge", "--help"]) == 7
    assert calls == [
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
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    assert main([name, "webshop"]) == 2
    error = capsys.readouterr().err
    assert "expected the trainer" in error and "pip install -e '.[train]'" in error
    assert error.count("\n") == 1


def test_a_command_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed.install(monkeypatch, tmp_path, {"fly": "trainers.cli:main"}, group=COMMANDS)
    assert main(["list"]) == 2
    assert "fly = trainers.cli:main of agentgym.commands to be a Command" in capsys.readouterr().err
