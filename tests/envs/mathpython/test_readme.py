"""The family's page: its snippets run as printed, and its tables hold what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentgym.envs.mathpython
from agentgym.envs.mathpython import env
from agentgym.envs.mathpython.env import MathPythonEnv
from agentgym.envs.mathpython.generator.config import KINDS
from tests.envs.pages import blocks, check_arguments, check_rooms, run_snippets
from tests.envs.swe.boxed import needs_box

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


@needs_box
def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippets(PAGE)
    assert capsys.readouterr().out == "".join(blocks(PAGE, "text"))


def test_arguments_kinds_and_rooms_are_named() -> None:
    check_arguments(PAGE, MathPythonEnv)
    check_rooms(agentgym.envs.mathpython)
    section = PAGE.partition("## The generated problems")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == list(KINDS)
