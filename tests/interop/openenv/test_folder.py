"""The folder for OpenEnv where it cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import DISTRIBUTION
from tests.cli.test_commands import run


def test_an_older_installation_does_not_know_what_the_server_needs(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the image would be built, and not start."""
    facts = tmp_path / f"{DISTRIBUTION.replace('-', '_')}-0.0.1.dist-info"
    facts.mkdir()
    text = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 0.0.1\nRequires-Dist: numpy\n"
    (facts / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "shop"
    argv = ("push", "openenv", "webshop", str(folder), "--env-kwargs", "size=60")
    code, _, err = run(capsys, *argv)
    assert code == 2 and "version 0.0.1 without one" in " ".join(err.split())
    assert not folder.exists()
