"""A method is known in its folder: at most three files of the trainer outside it name it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from trainers.methods.table import BUILT_IN

TRAINERS = Path(__file__).parents[3] / "trainers"
MOST = 3
"""Most files outside the folder of a method that name it."""


def names_of(folder: Path) -> set[str]:
    """Return the classes that the modules of a folder define for others."""
    names = set()
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names.add(node.name)
    return names


def files_that_name(method: str) -> list[str]:
    """Return the files outside a method's folder with its path or one of its names."""
    folder = TRAINERS / "methods" / method
    words = "|".join([*sorted(names_of(folder)), rf"methods[./]{method}"])
    pattern = re.compile(rf"\b({words})\b")
    files = (path for path in sorted(TRAINERS.rglob("*.py")) if folder not in path.parents)
    return [str(path.relative_to(TRAINERS)) for path in files if pattern.search(path.read_text())]


@pytest.mark.parametrize("method", BUILT_IN)
def test_few_files_outside_its_folder_name_a_method(method: str) -> None:
    assert len(files := files_that_name(method)) <= MOST, files


def test_a_name_outside_is_seen() -> None:
    """The house's own step has a part of every kind, so that the count is not of nothing."""
    assert "StalePolicy" in names_of(TRAINERS / "methods" / "cross_policy")
    assert {"Critic", "CriticConfig"} <= names_of(TRAINERS / "methods" / "critic")
