"""What CONTRIBUTING.md promises: an environment that works as written, and files that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "agentgym" / "cli" / "templates.d" / "my_env.py"


@pytest.fixture(scope="module")
def example() -> Iterator[dict[str, Any]]:
    assert "`agentgym init env my_env` writes" in (ROOT / "CONTRIBUTING.md").read_text()
    source = TEMPLATE.read_text()
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, str(TEMPLATE), "exec"), namespace)  # our own document
    yield {**namespace, "source": source}
    del gymnasium.registry["my_env/MyEnv-v0"]


def test_example_is_as_short_as_promised(example: dict[str, Any]) -> None:
    lines = [line for line in example["source"].splitlines() if line.strip()]
    assert len(lines) <= 60


def test_example_passes_the_environment_checker(example: dict[str, Any]) -> None:
    check_env(example["MyEnv"](render_mode="ansi"))


def test_expert_of_the_example_solves_every_test_task(example: dict[str, Any]) -> None:
    env = example["MyEnv"]()
    for index in range(env.tasks.len("test")):
        observation, info = env.reset(options={"split": "test", "index": index})
        oracle, over = env.oracle(), False
        while not over:
            action = oracle.act(observation, info)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        assert info["success"], info["task_id"]


def test_example_survives_hostile_text(example: dict[str, Any]) -> None:
    env = example["MyEnv"]()
    env.reset(seed=0)
    for text in ("", "guess", "guess ²", "guess -1", "guess " + "9" * 5000, "\x00", "\ud800"):
        env.reset(seed=0)
        _, _, terminated, _, info = env.step(text)
        assert not terminated
        assert info["action_valid"] is False


ROOMS = [
    path.relative_to(ROOT).as_posix()
    for package in ("agentgym", "trainers", "benchmarks")
    for path in sorted((ROOT / package).rglob("__init__.py"))
    if "touch these files" in path.read_text()
]


def test_rooms_say_which_files_a_new_thing_touches() -> None:
    assert len(ROOMS) > 20


@pytest.mark.parametrize("room", ROOMS)
def test_files_that_a_room_names_exist(room: str) -> None:
    doc = ast.get_docstring(ast.parse((ROOT / room).read_text())) or ""
    section = doc.partition("touch these files")[2]
    named = re.findall(r"``((?:agentgym|trainers|benchmarks|tests|notebooks)/[\w/.-]+)``", section)
    # A path such as KIND/NAME.toml stands for many.
    paths = [path for path in named if not re.search("[A-Z]{4}", path)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_it_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text().split()) <= 1200
