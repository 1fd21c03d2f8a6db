"""Games in the real engine, compiled once for all tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.support.caching import cache_folder
from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]  # which this folder's tests have, too

Story = Callable[..., Path]
EACH_ENGINE = ("native", pytest.param("inform7", marks=pytest.mark.slow))
"""Both engines; for the real one every game is compiled."""


@pytest.fixture(scope="session")
def game_cache() -> Path:
    """The folder in which tests of all folders keep games: what is in it was written whole."""
    return cache_folder()


@pytest.fixture(scope="session")
def story(game_cache: Path) -> Story:
    """Compile a game of a setting; skips where TextWorld or its compiler is missing."""
    if importlib.util.find_spec("textworld") is None:
        pytest.skip("the real engine needs the package textworld")

    def path(name: str, index: int = 0, **parameters: Any) -> Path:
        tasks = GameTasks(GeneratorConfig.of(name, **parameters), folder=game_cache)
        return tasks.story(tasks.task("test", index))

    return path
