"""The family's page: its example prints what is shown, and its table holds every argument."""

from __future__ import annotations

from pathlib import Path

import pytest

import agentgym.envs.babyai
from agentgym.envs.babyai.env import BabyAIEnv
from tests.envs.pages import blocks, check_arguments, check_modules, run_snippets

pytest.importorskip("minigrid", reason="BabyAI needs minigrid: pip install -e '.[babyai]'")

FOLDER = Path(__file__).parents[3] / "agentgym" / "envs" / "babyai"
PAGE = (FOLDER / "README.md").read_text()


def test_the_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippets(PAGE)
    assert capsys.readouterr().out == "".join(blocks(PAGE, "text"))


def test_every_argument_is_in_the_table_with_its_default() -> None:
    check_arguments(PAGE, BabyAIEnv)


def test_every_module_is_named_in_the_docstring_of_the_family() -> None:
    check_modules(agentgym.envs.babyai)
