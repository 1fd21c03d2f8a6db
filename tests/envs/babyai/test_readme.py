"""The family's page: its example prints what is shown, and its table holds every argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.envs.babyai.env import BabyAIEnv
from tests.envs.pages import blocks, check_arguments, run_snippets

pytest.importorskip("minigrid", reason="BabyAI needs minigrid: pip install -e '.[babyai]'")

FOLDER = Path(__file__).parents[3] / "agentgym" / "envs" / "babyai"
PAGE = (FOLDER / "README.md").read_text()


def test_the_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippets(PAGE)
    assert capsys.readouterr().out == "".join(blocks(PAGE, "text"))


def test_every_argument_is_in_the_table_with_its_default() -> None:
    check_arguments(PAGE, BabyAIEnv)


def test_every_module_stands_on_the_page() -> None:
    rooms = PAGE[PAGE.index("## Inside") :]
    for path in FOLDER.rglob("*.py"):
        assert path.stem == "__init__" or f"`{path.stem}" in rooms, path
