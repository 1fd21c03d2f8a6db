"""Messages of the trainer name the command that the user typed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from agentgym.cli import main as agentgym
from agentgym.support.program_name import program_name
from trainers.cli import main as agentgym_train


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


def ran(
    call: Callable[[list[str]], int], argv: list[str], capsys: pytest.CaptureFixture[str]
) -> str:
    with suppress(SystemExit):
        call(argv)
    return printed(capsys)


@pytest.mark.parametrize(
    "argv", [["--help"], ["--no-such-flag"], [], ["--preset", "grop", "textcraft"]]
)
def test_train_is_named_as_it_was_called(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    direct = ran(agentgym_train, argv, capsys)
    nested = ran(agentgym, ["train", *argv], capsys)
    assert "agentgym-train" in direct and "agentgym train" not in direct
    assert "agentgym train" in nested and "agentgym-train" not in nested


@pytest.mark.parametrize("subcommand", ["presets", "merge"])
def test_subcommands_are_named_as_they_were_called(
    subcommand: str, capsys: pytest.CaptureFixture[str]
) -> None:
    direct = ran(agentgym_train, [subcommand, "--help"], capsys)
    nested = ran(agentgym, [subcommand, "--help"], capsys)
    assert direct.startswith(f"usage: agentgym-train {subcommand}")
    assert nested.startswith(f"usage: agentgym {subcommand}")
    assert program_name() == "agentgym-train", "the name is of one call only"
