"""Finished toy runs, shared by the tests that only look at them; in others pictures are blank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.garbage import kept_by_trainings
from tests.trainers import toy_runs
from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]  # which this folder's tests have, too


@pytest.fixture(autouse=True, scope="module")
def pictures() -> Iterator[None]:
    """Runs leave their pictures blank; where these are tested, a fixture of this name draws."""
    from tests.trainers.pictures import drawn

    with drawn(False):
        yield


@pytest.fixture(autouse=True, scope="module")
def words() -> Iterator[None]:
    """What shows words is played once; where it is tested, a fixture of this name plays it."""
    from tests.trainers.words import remembered

    with remembered():
        yield


@pytest.fixture(autouse=True, scope="module")
def garbage() -> Iterator[None]:
    """What trainings leave is collected at the end of a file of tests, or when it is much."""
    with kept_by_trainings():
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run of ``toy_runs.SETTINGS``; do not change anything in it."""
    from tests.trainers.pictures import drawn
    from tests.trainers.words import remembered
    from trainers.output.display import Display
    from trainers.phases.run import train

    folder = tmp_path_factory.mktemp("runs") / "whole"
    with drawn(), remembered():
        train(toy_runs.config(folder), Display(quiet=True))
    return folder


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small chat model that knows the words of the toy environment."""
    from tests.trainers import tiny_policy

    path = tmp_path_factory.mktemp("models") / "small"
    tiny_policy.chat().tokenizer.save_pretrained(path)
    tiny_policy.model().save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def adapter_run(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run that trained adapters and exported them; change nothing in it."""
    from trainers.output.display import Display
    from trainers.phases.run import train

    folder = tmp_path_factory.mktemp("adapters") / "run"
    changes = {
        "model": small_model, "sft__max_steps": 0, "steps": 2, "horizon": "3", "eval__every": 1,
        "eval__num_tasks": 8, "rl__episode_tokens": 220,
    }  # fmt: skip
    train(toy_runs.config(folder, "--export=merged", **changes), Display(quiet=True))
    return folder
