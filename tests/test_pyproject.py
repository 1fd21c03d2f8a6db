from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from agentgym.errors import DISTRIBUTION
from agentgym.registration import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"(?:\{DISTRIBUTION\}|agentgym-suite|[\"\s]\.)\[([a-z]+)\]")
"""An extra in a message such as ``pip install "{DISTRIBUTION}[vllm]"``."""

NAMERS = ("require", "read_records", "serve_app")
"""Functions whose second argument is an extra."""
PASSING = ("datafiles", "serving")
"""Modules that are given it by their callers."""


def declared() -> set[str]:
    if sys.version_info >= (3, 11):
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        return set(project["optional-dependencies"])
    return set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ())


def used() -> Iterator[tuple[str, str]]:
    """Yield each extra that the code names, with the place."""
    for path in [*ROOT.glob("agentgym/**/*.py"), *ROOT.glob("trainers/**/*.py")]:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            extra = node.args[1] if called in NAMERS else None
            if isinstance(extra, ast.Constant):
                yield str(extra.value), f"{path}, line {node.lineno}"
            elif extra is not None and path.stem not in PASSING:
                raise AssertionError(f"{path}: name the extra in the call")
        for found in NAMED.finditer(text):
            yield found[1], str(path)
    for entry in FAMILIES:
        if entry.extra or entry.packages:
            yield entry.extra, entry.id


def test_every_extra_that_the_code_names_exists():
    places = list(used())
    assert {"chat", "spacy", "train", "vllm"} <= {extra for extra, _ in places}
    extras = declared()
    missing = [f"{extra!r} ({place})" for extra, place in places if extra not in extras]
    assert not missing, f"pyproject.toml lacks {', '.join(missing)}"
