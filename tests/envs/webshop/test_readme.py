"""The family's page: its snippets run as printed, and its table holds every argument."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.webshop import env
from agentgym.envs.webshop.env import WebShopEnv

FOLDER = Path(env.__file__).parent
PAGE = (FOLDER / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)  # our own document
    assert capsys.readouterr().out == "".join(blocks("text"))
    assert namespace["env"].unwrapped.tasks.name == "webshop/official-1000-human-index"


def test_every_argument_is_in_the_table_with_its_default() -> None:
    said: dict[str, str] = {}
    for row in re.findall(r"^\| (`.+?) \| (`.+?) \| .*\|$", PAGE, flags=re.MULTILINE):
        names, values = (re.findall("`(.+?)`", cell) for cell in row)
        said |= zip(names, values, strict=True)
    parameters = inspect.signature(WebShopEnv).parameters.values()
    known = {p.name: repr(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {name: value.replace('"', "'") for name, value in said.items()} == known


def test_the_rooms_are_those_of_the_folder() -> None:
    named = set(re.findall(r"`([\w/]+\.py|\w+/)`", PAGE.split("## Rooms")[1]))
    tops = {name.split("/")[0] for name in named} | {"README.md", "__init__.py", "__pycache__"}
    assert {path.name for path in FOLDER.iterdir()} <= tops
    for name in (path.name for path in FOLDER.glob("engine/*.py")):
        assert {name, f"engine/{name}"} & {*named, "__init__.py"}, name
