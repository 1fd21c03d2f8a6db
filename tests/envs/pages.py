"""What the tests of the families' pages share: snippets, the table of arguments, the files."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def run_snippets(page: str) -> dict[str, Any]:
    """Run the page's Python from top to bottom; return the names that it has defined."""
    namespace: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, "README.md", "exec"), namespace)  # our own document
    return namespace


def check_arguments(page: str, kind: type) -> None:
    """Check that the table holds every argument of an environment with its default."""
    documented: dict[str, str] = {}
    for row in re.findall(r"^\| (`.+?) \| (`.+?) \| .*\|$", page, flags=re.MULTILINE):
        names, values = (re.findall("`(.+?)`", cell) for cell in row)
        documented |= zip(names, values, strict=True)
    parameters = inspect.signature(kind).parameters.values()
    defaults = {p.name: repr(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {name: value.replace('"', "'") for name, value in documented.items()} == defaults


def check_rooms(package: ModuleType) -> None:
    """Check that the docstring of a family's package names what its folder holds."""
    assert package.__doc__ and package.__file__
    folder = Path(package.__file__).parent
    named = set(re.findall(r"`([\w/]+\.py|[\w.]+/)`", package.__doc__.split("Files:")[1]))
    tops = {name.split("/")[0] for name in named} | {"README.md", "__init__.py", "__pycache__"}
    assert {path.name for path in folder.iterdir()} <= tops
    for name in (path.name for path in folder.glob("engine/*.py")):
        assert {name, f"engine/{name}"} & {*named, "__init__.py"}, name


def check_modules(package: ModuleType, *beside: str) -> None:
    """Check that the docstring of a family's package names every module below it.

    Args:
        package: The family.
        beside: Names of modules and folders that need not be named.
    """
    assert package.__doc__ and package.__file__
    for path in Path(package.__file__).parent.rglob("*.py"):
        exempt = {"__init__", *beside} & {path.stem, path.parent.name}
        assert exempt or f"`{path.stem}" in package.__doc__, path
