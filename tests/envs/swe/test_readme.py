"""The family's page: its snippets run as printed, and its table holds every argument."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentgym.envs.swe
from agentgym.envs.swe import env
from agentgym.envs.swe.engine.session import DETAILS
from agentgym.envs.swe.env import SWEEnv
from tests.envs.pages import blocks, check_arguments, check_rooms, run_snippets
from tests.envs.swe.boxed import needs_box

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


@needs_box
def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippets(PAGE)
    assert capsys.readouterr().out == blocks(PAGE, "text")[0]


def test_every_argument_is_in_the_table_with_its_default() -> None:
    check_arguments(PAGE, SWEEnv)


def test_details_are_named() -> None:
    for name in DETAILS:
        assert f"`{name}`" in PAGE, name


def test_the_rooms_are_those_of_the_folder() -> None:
    check_rooms(agentgym.envs.swe)
