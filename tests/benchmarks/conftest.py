"""A small model in the place of the one that studies train, which would have to be fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainers.config.model_files.tiny_gguf import write_gguf
from trainers.config.model_files.source import PACKAGED


@pytest.fixture(scope="session")
def cache_with_smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which a tiny file is what ``--model smollm2`` has fetched."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "models").mkdir()
    write_gguf(cache / "models" / Path(PACKAGED["smollm2"].file).name)
    return cache


@pytest.fixture
def smollm2(cache_with_smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a pretrained model that is tiny here; its file is converted at the first use."""
    monkeypatch.setenv("AGENTGYM_CACHE", str(cache_with_smollm2))
    monkeypatch.setattr("trainers.config.model_files.source._installed_file", lambda model: None)
    return "smollm2"
