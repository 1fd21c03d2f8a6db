"""The help of ``agentgym-train``: short, in words of people, and whole where that is asked for."""

from __future__ import annotations

import re

import pytest

from trainers.cli import main
from trainers.config.command import COMMAND_FLAGS, GROUPS, train_flags

MOST_LINES = 120
PARSERS_WORDS = re.compile(r"\{None\}|\[\[?STR|<class|typing\.|\(default: (None|\(\)|'')\)|\bNone:")


def capture_output(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command prints that ends well."""
    assert main([*argv]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", ["80", "100", "140"])
def test_the_help_is_short(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = capture_output(capsys, "--help").splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= int(columns)
    assert not PARSERS_WORDS.search("\n".join(lines))
    assert len([flag for flags in GROUPS.values() for flag in flags]) <= 36


def test_the_help_names_what_else_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = capture_output(capsys, "-h")
    for words in ("--help-all", "agentgym-train presets", "agentgym-train merge", "[ENV]"):
        assert words in text
    assert "(default: the preset's, else 8)" in " ".join(text.split())


def test_the_whole_help_has_every_flag_and_none_of_the_parsers_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = capture_output(capsys, "--help-all")
    assert not PARSERS_WORDS.search(text.replace("Width of a head; None: hidden / heads", ""))
    for row in train_flags():
        assert f"  {row.name}" in text


@pytest.mark.parametrize("words", ["presets", "merge"])
def test_subcommands_have_their_own_help(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = capture_output(capsys, words, "--help")
    assert text.startswith(f"usage: agentgym-train {words}")
    assert len(text.splitlines()) < 40 and "--rl." not in text and not PARSERS_WORDS.search(text)


def test_flags_of_the_command_are_no_settings() -> None:
    assert set(COMMAND_FLAGS) == {
        "seeds", "jobs", "config", "dry_run", "launch_config", "quiet", "log_level", "version",
        "trust",
    }  # fmt: skip
