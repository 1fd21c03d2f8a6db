"""The progress of an evaluation in a log: lines by time, on standard error."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from agentgym.cli.progress import EpisodeProgress
from agentgym.evaluation import EpisodeResult, Prices
from agentgym.policies.base import ModelOutput


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands at the last entry."""
    seconds = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[-1])
    return seconds


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)


def ended(task: str, success: bool = True) -> EpisodeResult:
    return EpisodeResult(
        task, 1.0, success, 2, 1.0, "success", prompt_tokens=900, completion_tokens=60
    )


def output_of(tokens: int) -> ModelOutput:
    return ModelOutput("press red", prompt_tokens=450, completion_tokens=tokens)


def test_a_log_hears_of_the_first_minute_and_of_episodes(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    screen = console(terminal=False)
    with EpisodeProgress(screen, 4, Prices(1.0, 2.0)) as progress:
        progress.count(output_of(60))
        clock.append(1060.0)
        progress._lines.say_if_silent()
        for second in (1090.0, 1100.0):
            clock.append(second)
            progress.count(output_of(60))
            progress.add(ended(f"t{second}", success=second < 1100))
    assert capsys.readouterr().err.splitlines() == [
        "[episodes] 0/4  tokens_s 1  after 60 s",
        "[episodes] 1/4  1 solved  tokens_s 1  960 tokens  0.0010 US dollars  left 270 s",
    ]
    assert screen.file.getvalue() == "", "standard output holds the report alone"  # type: ignore[attr-defined]


def test_a_quiet_command_writes_no_lines(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with EpisodeProgress(console(terminal=False), 4, None, quiet=True) as progress:
        clock.append(1090.0)
        progress.count(output_of(60))
        progress.add(ended("t0"))
    assert capsys.readouterr().err == ""


def test_a_narrow_terminal_shows_the_speed_before_an_episode_has_ended(clock: list[float]) -> None:
    screen = console(terminal=True)
    with EpisodeProgress(screen, 24, None) as progress:
        clock.append(1010.0)
        progress.count(output_of(300))
        text = io.StringIO()
        Console(file=text, width=80).print(progress._progress.get_renderable())
    (line,) = filter(None, map(str.rstrip, text.getvalue().splitlines()))
    assert "0/24" in line and "tokens_s 30" in line and len(line) <= 80
