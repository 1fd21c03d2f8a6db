"""What of the host is covered inside, beyond what tests of a box can set up on any machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentgym.sandbox import host_paths as showing
from agentgym.sandbox.base import SandboxConfig


def test_packages_of_other_pythons_are_covered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conda, system = tmp_path / "conda", tmp_path / "usr"
    places = [
        conda / "lib/python3.99/site-packages", conda / "lib64/python3.12/site-packages",
        conda / "envs", conda / "pkgs",
        system / "lib/python3/dist-packages", system / "lib/python3.98/site-packages",
    ]  # fmt: skip
    for place in places:
        place.mkdir(parents=True)
    monkeypatch.setattr(sys, "base_prefix", str(conda))
    monkeypatch.setattr(showing, "SYSTEM_PREFIXES", (system,))
    assert set(places) <= set(showing.covered_places(SandboxConfig()))
    config = SandboxConfig(visible=(places[0],))
    assert places[0] not in showing.covered_places(config)
