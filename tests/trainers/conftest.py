"""One finished toy run, shared by the tests that only look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainers import toy_runs


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run of ``toy_runs.SETTINGS``; do not change anything in it."""
    from trainers.output.display import Display
    from trainers.run import train

    folder = tmp_path_factory.mktemp("runs") / "whole"
    train(toy_runs.config(folder), Display(quiet=True))
    return folder
