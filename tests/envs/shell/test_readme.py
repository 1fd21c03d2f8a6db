"""The page of the family: its snippets run, and its transcript is what is played."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

import agentgym.envs.shell
from agentgym.envs.shell.env import ShellEnv
from tests.envs.pages import blocks, check_arguments, check_rooms, run_snippets
from tests.envs.swe.boxed import needs_box

FOLDER = Path(agentgym.envs.shell.__file__).parent
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


@needs_box
@pytest.mark.slow
def test_the_snippets_run_and_print_the_transcript():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_snippets(PAGE)
    assert out.getvalue().startswith(blocks(PAGE, "text")[0])


def test_arguments_and_rooms_are_on_the_page():
    check_arguments(PAGE, ShellEnv)
    check_rooms(agentgym.envs.shell)
