"""The entry points of pyproject.toml, as an installation of this checkout would have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentgym.evaluation.policy_maker import GROUP

ROOT = Path(__file__).resolve().parents[2]


def declared(group: str = GROUP) -> dict[str, str]:
    """Return the entry points of a group, of kinds of policies by default, that we declare."""
    text = (ROOT / "pyproject.toml").read_text()
    section = text.split(f'[project.entry-points."{group}"]\n')[1].split("\n[")[0]
    return dict(re.findall(r'^(\w+) = "(.+)"$', section, re.MULTILINE))


def install(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    points: dict[str, str],
    name: str = "some-plugin",
    group: str = GROUP,
) -> None:
    """Install a distribution that has nothing but entry points.

    An editable installation may be older than pyproject.toml.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    monkeypatch.syspath_prepend(folder)
