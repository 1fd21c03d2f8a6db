"""What a person sees in a terminal, and what stands in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import agentgym
from agentgym.cli.play import play
from agentgym.cli.screen import FramedScreen, PlainScreen, screen_of
from tests.toy import TOY_ID


def render_play(
    typed: list[str], *, terminal: bool, hints: bool = False, workers: int = 0, **options: object
) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None)
    lines = iter([*typed, "quit"])
    env = agentgym.make(TOY_ID, worker_turns=workers)
    screen = screen_of(console)
    play(env, dict(options), seed=0, hints=hints, screen=screen, ask=lambda: next(lines))
    assert isinstance(screen, FramedScreen if terminal else PlainScreen)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_terminal_gets_frames_and_a_pipe_gets_lines():
    framed, lines = (
        render_play(["dance"], terminal=terminal, hints=True) for terminal in (True, False)
    )
    for text in (framed, lines):
        assert "1 of 8" in text and "2 of 8" in text and "hint: press" in text
        assert "ot a valid action" in text and "stopped after 1 of 8 turns" in text
    assert "╭─ goal of toy/" in framed and "╭─ not solved" in framed
    assert not set("╭╰│") & set(lines)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_person_sees_whether_planner_or_worker_plays(terminal):
    text = render_play(["delegate press \x1b[2J red", "report done"], terminal=terminal, workers=3)
    headings = [line for line in text.splitlines() if "turn" in line and " of 8" in line]
    assert [headings[turn].count("planner") for turn in (0, 1, 2)] == [1, 0, 1]
    assert "worker 1: press" in headings[1] and "red" in headings[1] and "\x1b[2J" not in text
    alone = render_play(["press red"], terminal=terminal)
    assert "planner" not in alone


@pytest.mark.parametrize("hostile", ["[red]x[/red]", "\x1b[2Jx", "a" * 5_000])
def test_what_was_typed_or_is_shown_draws_nothing_else(hostile):
    text = render_play([hostile], terminal=True)
    assert "\x1b[2J" not in text and "stopped after 1" in text
