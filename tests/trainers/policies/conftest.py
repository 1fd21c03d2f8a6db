"""What tests of policies share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policies.installed import declared, install


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry points of this checkout."""
    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
