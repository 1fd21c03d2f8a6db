"""Bars keep description, count and time left, however narrow the terminal."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console
from rich.text import Text

from agentgym.support.progress_bars import FittedProgress

VALUES = "success 0.635  reward 1.309  horizon 9  tokens_s 1,650"
ROWS = ("demonstrations", "warm-start", "test expert-iteration-greedy")


def screen(width: int) -> tuple[FittedProgress, io.StringIO]:
    """Bars that draw into a text, and draw only when they are told to."""
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=True,
        width=width,
        height=24,
        color_system=None,
        legacy_windows=False,
    )
    progress = FittedProgress(console)
    progress.live.auto_refresh = False
    return progress, text


def drawn(progress: FittedProgress, width: int) -> list[str]:
    """The rows as they stand on a terminal."""
    text = io.StringIO()
    table = progress.make_tasks_table(progress.tasks)
    Console(file=text, width=width, color_system=None).print(table)
    return text.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_description_count_and_time_left_are_always_there(width: int) -> None:
    progress, _ = screen(width)
    for name in ROWS:
        progress.update(progress.begin(name, 1000), completed=640, values=VALUES)
    lines = drawn(progress, width)
    assert len(lines) == len(ROWS), "no row is wrapped"
    for name, line in zip(ROWS, lines, strict=True):
        assert len(line) <= width and "…" not in line
        assert line.startswith(name) and "640/1000 left " in line


@pytest.mark.parametrize(("width", "measured"), [(60, 0), (80, 2), (100, 3), (140, 4)])
def test_measurements_are_left_out_from_the_last_one(width: int, measured: int) -> None:
    progress, _ = screen(width)
    progress.begin(ROWS[-1], 1000, 640, VALUES)
    (line,) = drawn(progress, width)
    parts = VALUES.split("  ")
    assert "  ".join(parts[:measured]) in line
    assert not any(part in line for part in parts[measured:])
    assert width < 140 or "━" in line


def test_what_has_ended_says_how_long_it_took() -> None:
    progress, _ = screen(80)
    progress.begin("copying", 10, 10)
    assert "10/10 took 0:00:00" in drawn(progress, 80)[0]


def test_without_a_total_a_row_counts() -> None:
    progress, _ = screen(80)
    progress.begin("episodes", None, 7)
    assert "7/? after 0:00:00" in drawn(progress, 80)[0]


def test_a_narrower_terminal_is_left_without_rubbish() -> None:
    """It has wrapped what was drawn before, so that these lines are taken back, too."""
    progress, text = screen(140)
    with progress:
        for name in ROWS[:2]:
            progress.begin(name, 1000, 640, VALUES)
        progress.refresh()
        widths_before = [len(Text(line).plain) for line in drawn(progress, 140)]
        progress.console.width = 80
        text.truncate(0)
        progress.refresh()
        first = text.getvalue().partition("warm-start")[0].partition("demonstrations")[0]
        wrapped = sum(math.ceil(length / 80) for length in widths_before)
        assert first.count("\x1b[1A") == wrapped - 1, "the cursor is in the last of them"
        text.truncate(0)
        progress.refresh()
        second = text.getvalue().partition("demonstrations")[0]
        assert second.count("\x1b[1A") == 1
