"""Lines end at line feeds: ``str.splitlines`` also splits at what stands inside of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "agentgym/envs/swe/held_out/driver.py": "bytes of JSON lines; the file runs without agentgym",
    "agentgym/envs/swe/grading/canaries.py": "bytes of JSON lines",
    "agentgym/envs/swe/parsed_source.py": "bytes of source, whose lines Python ends as bytes do",
    "agentgym/envs/textworld/sanitise.py": "a player's command ends at every kind of line break",
    "agentgym/rewards/judge/question.py": "every kind of line break is quoted",
}
"""Files that split at more than line feeds, each once, and why."""


def calls(file: Path) -> list[int]:
    """Return the lines of a file that call ``splitlines``."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]


@pytest.mark.slow
def test_lines_are_split_at_line_feeds_alone() -> None:
    files = [
        file
        for package in ("agentgym", "trainers")
        for file in sorted((ROOT / package).rglob("*.py"))
    ]
    places = {file.relative_to(ROOT).as_posix(): calls(file) for file in files}
    stray = {path: lines for path, lines in places.items() if len(lines) > (path in ALLOWED)}
    assert not stray, f"use agentgym.support.text_lines.split_lines in {stray}"
    assert {path for path, lines in places.items() if lines} == set(ALLOWED)
