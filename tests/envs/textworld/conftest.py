"""Games in the real engine, compiled once for all tests."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.tasks import GameTasks
from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]  # which this folder's tests have, too

Story = Callable[..., Path]
EACH_ENGINE = ("native", pytest.param("inform7", marks=pytest.mark.slow))
"""Both engines; for the real one every game is compiled."""


@pytest.fixture(scope="session")
def game_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that the tests share: what is in it was written whole."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    return folder / "textworld-cache"


@pytest.fixture(scope="session")
def story(game_cache: Path) -> Story:
    """Compile a game of a setting; skips where TextWorld or its compiler is missing."""
    if importlib.util.find_spec("textworld") is None:
        pytest.skip("the real engine needs the package textworld")

    def path(name: str, index: int = 0, **parameters: Any) -> Path:
        tasks = GameTasks(GeneratorConfig.of(name, **parameters), folder=game_cache)
        return tasks.story(tasks.task("test", index))

    return path
