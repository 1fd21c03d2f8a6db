"""The family's page: its snippets run as printed, and its table holds every argument."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentgym.envs.search
from agentgym.envs.search import env
from agentgym.envs.search.engine.session import DETAILS
from agentgym.envs.search.env import SearchEnv
from agentgym.rewards import HOOKS
from tests.envs.pages import blocks, check_arguments, check_rooms, run_snippets

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    namespace = run_snippets(PAGE)
    assert capsys.readouterr().out == "".join(blocks(PAGE, "text"))
    assert namespace["env"].unwrapped.tasks.name == "search/questions"
    observation, _ = namespace["env"].reset(seed=0)
    assert observation == "Question: Where was the founder of Wern Tools born?"
    assert namespace["env"].step("search[Wern Tools founder born]")[4]["details"]["gold_hits"] == 2


def test_every_argument_is_in_the_table_with_its_default() -> None:
    check_arguments(PAGE, SearchEnv)


def test_details_and_hooks_are_named() -> None:
    for name in DETAILS:
        assert f"`{name}`" in PAGE, name
    section = PAGE.partition("## Rewards")[2].partition("\n## ")[0]
    named = {*re.findall(r"`(\w+)`", section.partition("Further hooks:")[2].partition(";")[0])}
    assert {"gold_evidence", "search_cost"} <= named <= set(HOOKS)


def test_the_rooms_are_those_of_the_folder() -> None:
    check_rooms(agentgym.envs.search)
