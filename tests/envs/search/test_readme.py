"""The family's page: its snippets run as printed, and its table holds every argument."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.search import env
from agentgym.envs.search.env import SearchEnv
from agentgym.rewards import HOOKS

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)  # our own document
    assert capsys.readouterr().out == "".join(blocks("text"))
    assert namespace["env"].unwrapped.tasks.name == "search/questions"
    observation, _ = namespace["env"].reset(seed=0)
    assert observation == "Question: Where was the founder of Wern Tools born?"
    assert namespace["env"].step("search[Wern Tools founder born]")[4]["details"]["gold_hits"] == 2


def test_every_argument_is_in_the_table_with_its_default() -> None:
    said: dict[str, str] = {}
    for row in re.findall(r"^\| (`.+?) \| (`.+?) \| .*\|$", PAGE, flags=re.MULTILINE):
        names, values = (re.findall("`(.+?)`", cell) for cell in row)
        said |= zip(names, values, strict=True)
    parameters = inspect.signature(SearchEnv).parameters.values()
    known = {p.name: repr(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {name: value.replace('"', "'") for name, value in said.items()} == known


def test_details_and_hooks_are_named() -> None:
    for name in env.DETAILS:
        assert f"`{name}`" in PAGE, name
    named = set(re.findall(r"^\| `(\w+)` \| [\w-]", PAGE, flags=re.MULTILINE))
    assert {"gold_evidence", "search_cost"} <= named <= set(HOOKS)


def test_the_rooms_are_those_of_the_folder() -> None:
    named = set(re.findall(r"`([\w/]+\.py|\w+/)`", PAGE.split("## Rooms")[1]))
    tops = {name.split("/")[0] for name in named} | {"README.md", "__init__.py", "__pycache__"}
    assert {path.name for path in FOLDER.iterdir()} <= tops
    for name in (path.name for path in FOLDER.glob("engine/*.py")):
        assert {name, f"engine/{name}"} & {*named, "__init__.py"}, name
