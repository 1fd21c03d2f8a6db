"""The family's page: its snippets run as printed, and its table holds every argument."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentgym.envs.webshop
from agentgym.envs.webshop import env
from agentgym.envs.webshop.env import WebShopEnv
from tests.envs.pages import blocks, check_arguments, check_rooms, run_snippets

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


@pytest.mark.slow
def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    namespace = run_snippets(PAGE)
    assert capsys.readouterr().out == "".join(blocks(PAGE, "text"))
    assert namespace["env"].unwrapped.tasks.name == "webshop/official-1000-human-index"


def test_every_argument_is_in_the_table_with_its_default() -> None:
    check_arguments(PAGE, WebShopEnv)


def test_the_rooms_are_those_of_the_folder() -> None:
    check_rooms(agentgym.envs.webshop)
