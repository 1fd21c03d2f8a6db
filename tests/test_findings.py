"""Scripts that show surprises of other libraries: their headers, and the index of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "findings"
HEADER = re.compile(
    r"#!/usr/bin/env bash\n# Package: (?P<package>\S+) (?P<version>\S+)\n# Behaviour: .+\n"
    r"(?:#   .+\n)*# Seen: .+\n(?:#   .+\n)*# What to do: .+\n(?:#   .+\n)*set -euo pipefail\n"
)


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.sh")), ids=lambda script: script.stem)
def test_a_script_says_what_was_seen_and_pins_its_package(script: Path) -> None:
    text = script.read_text()
    header = HEADER.match(text)
    assert header, "expected Package, Behaviour, Seen and What to do at the beginning"
    assert f'"{header["package"]}=={header["version"]}"' in text
    assert "agentgym" not in text
    index = (FOLDER / "README.md").read_text()
    assert f"[`{script.name}`]({script.name}) | {header['package']} {header['version']} |" in index
